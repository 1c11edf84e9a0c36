import { NO_REASON, sleep, remainingMs, startDeadline, throwIfAborted } from './deadline';
import { isTransient } from '../failure';

/** What one reading of a pending outcome found. */
export type Reading<T> =
	| { done: true; value: T }
	/** `soon`: the outcome is announced and can be there any moment. */
	| { done: false; soon?: boolean };

/** Where word of progress comes from, besides reading. */
export interface News {
	/** True while the channel delivers: readings may then be rare. */
	isLive(): boolean;
	/**
	 * Starts delivering. `onNews('progress')`: something was heard, so the pause before the next
	 * reading starts anew; 'outcome': the outcome is announced; 'lost', 'back': the channel was lost
	 * or is there again, and something may have been missed.
	 */
	start(onNews: (news: NewsKind) => void): void;
}

export type NewsKind = 'progress' | 'outcome' | 'lost' | 'back';

/** Why a reading is made that no news asked for: the first one, silence, or a channel that is back. */
export type ReadingReason = 'first' | 'silence' | 'catchUp';

export interface PollOptions<T> {
	/** Reads once; throws a Failure. A transient one is repeated, any other ends the wait. */
	read(signal: AbortSignal): Promise<Reading<T>>;
	/** Milliseconds without news before a reading. */
	pollMs: number;
	/**
	 * Deadline and cancel: the wait throws its reason (a Failure) at once. A little before the deadline
	 * of `startDeadline` comes a last reading, whatever was heard and whoever else wants a turn.
	 */
	signal: AbortSignal;
	news?: News;
	/** Milliseconds without news up to which the pause doubles while the channel lives; 30 s unless given. */
	longestPauseMs?: number;
	/** Milliseconds until the reading after the channel is back; `pollMs` unless given. */
	catchUpMs?: number;
	/**
	 * Resolves with true once a reading that no news asked for may be made, with false when the signal
	 * aborts first. At once unless given. `pauseMs`: milliseconds between two such readings at present.
	 */
	waitForTurn?(reason: ReadingReason, pauseMs: number, signal: AbortSignal): Promise<boolean>;
	/** Milliseconds the account asks to be left alone. */
	cooldownMs?(): number;
	/** True to read at once instead of after the first pause. */
	readFirst?: boolean;
}

/** With a live channel the pause doubles with each reading up to this, in ms. */
const LONGEST_PAUSE_MS = 30_000;
/** Pauses between readings once the outcome is announced, in ms. */
const SOON_MS = [50, 100, 200, 400, 800, 1500, 3000, 5000];
/** After so many failed readings in a row an imminent outcome is waited for as any other. */
const MOST_FAILURES = 10;
/** What the last reading, and a download after it, have of a wait's time: a share, and ms at most. */
const LAST_SHARE = 0.1;
const LAST_MS = 2000;

/** Resolves when `signal` aborts. */
const aborted = async (signal: AbortSignal) =>
	await new Promise<void>((resolve) => {
		if (signal.aborted) resolve();
		signal.addEventListener('abort', () => resolve(), { once: true });
	});

/** When a wait that begins now makes its last reading, in ms since 1970. */
function lastReadingAt(signal: AbortSignal): number {
	const leftMs = remainingMs(signal);
	return Date.now() + leftMs - Math.min(LAST_MS, leftMs * LAST_SHARE);
}

/**
 * Waits for an outcome: reads it when news announce it, and every so often in case they never do.
 * The only wait of this package; streams, tasks and history lookups all come through here.
 */
export async function pollUntil<T>(options: PollOptions<T>): Promise<T> {
	const { signal, pollMs, news } = options;
	const longestPauseMs = Math.max(pollMs, options.longestPauseMs ?? LONGEST_PAUSE_MS);
	let reason: ReadingReason = options.readFirst === true ? 'first' : 'silence';
	let pauseMs = pollMs;
	let pausedSince = Date.now();
	let announced = false;
	let quick = 0;
	/** The last reading found that the outcome can be there any moment. */
	let imminent = false;
	/** Readings in a row that found nothing out. */
	let failures = 0;
	let readNow = options.readFirst === true;
	let awake = new AbortController();
	let reading: AbortController | undefined;
	/** When the last reading is due, in ms since 1970; Infinity once it was made. */
	let lastAt = lastReadingAt(signal);
	const held = () => options.cooldownMs?.() ?? 0;

	news?.start((kind) => {
		if (kind === 'lost' || kind === 'back') {
			// A channel that comes and goes must not put the next reading off again and again.
			const soonest = kind === 'back' ? Math.min(pollMs, options.catchUpMs ?? pollMs) : pollMs;
			const due = Math.min(pausedSince + pauseMs, Date.now() + soonest);
			pausedSince = due - pollMs;
			reason = 'catchUp';
		} else {
			pausedSince = Date.now();
			reason = 'silence';
		}
		pauseMs = pollMs;
		if (kind === 'outcome') {
			// A reading that began before the announcement may hang or tell of the time before.
			if (!announced) reading?.abort(NO_REASON);
			announced = true;
			quick = 0;
			readNow = true;
		}
		awake.abort(NO_REASON);
	});

	for (;;) {
		while (!readNow || held() > 0) {
			const dueMs = readNow ? 0 : Math.min(pausedSince + pauseMs, lastAt) - Date.now();
			const restMs = Math.max(dueMs, held());
			if (restMs <= 0) break;
			awake = new AbortController();
			await sleep(restMs, AbortSignal.any([signal, awake.signal]));
			throwIfAborted(signal);
		}
		throwIfAborted(signal);
		if (!announced && !imminent && Date.now() < lastAt && options.waitForTurn) {
			awake = new AbortController();
			const patience = startDeadline(lastAt - Date.now(), signal, awake.signal);
			const admitted = await options.waitForTurn(reason, pauseMs, patience.signal);
			patience.stop();
			throwIfAborted(signal);
			if (!admitted && !announced) readNow = false;
			if (!admitted) continue;
		}
		readNow = false;
		reason = 'silence';
		if (Date.now() >= lastAt) lastAt = Infinity;
		const current = new AbortController();
		reading = current;
		const readSignal = AbortSignal.any([signal, current.signal]);
		const found = await Promise.race([
			options.read(readSignal).then(
				(result) => ({ result }),
				(error: unknown) => ({ error }),
			),
			// Also for a reading shared with others, which must not end with this wait.
			aborted(readSignal).then(() => ({ error: undefined })),
		]);
		reading = undefined;
		const isGivenUp = current.signal.aborted;
		// Node keeps a combined signal for as long as it has a listener and may still abort.
		current.abort(NO_REASON);
		throwIfAborted(signal);
		if ('result' in found && found.result.done) return found.result.value;
		if ('error' in found && !isGivenUp && !isTransient(found.error)) {
			throw found.error;
		}
		pausedSince = Date.now();
		if ('error' in found && held() > 0) {
			// Refused: it is still due, and made as soon as the account may be asked again.
			readNow = true;
			continue;
		}
		failures = 'result' in found ? 0 : failures + 1;
		// A reading that failed says nothing: what the one before it found still holds, for a while.
		if ('result' in found) imminent = !found.result.done && found.result.soon === true;
		else if (failures > MOST_FAILURES) imminent = false;
		if (imminent || (announced && quick < SOON_MS.length)) {
			pauseMs = SOON_MS[Math.min(quick++, SOON_MS.length - 1)]!;
		} else if (announced || !news?.isLive()) {
			announced = false;
			pauseMs = pollMs;
		} else {
			pauseMs = Math.min(pauseMs * 2, longestPauseMs);
		}
	}
}
