/** The first short pause between reads, in ms (see `Schedule.hasShortPauses`). The next ones double. */
const MIN_SHORT_PAUSE_MS = 50;
/** The longest of the short pauses between reads, in ms. */
const MAX_SHORT_PAUSE_MS = 5000;
/**
 * The longest pause from the opening of the channel to the next read, in ms, unless `hasShortPauses`. Events may have
 * been missed while it was closed.
 */
const CATCH_UP_MS = 2000;
/** The longest pause between the last read and that catch-up read, in ms. The poll interval may be an hour. */
const MAX_CATCH_UP_MS = 30_000;

/** While a channel is open, pauses double up to this many ms, unless `maxBackoffMs` is set. */
const MAX_BACKOFF_MS = 30_000;
/**
 * They double also only up to this share of the time waited so far, or two poll intervals if that is longer. So a task
 * of a minute whose failure no event tells of is not waited for much longer.
 */
const MAX_AGE_SHARE = 1 / 4;

/**
 * What a channel, such as a WebSocket, reports between reads.
 *
 * - `progress`: there is no outcome yet.
 * - `announced`: the outcome is there, or will be in a moment.
 * - `disconnected`: the channel was lost.
 * - `reconnected`: the channel was opened, perhaps again.
 */
export type ChannelEvent = 'progress' | 'announced' | 'disconnected' | 'reconnected';

/**
 * All events that change a schedule. A read without an outcome is one of the first three.
 *
 * - `noOutcome`: there is no outcome yet, and no channel is open.
 * - `noOutcomeBesideChannel`: there is no outcome yet, and the channel is open.
 * - `readSoon`: there will be an outcome in a moment, or the service refused the read for rate or load.
 * - `finalRead`: the time is nearly up, so the final read begins at once.
 */
export type ScheduleEvent =
	'noOutcome' | 'noOutcomeBesideChannel' | 'readSoon' | 'finalRead' | ChannelEvent;

/** When the next read begins. A schedule is immutable: `nextSchedule` returns a new one. */
export interface Schedule {
	/** The usual pause before a read while no channel is open, in ms. */
	readonly pollMs: number;
	/** When the wait began, by `monotonicNow`. */
	readonly startedAt: number;
	/**
	 * While the channel is open, pauses double up to this many ms, or up to `pollMs` if that is longer. By default, see
	 * MAX_BACKOFF_MS and MAX_AGE_SHARE.
	 */
	readonly maxBackoffMs?: number;
	/** The pause that was chosen last, in ms. The next one is computed from it. */
	readonly pauseMs: number;
	/** When the next read begins, by `monotonicNow`. */
	readonly nextAt: number;
	/** When the last read ended without an outcome, by `monotonicNow`; -Infinity before the first. */
	readonly lastReadAt: number;
	/** True while the pauses between reads are short, because the outcome is expected soon or a read was throttled. */
	readonly hasShortPauses: boolean;
}

/** Returns the schedule after `event`, which occurred at `now` (from `monotonicNow`). The function is pure. */
export function nextSchedule(schedule: Schedule, event: ScheduleEvent, now: number): Schedule {
	const { pollMs, startedAt, pauseMs, nextAt, hasShortPauses } = schedule;
	const lastReadAt = event.startsWith('noOutcome') ? now : schedule.lastReadAt;
	const readAfter = (ms: number, startsShortPauses = false): Schedule => {
		const changes = { pauseMs: ms, nextAt: now + ms, hasShortPauses: startsShortPauses };
		return { ...schedule, ...changes, lastReadAt };
	};
	// A channel that closes or opens never puts off the next read. If it did, one that comes and goes would delay it
	// forever.
	const readWithin = (ms: number): Schedule =>
		hasShortPauses ? schedule : { ...schedule, nextAt: Math.min(nextAt, now + ms) };
	const readAfterDouble = (previousMs: number) =>
		readAfter(Math.min(MAX_SHORT_PAUSE_MS, Math.max(MIN_SHORT_PAUSE_MS, previousMs * 2)), true);
	const agedMs = Math.max(2 * pollMs, MAX_AGE_SHARE * (now - startedAt));
	const { maxBackoffMs = Math.min(MAX_BACKOFF_MS, agedMs) } = schedule;
	switch (event) {
		case 'announced':
			return readAfter(0, true);
		case 'progress':
			return hasShortPauses ? schedule : readAfter(pollMs);
		case 'disconnected':
			return readWithin(pollMs);
		case 'reconnected':
			// A channel that is cut every few seconds causes no more reads than no channel, or two a minute.
			return readWithin(
				Math.max(
					Math.min(pollMs, CATCH_UP_MS),
					lastReadAt + Math.min(pollMs, MAX_CATCH_UP_MS) - now,
				),
			);
		case 'readSoon':
			return readAfterDouble(hasShortPauses ? pauseMs : 0);
		case 'noOutcome':
		case 'noOutcomeBesideChannel':
			// A service may announce an outcome a little before it can be read.
			if (hasShortPauses && pauseMs < MAX_SHORT_PAUSE_MS) return readAfterDouble(pauseMs);
			if (event === 'noOutcome' || hasShortPauses || pauseMs === 0) return readAfter(pollMs);
			return readAfter(Math.min(pauseMs * 2, Math.max(pollMs, maxBackoffMs)));
		case 'finalRead':
			return readAfter(0, hasShortPauses);
	}
}
