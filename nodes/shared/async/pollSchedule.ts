/** The shortest and the longest pause between readings while the outcome is expected soon, in ms. */
const MIN_SOON_MS = 50;
const MAX_SOON_MS = 5000;
/** The longest pause before the reading after the channel is open again, in ms. */
const CATCH_UP_MS = 2000;

/**
 * What a channel, such as a WebSocket, reports between readings.
 *
 * - 'progress': the outcome is not there yet, so the next reading can wait for another `pollMs`.
 * - 'announced': the outcome is there, or will be in a moment.
 * - 'disconnected' and 'reconnected': the channel was lost, or is open again. A message may have been missed.
 */
export type ChannelEvent = 'progress' | 'announced' | 'disconnected' | 'reconnected';

/**
 * How a reading without an outcome ended.
 *
 * - 'noOutcome' and 'noOutcomeBesideChannel': there is none yet, while the channel is closed, or open.
 * - 'expectSoon': the outcome will be there in a moment.
 * - 'throttled': the service refused the reading. Only a short pause is needed here, because the account's throttle
 *   delays the next reading itself.
 */
type ReadingEvent = 'noOutcome' | 'noOutcomeBesideChannel' | 'expectSoon' | 'throttled';

/** All events that change a schedule. 'lastRead': the time is nearly up, so a last reading begins at once. */
export type ScheduleEvent = ChannelEvent | ReadingEvent | 'lastRead';

/** When the next reading begins. It never changes: `next` makes a new one. */
export interface Schedule {
	/** The pause before a reading while the channel is closed, and before the first one, in ms. */
	readonly pollMs: number;
	/** The pause up to which pauses double while the channel is open, in ms. */
	readonly maxBackoffMs: number;
	/** The pause before the next reading, in ms. */
	readonly pauseMs: number;
	/** When the next reading begins, by `monotonicNow`. */
	readonly nextAt: number;
	/** True while the outcome is expected soon. A reading that began before this became true is out of date. */
	readonly isDue: boolean;
}

/** Returns the schedule after `event`. `now` is the time of the event, by `monotonicNow`. Pure. */
export function next(schedule: Schedule, event: ScheduleEvent, now: number): Schedule {
	const { pollMs, maxBackoffMs, pauseMs, nextAt, isDue } = schedule;
	const after = (ms: number, becomesDue = false): Schedule => {
		return { ...schedule, pauseMs: ms, nextAt: now + ms, isDue: becomesDue };
	};
	const doubled = (previousMs: number) =>
		after(Math.min(MAX_SOON_MS, Math.max(MIN_SOON_MS, previousMs * 2)), true);
	switch (event) {
		case 'announced':
			return after(0, true);
		case 'progress':
			return isDue ? schedule : { ...schedule, nextAt: now + pollMs };
		case 'disconnected':
			// The next reading is never delayed here. Otherwise a channel that keeps reconnecting would prevent it forever.
			return isDue ? schedule : { ...schedule, nextAt: Math.min(nextAt, now + pollMs) };
		case 'reconnected':
			return isDue
				? schedule
				: { ...schedule, nextAt: Math.min(nextAt, now + Math.min(pollMs, CATCH_UP_MS)) };
		case 'expectSoon':
		case 'throttled':
			return doubled(isDue ? pauseMs : 0);
		case 'noOutcome':
		case 'noOutcomeBesideChannel':
			// A service may announce an outcome a little before it can be read.
			if (isDue && pauseMs < MAX_SOON_MS) return doubled(pauseMs);
			if (event === 'noOutcome' || isDue || pauseMs === 0) return after(pollMs);
			return after(Math.min(pauseMs * 2, Math.max(pollMs, maxBackoffMs)));
		case 'lastRead':
			return after(0, isDue);
	}
}
