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
/** The least time between two searches for reads to drop, in ms. */
const EVICTION_INTERVAL_MS = 1000;

/** A read. If it must wait its turn, it calls `setWaiting(true)` at once, and `setWaiting(false)` when it begins. */
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

/** Lets callers of one account that need the same data at about the same time share a read (single flight). */
export class CoalescedReads {
	/** The latest read of each key. */
	private readonly byKey = new Map<string, CoalescedRead<unknown>>();
	/** When `evictStale` looks at the reads again, from `monotonicNow`. */
	private nextEvictionAt = 0;

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
			this.byKey.set(key, (coalescedRead = startRead(read)));
		}
		const { readEnded, result } = coalescedRead;
		coalescedRead.callerCount++;
		try {
			await Promise.race([result, whenAborted(linkedController(signal, readEnded.signal).signal)]);
			throwIfAborted(signal);
			return await result;
		} finally {
			if (--coalescedRead.callerCount === 0 && !readEnded.signal.aborted) {
				readEnded.abort(SILENT_ABORT);
				if (this.byKey.get(key) === coalescedRead) this.byKey.delete(key);
			}
		}
	}

	/**
	 * Drops the reads that began more than RETENTION_MS ago, unless a caller still waits for the result. Does nothing if
	 * that was done less than EVICTION_INTERVAL_MS ago, because there may be thousands of reads.
	 */
	private evictStale(): void {
		const now = monotonicNow();
		if (now < this.nextEvictionAt) return;
		this.nextEvictionAt = now + EVICTION_INTERVAL_MS;
		for (const [key, { startedAt, callerCount }] of this.byKey)
			if (startedAt < now - RETENTION_MS && callerCount === 0) this.byKey.delete(key);
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
