import { SILENT_ABORT, sleep } from './deadline';

/** The longest time until the delays are asked for again, in ms. A timer cannot wait forever. */
const MAX_PAUSE_MS = 60_000;

/**
 * Admits callers one after the other. In each lane, the caller that came first is admitted first. Among the first
 * callers of all lanes, the one with the shortest delay is admitted first; if delays are equal, the one with the lowest
 * rank; if ranks are equal as well, the lanes take turns.
 */
export class Queue<Entry = void> {
	/** The entries that wait in each lane, in order of arrival, by the function that ends the wait of their caller. */
	private readonly lanes = new Map<unknown, Map<(isAdmitted: boolean) => void, Entry>>();
	private pauseEnd = new AbortController();
	private isDraining = false;

	/**
	 * @param delayMs returns how long an entry still has to wait, in ms; Infinity if it has to wait until `notify` is
	 *   called
	 * @param onAdmit is called synchronously right before an entry is admitted
	 * @param rank returns the rank of an entry
	 */
	constructor(
		private readonly delayMs: (entry: Entry) => number,
		private readonly onAdmit: (entry: Entry) => void,
		private readonly rank: (entry: Entry) => number = () => 0,
	) {}

	/** Call this when the result of `delayMs` may have changed. */
	notify(): void {
		this.pauseEnd.abort(SILENT_ABORT);
	}

	/**
	 * Waits for the turn of `entry` in a lane, by default the lane of equal entries. Resolves with true once it is
	 * admitted, or with false if `signal` aborts first. Never rejects.
	 */
	async enter(entry: Entry, signal?: AbortSignal, lane: unknown = entry): Promise<boolean> {
		if (signal?.aborted) return false;
		const entries = this.lanes.get(lane) ?? new Map<(isAdmitted: boolean) => void, Entry>();
		return await new Promise<boolean>((resolve) => {
			const onAbort = () => endWait(false);
			const endWait = (isAdmitted: boolean) => {
				entries.delete(endWait);
				// Moves the lane to the end of the map.
				this.lanes.delete(lane);
				if (entries.size > 0) this.lanes.set(lane, entries);
				signal?.removeEventListener('abort', onAbort);
				this.notify();
				resolve(isAdmitted);
			};
			this.lanes.set(lane, entries.set(endWait, entry));
			signal?.addEventListener('abort', onAbort);
			this.notify();
			void this.drain();
		});
	}

	/** Returns how many callers wait in a lane. */
	countIn(lane: unknown): number {
		return this.lanes.get(lane)?.size ?? 0;
	}

	/** Admits callers until none is waiting. */
	private async drain(): Promise<void> {
		if (this.isDraining) return;
		this.isDraining = true;
		// Callers that enter in the same moment all wait before the first of them is admitted.
		await Promise.resolve();
		while (this.lanes.size > 0) {
			const firstEntries = this.sortFirstEntries();
			const { delayMs, rank } = firstEntries[0]!;
			if (delayMs > 0) {
				this.pauseEnd = new AbortController();
				await sleep(Math.min(MAX_PAUSE_MS, Math.ceil(delayMs)), this.pauseEnd.signal);
				continue;
			}
			// Those of one rank are admitted together, because looking at thousands of lanes takes time. The entries before
			// one may have taken what it waits for.
			for (const { endWait, entry } of firstEntries.filter((one) => one.rank === rank)) {
				if (this.delayMs(entry) > 0) continue;
				this.onAdmit(entry);
				endWait(true);
			}
		}
		this.isDraining = false;
	}

	/** Returns the first entry of each lane. Whose turn it is comes first. */
	private sortFirstEntries() {
		const firstEntries = [...this.lanes.values()].map((entries) => {
			const [endWait, entry] = entries.entries().next().value!;
			return { endWait, entry, delayMs: Math.max(0, this.delayMs(entry)), rank: this.rank(entry) };
		});
		return firstEntries.sort((a, b) => a.delayMs - b.delayMs || a.rank - b.rank);
	}
}
