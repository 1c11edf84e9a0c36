import { anySignal, SILENT_ABORT, monotonicNow, throwIfAborted, whenAborted } from './deadline';

/**
 * The greatest age at which a poll accepts a shared read, in ms. Once a message has announced that a task has ended,
 * only a read that was sent after the message counts.
 */
export const MAX_SHARED_AGE_MS = 3000;
/**
 * When a new read starts, results whose reads started longer ago than this, in ms, are dropped. They may be large, and
 * hardly any caller accepts such an old result.
 */
const RETENTION_MS = 15_000;

/** A queue in which a read waits for its turn. `enter` resolves when the turn has come or `signal` aborts. */
interface AdmissionQueue {
	enter(signal: AbortSignal): Promise<unknown>;
}

interface CoalescedRead<T> {
	/** When the read was sent, from `monotonicNow`; Infinity while it waits for its turn. */
	startedAt: number;
	/** How many callers are waiting for the result. */
	readers: number;
	/** Aborts once there is a result, or when nobody is waiting any more. The latter cancels the read. */
	finished: AbortController;
	result: Promise<T>;
}

/**
 * Coalesces requests (“single flight”): callers of one account in this process that need the same thing at the same
 * time get the result of one request.
 */
export class CoalescedReads {
	/** The latest read of each key. */
	private readonly byKey = new Map<string, CoalescedRead<unknown>>();

	/**
	 * Resolves with the result of a read that was sent after `startedAfter` (from `monotonicNow`). If the latest read of
	 * the same `key` is new enough, or still waits for its turn, its result is shared. Otherwise `read` is called, after
	 * its turn in `queue` has come. The signal that is passed to `read` aborts when no caller is waiting any more. Throws
	 * what `read` throws, or the reason of `signal`.
	 */
	async share<T>(
		key: string,
		startedAfter: number,
		signal: AbortSignal,
		read: (signal: AbortSignal) => Promise<T>,
		queue?: AdmissionQueue,
	): Promise<T> {
		throwIfAborted(signal);
		let coalesced = this.byKey.get(key) as CoalescedRead<T> | undefined;
		if (!coalesced || coalesced.startedAt <= startedAfter) {
			this.evictStale();
			this.byKey.set(key, (coalesced = startRead(read, queue)));
		}
		const { finished, result } = coalesced;
		coalesced.readers++;
		try {
			await Promise.race([result, whenAborted(anySignal(signal, finished.signal))]);
			throwIfAborted(signal);
			return await result;
		} finally {
			if (--coalesced.readers === 0 && !finished.signal.aborted) {
				finished.abort(SILENT_ABORT);
				if (this.byKey.get(key) === coalesced) this.byKey.delete(key);
			}
		}
	}

	/** Drops old results (see `RETENTION_MS`). */
	private evictStale(): void {
		const staleBefore = monotonicNow() - RETENTION_MS;
		for (const [key, { startedAt }] of this.byKey)
			if (startedAt < staleBefore) this.byKey.delete(key);
	}
}

/** Starts a read, which is sent once its turn in `queue` has come. */
function startRead<T>(
	read: (signal: AbortSignal) => Promise<T>,
	queue?: AdmissionQueue,
): CoalescedRead<T> {
	const finished = new AbortController();
	const run = async () => {
		// This waits for at least a microtask, so all callers that got the same message can join before the read is sent.
		await queue?.enter(finished.signal);
		coalesced.startedAt = monotonicNow();
		const result = await read(finished.signal);
		finished.abort(SILENT_ABORT);
		return result;
	};
	const coalesced: CoalescedRead<T> = { startedAt: Infinity, readers: 0, finished, result: run() };
	return coalesced;
}
