import {
	abortReason,
	anySignal,
	SILENT_ABORT,
	remainingMs,
	sleep,
	startDeadline,
	monotonicNow,
	whenAborted,
} from './deadline';
import { isFailure, isTransient } from '../failure';
import { next, type ChannelEvent, type Schedule, type ScheduleEvent } from './pollSchedule';

/** What one reading found: the outcome, or none yet; `expectSoon`: it can be there any moment. */
export type Reading<T> = { done: true; value: T } | { done: false; expectSoon?: boolean };

export interface PollOptions<T> {
	/** Reads once, `isUrgent` if that can't wait; throws a Failure: a transient one is repeated, others end it. */
	read(signal: AbortSignal, isUrgent: boolean): Promise<Reading<T>>;
	/** Deadline and cancel: the wait throws its reason (a Failure) at once. */
	signal: AbortSignal;
	/** Milliseconds of silence before a reading. */
	pollMs: number;
	/** Milliseconds of silence up to which the pause doubles while the channel lives; 30 s unless given. */
	longestPauseMs?: number;
	/** True to read at once instead of after the first pause. */
	readFirst?: boolean;
	/** True while a channel brings news: readings may then be rare. */
	isLive?(): boolean;
	/** Begins to bring news; returns what ends it. */
	follow?(onEvent: (event: ChannelEvent) => void): () => void;
}

const MAX_BACKOFF_MS = 30_000;
/** Time kept for the last reading and a download after it: a share of the wait, and ms at most. */
const LAST_SHARE = 0.1;
const LAST_MS = 2000;

/** Of `ms` milliseconds those before the last reading. */
export const beforeLast = (ms: number): number => ms - Math.min(LAST_MS, ms * LAST_SHARE);

/**
 * Waits for an outcome: reads it when news announce it, after each silence in case they never do, and
 * once more shortly before the time is up. Throws the signal's reason, or what `read` throws for good.
 */
export async function pollUntil<T>(options: PollOptions<T>): Promise<T> {
	const { read, signal, pollMs, longestPauseMs: maxBackoffMs = MAX_BACKOFF_MS } = options;
	const pauseMs = options.readFirst ? 0 : pollMs;
	const nextAt = monotonicNow() + pauseMs;
	let schedule: Schedule = { pollMs, maxBackoffMs, pauseMs, nextAt, isDue: false };
	let isReading = false;
	/** Ends the pause, or the reading in flight. */
	let step = new AbortController();
	const early = startDeadline(beforeLast(remainingMs(signal)), signal);
	const unfollow = options.follow?.(onEvent);
	try {
		for (const limit of [early.signal, signal]) {
			const outcome = await pollDuring(limit);
			if (outcome) return outcome.value;
			onEvent('lastRead');
		}
	} finally {
		early.stop();
		unfollow?.();
	}
	throw abortReason(signal);

	function onEvent(event: ScheduleEvent): void {
		const wasDue = schedule.isDue;
		schedule = next(schedule, event, monotonicNow());
		// Progress lets a reading in flight go on: it may bring the outcome. An announcement does not: the
		// reading may hang, or report an earlier state.
		if (!isReading || (schedule.isDue && !wasDue)) step.abort(SILENT_ABORT);
	}

	/** Pauses and reads until there is an outcome, or `limit` aborts. */
	async function pollDuring(limit: AbortSignal): Promise<{ value: T } | undefined> {
		while (!limit.aborted) {
			step = new AbortController();
			const current = anySignal(limit, step.signal);
			const restMs = schedule.nextAt - monotonicNow();
			if (restMs > 0) {
				await sleep(restMs, current);
			} else {
				isReading = true;
				const found = await readOnce(current, schedule.isDue || limit === signal);
				isReading = false;
				if (typeof found === 'object') return found;
				if (found) onEvent(found);
			}
			step.abort(SILENT_ABORT);
		}
		return undefined;
	}

	/** One reading: its outcome, or how it ended without one; undefined when it is given up. */
	async function readOnce(current: AbortSignal, isUrgent: boolean) {
		const reading = read(current, isUrgent).then(
			(found) => {
				if (found.done) return found;
				if (found.expectSoon) return 'expectSoon';
				return noOutcome();
			},
			(error: unknown) => {
				if (current.aborted) return undefined;
				if (!isTransient(error)) throw error;
				return isFailure(error, 'rateLimited') ? 'throttled' : noOutcome();
			},
		);
		return (await Promise.race([reading, whenAborted(current)])) ?? undefined;
	}

	function noOutcome() {
		return options.isLive?.() ? 'noOutcomeBesideChannel' : 'noOutcome';
	}
}
