import {
	anyOf,
	NO_REASON,
	remainingMs,
	sleep,
	startDeadline,
	steadyNow,
	throwIfAborted,
	whenAborted,
} from './deadline';
import { isFailure, isTransient } from '../failure';

/** What one reading found: the outcome, or none yet; `soon`: it can be there any moment. */
export type Reading<T> = { done: true; value: T } | { done: false; soon?: boolean };

/**
 * What is heard besides readings. 'progress': the silence begins anew; 'outcome': the outcome is
 * announced; 'lost', 'back': the channel was lost or is there again, and something may have been missed.
 */
export type NewsKind = 'progress' | 'outcome' | 'lost' | 'back';

/** A source of progress besides readings. */
export interface News {
	/** True while the channel delivers: readings may then be rare. */
	isLive(): boolean;
	/** Starts delivering. */
	start(onNews: (news: NewsKind) => void): void;
}

export interface PollOptions<T> {
	/** Reads once; throws a Failure. A transient one is repeated, any other ends the wait. */
	read(signal: AbortSignal): Promise<Reading<T>>;
	/** Deadline and cancel: the wait throws its reason (a Failure) at once. */
	signal: AbortSignal;
	/** Milliseconds of silence before a reading. */
	pollMs: number;
	/** Milliseconds of silence up to which the pause doubles while the channel lives; 30 s unless given. */
	longestPauseMs?: number;
	/** True to read at once instead of after the first pause. */
	readFirst?: boolean;
	news?: News;
	/**
	 * Resolves with true once a reading that nothing announced may be made, with false if the signal
	 * aborts first. At once unless given. `pauseMs`: milliseconds between two such readings at present, 0
	 * before the first.
	 */
	waitForTurn?(pauseMs: number, signal: AbortSignal): Promise<boolean>;
}

const MAX_PAUSE_MS = 30_000;
/** Pauses between readings when the outcome can be there any moment, in ms. */
const SOON_MS = [50, 100, 200, 400, 800, 1500, 3000, 5000];
/** A channel that is back is followed by a reading within so many ms. */
const CATCH_UP_MS = 2000;
/** Time kept for the last reading and a download after it: a share of the wait, and ms at most. */
const LAST_SHARE = 0.1;
const LAST_MS = 2000;

/**
 * Waits for an outcome: reads it when news announce it, after each silence in case they never do, and
 * once more shortly before the time is up.
 */
export async function pollUntil<T>(options: PollOptions<T>): Promise<T> {
	const { signal, pollMs, longestPauseMs = MAX_PAUSE_MS, news, waitForTurn } = options;
	const leftMs = remainingMs(signal);
	/** When the last reading is due, whatever was heard; Infinity once it was made. */
	let lastAt = steadyNow() + leftMs - Math.min(LAST_MS, leftMs * LAST_SHARE);
	/** Milliseconds of silence before the next reading. */
	let pauseMs = options.readFirst ? 0 : pollMs;
	let nextAt = steadyNow() + pauseMs;
	/** How many readings were made since the outcome can be there any moment; undefined: it can't. */
	let quick: number | undefined;
	let pause = new AbortController();
	let reading = new AbortController();

	news?.start((kind) => {
		const now = steadyNow();
		pauseMs = pollMs;
		if (kind === 'outcome') {
			// A reading under way may hang, or report an earlier state.
			if (quick === undefined) reading.abort(NO_REASON);
			quick = 0;
			nextAt = now;
		} else if (kind === 'progress') {
			if (quick === undefined) nextAt = now + pollMs;
		} else {
			// A channel that comes and goes must not put the next reading off again and again.
			nextAt = Math.min(nextAt, now + (kind === 'back' ? Math.min(pollMs, CATCH_UP_MS) : pollMs));
		}
		pause.abort(NO_REASON);
	});

	for (;;) {
		throwIfAborted(signal);
		pause = new AbortController();
		const restMs = Math.min(nextAt, lastAt) - steadyNow();
		if (restMs > 0) {
			await sleep(restMs, anyOf(signal, pause.signal));
			pause.abort(NO_REASON);
		} else if (await isMyTurn()) {
			const found = await readOnce();
			if (found?.done) return found.value;
			if (found) plan(found.soon === true);
		}
	}

	/** A reading that nothing has asked for waits for others. */
	async function isMyTurn(): Promise<boolean> {
		if (!waitForTurn || quick !== undefined || steadyNow() >= lastAt) return true;
		const patience = startDeadline(lastAt - steadyNow(), signal, pause.signal);
		const isMine = await waitForTurn(pauseMs, patience.signal);
		patience.stop();
		throwIfAborted(signal);
		return isMine;
	}

	/** One reading; undefined when it is given up for the last one, or for one that was announced. */
	async function readOnce(): Promise<Reading<T> | undefined> {
		if (steadyNow() >= lastAt) lastAt = Infinity;
		reading = new AbortController();
		const limit = startDeadline(lastAt - steadyNow(), signal, reading.signal);
		const found = await Promise.race([
			options.read(limit.signal).catch((error: unknown) => {
				if (limit.signal.aborted) return undefined;
				if (!isTransient(error)) throw error;
				// The next one goes out as soon as the account's pace lets it.
				return { done: false as const, soon: isFailure(error, 'rateLimited') };
			}),
			whenAborted(limit.signal),
		]).finally(() => limit.stop());
		throwIfAborted(signal);
		return found ?? undefined;
	}

	/** A reading has found no outcome; `isSoon`: it can be there any moment. */
	function plan(isSoon: boolean): void {
		const made = quick ?? 0;
		if (isSoon || (quick !== undefined && quick < SOON_MS.length)) {
			quick = made + 1;
			nextAt = steadyNow() + SOON_MS[Math.min(made, SOON_MS.length - 1)]!;
			return;
		}
		const longestMs = Math.max(pollMs, longestPauseMs);
		const isSlower = news?.isLive() && quick === undefined && pauseMs > 0;
		pauseMs = isSlower ? Math.min(pauseMs * 2, longestMs) : pollMs;
		nextAt = steadyNow() + pauseMs;
		quick = undefined;
	}
}
