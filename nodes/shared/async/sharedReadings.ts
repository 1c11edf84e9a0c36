import { anySignal, SILENT_ABORT, monotonicNow, throwIfAborted, whenAborted } from './deadline';

/** How old a reading may be that serves whoever asks unannounced, in ms. */
export const RECENT_MS = 3000;
/** How long a reading is kept that began so long ago, in ms: nobody asks for an older one, and it may be large. */
const KEPT_MS = 15_000;

/** Where a reading waits for its turn. */
interface Line {
	enter(signal: AbortSignal): Promise<unknown>;
}

interface SharedReading<T> {
	/** By `monotonicNow`; Infinity before. */
	began: number;
	readers: number;
	/** Aborts once there is a result, or when nobody waits any more. */
	finished: AbortController;
	result: Promise<T>;
}

/** The readings of an account, each of which serves everybody in this process who asks for the same. */
export class SharedReadings {
	private readonly latest = new Map<string, SharedReading<unknown>>();

	/**
	 * Does `read` when its turn in `line` comes, unless a reading of the same `key` serves: one that began,
	 * or will begin, after `since` (by `monotonicNow`). Throws as `read` does, or the signal's reason.
	 */
	async share<T>(
		key: string,
		since: number,
		signal: AbortSignal,
		read: (signal: AbortSignal) => Promise<T>,
		line?: Line,
	): Promise<T> {
		throwIfAborted(signal);
		let reading = this.latest.get(key) as SharedReading<T> | undefined;
		if (!reading || reading.began <= since) {
			this.dropOld();
			this.latest.set(key, (reading = startReading(read, line)));
		}
		const { finished, result } = reading;
		reading.readers++;
		try {
			await Promise.race([result, whenAborted(anySignal(signal, finished.signal))]);
			throwIfAborted(signal);
			return await result;
		} finally {
			if (--reading.readers === 0 && !finished.signal.aborted) {
				finished.abort(SILENT_ABORT);
				if (this.latest.get(key) === reading) this.latest.delete(key);
			}
		}
	}

	private dropOld(): void {
		const oldest = monotonicNow() - KEPT_MS;
		for (const [key, { began }] of this.latest) if (began < oldest) this.latest.delete(key);
	}
}

function startReading<T>(read: (signal: AbortSignal) => Promise<T>, line?: Line): SharedReading<T> {
	const finished = new AbortController();
	const run = async () => {
		// It begins later in any case, so that all who hear the same news ask before.
		await line?.enter(finished.signal);
		reading.began = monotonicNow();
		const result = await read(finished.signal);
		finished.abort(SILENT_ABORT);
		return result;
	};
	const reading: SharedReading<T> = { began: Infinity, readers: 0, finished, result: run() };
	return reading;
}
