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

/** What one reading found: the outcome, or none yet; `expectSoon`: it can be there any moment. */
export type Reading<T> = { done: true; value: T } | { done: false; expectSoon?: boolean };

/**
 * What is heard besides readings. 'progress': the silence begins anew; 'announced': the outcome is
 * announced; 'disconnected', 'reconnected': the channel was lost or is there again, and something may have been missed.
 */
export type ChannelEvent = 'progress' | 'announced' | 'disconnected' | 'reconnected';

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

const MAX_PAUSE_MS = 30_000;
/** The pauses between readings when the outcome can be there any moment double from … to …, in ms. */
const MIN_SOON_MS = 50;
const MAX_SOON_MS = 5000;
/** A channel that is back is followed by a reading within so many ms. */
const CATCH_UP_MS = 2000;
/** Time kept for the last reading and a download after it: a share of the wait, and ms at most. */
const LAST_SHARE = 0.1;
const LAST_MS = 2000;

/** Of `ms` milliseconds those before the last reading. */
export const beforeLast = (ms: number): number => ms - Math.min(LAST_MS, ms * LAST_SHARE);

/**
 * Waits for an outcome: reads it when news announce it, after each silence in case they never do, and
 * once more shortly before the time is up.
 */
export async function pollUntil<T>(options: PollOptions<T>): Promise<T> {
	const { read, signal, pollMs, longestPauseMs = MAX_PAUSE_MS } = options;
	let pauseMs = options.readFirst ? 0 : pollMs;
	let nextAt = monotonicNow() + pauseMs;
	/** The outcome is announced: it can be there any moment. */
	let isDue = false;
	/** Ends the pause, or the reading under way. */
	let step = new AbortController();
	const early = startDeadline(beforeLast(remainingMs(signal)), signal);
	const unfollow = options.follow?.(onEvent);
	try {
		for (const limit of [early.signal, signal]) {
			const outcome = await pollDuring(limit);
			if (outcome) return outcome.value;
			pauseMs = nextAt = 0;
		}
	} finally {
		early.stop();
		unfollow?.();
	}
	throw abortReason(signal);

	function onEvent(event: ChannelEvent): void {
		const now = monotonicNow();
		const isPausing = nextAt > now;
		// A reading under way may hang, or report an earlier state.
		if (isPausing || (event === 'announced' && !isDue)) step.abort(SILENT_ABORT);
		if (event === 'announced') {
			isDue = true;
			pauseMs = 0;
			nextAt = now;
		} else if (!isDue) {
			const dueAt = now + (event === 'reconnected' ? Math.min(pollMs, CATCH_UP_MS) : pollMs);
			// A channel that comes and goes must not put the next reading off again and again.
			nextAt = event === 'progress' ? dueAt : Math.min(nextAt, dueAt);
		}
	}

	/** Pauses and reads until there is an outcome, or `limit` aborts. */
	async function pollDuring(limit: AbortSignal): Promise<{ value: T } | undefined> {
		while (!limit.aborted) {
			step = new AbortController();
			const current = anySignal(limit, step.signal);
			const restMs = nextAt - monotonicNow();
			if (restMs > 0) {
				await sleep(restMs, current);
			} else {
				const found = await readOnce(current, isDue || limit === signal);
				if (found?.done) return found;
				if (found) plan(found.expectSoon === true);
			}
			step.abort(SILENT_ABORT);
		}
		return undefined;
	}

	/** One reading; undefined when it is given up. */
	async function readOnce(current: AbortSignal, isUrgent: boolean) {
		const reading = read(current, isUrgent).catch((error: unknown) => {
			if (current.aborted) return undefined;
			if (!isTransient(error)) throw error;
			// The next one goes out as soon as the account's throttle lets it.
			return { done: false as const, expectSoon: isFailure(error, 'rateLimited') };
		});
		return (await Promise.race([reading, whenAborted(current)])) ?? undefined;
	}

	/** A reading has found no outcome; `isSoon`: it can be there any moment. */
	function plan(isSoon: boolean): void {
		const isSlower = !isDue && pauseMs > 0 && options.isLive?.();
		if (isSoon && !isDue) pauseMs = 0;
		isDue = isSoon || (isDue && pauseMs < MAX_SOON_MS);
		if (isDue) pauseMs = Math.min(MAX_SOON_MS, Math.max(MIN_SOON_MS, pauseMs * 2));
		else pauseMs = isSlower ? Math.min(pauseMs * 2, Math.max(pollMs, longestPauseMs)) : pollMs;
		nextAt = monotonicNow() + pauseMs;
	}
}
