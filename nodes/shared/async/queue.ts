import { SILENT_ABORT, sleep } from './deadline';

/** The longest time until the delays are asked for again, in ms. A timer cannot wait forever. */
const MAX_PAUSE_MS = 60_000;

/** Ends the wait of a caller. */
type EndWait = (isAdmitted: boolean) => void;

/**
 * Admits callers one after the other. In each lane, the caller that came first is admitted first. Among the first
 * callers of all lanes, the one with the shortest delay is admitted first; if delays are equal, the one with the lowest
 * rank; if ranks are equal as well, the lanes take turns.
 */
export class Queue<Entry = void> {
	/** The entries that wait in each lane, in order of arrival, by the function that ends the wait of their caller. */
	private readonly lanes = new Map<unknown, Map<EndWait, Entry>>();
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
		const entries = this.lanes.get(lane) ?? new Map<EndWait, Entry>();
		return await new Promise<boolean>((resolve) => {
			const onAbort = () => endWait(false);
			const endWait: EndWait = (isAdmitted) => {
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

	/** Admits callers until none is waiting. */
	private async drain(): Promise<void> {
		if (this.isDraining) return;
		this.isDraining = true;
		// Callers that enter in the same moment all wait before the first of them is admitted.
		await Promise.resolve();
		while (this.lanes.size > 0) {
			const { delayMs, entries } = this.nextEntries();
			if (delayMs > 0) {
				this.pauseEnd = new AbortController();
				await sleep(Math.min(MAX_PAUSE_MS, Math.ceil(delayMs)), this.pauseEnd.signal);
			}
			for (const [endWait, entry] of delayMs > 0 ? [] : entries) {
				// The entries before it may have taken what it waits for.
				if (this.delayMs(entry) > 0) continue;
				this.onAdmit(entry);
				endWait(true);
			}
		}
		this.isDraining = false;
	}

	/** Returns the first entries of those lanes whose turn it is, and how long they still have to wait, in ms. */
	private nextEntries() {
		let next = { delayMs: Infinity, rank: Infinity, entries: [] as Array<[EndWait, Entry]> };
		for (const lane of this.lanes.values()) {
			const first = lane.entries().next().value!;
			const delayMs = Math.max(0, this.delayMs(first[1]));
			const rank = this.rank(first[1]);
			const order = next.entries.length === 0 ? -1 : delayMs - next.delayMs || rank - next.rank;
			if (order < 0) next = { delayMs, rank, entries: [first] };
			else if (order === 0) next.entries.push(first);
		}
		return next;
	}
}
