import {
	linkedController,
	SILENT_ABORT,
	monotonicNow,
	throwIfAborted,
	whenAborted,
} from './deadline';

/** How old a shared read of a task, or of the history's first page in a trigger, may be, in ms from its start. */
export const MAX_SHARED_READ_AGE_MS = 3000;
/**
 * Results of reads that began longer ago than this, in ms, are dropped when a new read is added, because they may be
 * large.
 */
const RETENTION_MS = 15_000;

/**
 * Reads something. A read that has to wait for its turn calls `setWaiting(true)` at once, and `setWaiting(false)` when it
 * begins.
 */
type Read<T> = (signal: AbortSignal, setWaiting: (isWaiting: boolean) => void) => Promise<T>;

/** One read, and the callers that share it. */
interface CoalescedRead<T> {
	/** When the read began, from `monotonicNow`; Infinity while it waits for its turn. */
	startedAt: number;
	/** How many callers are waiting for the result. */
	callerCount: number;
	/** Is aborted once there is a result, or when no caller is waiting any more. */
	readEnded: AbortController;
	result: Promise<T>;
}

/**
 * Coalesces requests (“single flight”): callers of one account in this process that need the same data at about the
 * same time share one read.
 */
export class CoalescedReads {
	/** The latest read of each key. Those that no caller waits for are in the order of their ends. */
	private readonly byKey = new Map<string, CoalescedRead<unknown>>();

	/**
	 * Resolves with the result of a read that began after `startedAfter` (from `monotonicNow`), or that still waits for
	 * its turn. Joins the latest read with the same `key` if it qualifies; otherwise starts a new one. Throws what
	 * `read` throws, or the reason of `signal`.
	 */
	async share<T>(
		key: string,
		startedAfter: number,
		signal: AbortSignal,
		read: Read<T>,
	): Promise<T> {
		throwIfAborted(signal);
		let coalescedRead = this.byKey.get(key) as CoalescedRead<T> | undefined;
		if (!coalescedRead || coalescedRead.startedAt <= startedAfter) {
			this.evictStale();
			this.byKey.delete(key);
			this.byKey.set(key, (coalescedRead = startRead(read)));
		}
		const { readEnded, result } = coalescedRead;
		coalescedRead.callerCount++;
		try {
			await Promise.race([result, whenAborted(linkedController(signal, readEnded.signal).signal)]);
			throwIfAborted(signal);
			return await result;
		} finally {
			if (--coalescedRead.callerCount === 0) {
				const hasResult = readEnded.signal.aborted;
				readEnded.abort(SILENT_ABORT);
				if (this.byKey.get(key) === coalescedRead) {
					this.byKey.delete(key);
					if (hasResult) this.byKey.set(key, coalescedRead);
				}
			}
		}
	}

	/** Drops the results of reads that ended first, up to the first read that began at most RETENTION_MS ago. */
	private evictStale(): void {
		const staleBefore = monotonicNow() - RETENTION_MS;
		for (const [key, { startedAt, callerCount }] of this.byKey) {
			if (callerCount > 0) continue;
			if (startedAt >= staleBefore) return;
			this.byKey.delete(key);
		}
	}
}

function startRead<T>(read: Read<T>): CoalescedRead<T> {
	const readEnded = new AbortController();
	const setWaiting = (isWaiting: boolean) => {
		coalescedRead.startedAt = isWaiting ? Infinity : monotonicNow();
	};
	const run = async () => {
		// Other callers that the same WebSocket message has woken can join the read before it begins.
		await Promise.resolve();
		setWaiting(false);
		const result = await read(readEnded.signal, setWaiting);
		readEnded.abort(SILENT_ABORT);
		return result;
	};
	const coalescedRead = { startedAt: Infinity, callerCount: 0, readEnded, result: run() };
	return coalescedRead;
}
