/** The pauses between readings when the outcome can be there any moment double from … to …, in ms. */
const MIN_SOON_MS = 50;
const MAX_SOON_MS = 5000;
/** A channel that is back is followed by a reading within so many ms. */
const CATCH_UP_MS = 2000;

/**
 * What is heard besides readings. 'progress': the silence begins anew; 'announced': the outcome is
 * announced; 'disconnected', 'reconnected': the channel was lost or is there again, and something may have been missed.
 */
export type ChannelEvent = 'progress' | 'announced' | 'disconnected' | 'reconnected';

/**
 * How a reading without an outcome ended. 'expectSoon': the outcome can be there any moment; 'throttled':
 * the account's throttle holds the next reading back as long as it has to.
 */
type ReadingEvent = 'noOutcome' | 'noOutcomeBesideChannel' | 'expectSoon' | 'throttled';

/** 'lastRead': the time is nearly up, so what is there is read at once. */
export type ScheduleEvent = ChannelEvent | ReadingEvent | 'lastRead';

/** When the next reading begins; times by `monotonicNow`. */
export interface Schedule {
	/** Milliseconds of silence before a reading. */
	readonly pollMs: number;
	/** Milliseconds of silence up to which the pause doubles while the channel lives. */
	readonly maxBackoffMs: number;
	/** The pause before the next reading, in ms. */
	readonly pauseMs: number;
	readonly nextAt: number;
	/** The outcome can be there any moment. Once this becomes true, a reading in flight is out of date. */
	readonly isDue: boolean;
}

/** The schedule after `event`, which came at `now`. */
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
			// A channel that comes and goes must not put the next reading off again and again.
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
			// After an announcement the outcome may come a little later.
			if (isDue && pauseMs < MAX_SOON_MS) return doubled(pauseMs);
			if (event === 'noOutcome' || isDue || pauseMs === 0) return after(pollMs);
			return after(Math.min(pauseMs * 2, Math.max(pollMs, maxBackoffMs)));
		case 'lastRead':
			return after(0, isDue);
	}
}
