import { pause, throwIfAborted } from './clock';
import { isTransient } from './failure';

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
	 * reading starts anew; 'outcome': the outcome is announced; 'changed': the channel was lost or
	 * came back.
	 */
	start(onNews: (news: 'progress' | 'outcome' | 'changed') => void): void;
}

export interface WaitOptions<T> {
	/** Reads once; throws a Failure. A transient one is repeated, any other ends the wait. */
	read(signal: AbortSignal): Promise<Reading<T>>;
	/** Milliseconds without news before a reading. */
	pollMs: number;
	/** Deadline and cancel: the wait throws its reason (a Failure) at once. */
	signal: AbortSignal;
	news?: News;
	/** Milliseconds the account asks to be left alone. */
	holdMs?(): number;
	/** True to read at once instead of after the first pause. */
	readFirst?: boolean;
}

/** With a live channel the pause doubles with each reading up to this, in ms. */
const LONGEST_PAUSE_MS = 30_000;
/** Pauses between readings once the outcome is announced, in ms. */
const SOON_MS = [50, 100, 200, 400, 800, 1500, 3000, 5000];

/** Resolves when `signal` aborts. */
const aborted = async (signal: AbortSignal) =>
	await new Promise<void>((resolve) => {
		if (signal.aborted) resolve();
		signal.addEventListener('abort', () => resolve(), { once: true });
	});

/**
 * Waits for an outcome: reads it when news announce it, and every so often in case they never do.
 * The only wait of this package; streams, tasks and history lookups all come through here.
 */
export async function until<T>(options: WaitOptions<T>): Promise<T> {
	const { signal, pollMs, news } = options;
	let pauseMs = pollMs;
	let pausedSince = Date.now();
	let announced = false;
	let quick = 0;
	let readNow = options.readFirst === true;
	let awake = new AbortController();
	let reading: AbortController | undefined;
	const held = () => options.holdMs?.() ?? 0;

	news?.start((kind) => {
		// A channel that comes and goes must not put the next reading off again and again.
		const due = Math.min(pausedSince + pauseMs, Date.now() + pollMs);
		pausedSince = kind === 'changed' ? due - pollMs : Date.now();
		pauseMs = pollMs;
		if (kind === 'outcome') {
			// A reading that began before the announcement may hang or tell of the time before.
			if (!announced) reading?.abort();
			announced = true;
			quick = 0;
			readNow = true;
		}
		awake.abort();
	});

	for (;;) {
		while (!readNow || held() > 0) {
			const dueMs = readNow ? 0 : pausedSince + pauseMs - Date.now();
			const restMs = Math.max(dueMs, held());
			if (restMs <= 0) break;
			awake = new AbortController();
			await pause(restMs, AbortSignal.any([signal, awake.signal]));
			throwIfAborted(signal);
		}
		throwIfAborted(signal);
		readNow = false;
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
		throwIfAborted(signal);
		if ('result' in found && found.result.done) return found.result.value;
		if ('error' in found && !current.signal.aborted && !isTransient(found.error)) {
			throw found.error;
		}
		pausedSince = Date.now();
		const soon = 'result' in found && !found.result.done && found.result.soon === true;
		if (soon || (announced && quick < SOON_MS.length)) {
			pauseMs = SOON_MS[Math.min(quick++, SOON_MS.length - 1)];
		} else if (announced || !news?.isLive()) {
			announced = false;
			pauseMs = pollMs;
		} else {
			pauseMs = Math.max(pollMs, Math.min(pauseMs * 2, LONGEST_PAUSE_MS));
		}
	}
}
