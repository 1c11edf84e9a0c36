import { SILENT_ABORT, sleep } from './deadline';

/**
 * Admits callers one after the other. In each lane, the caller that came first is admitted first. Among the first
 * callers of all lanes, the one with the shortest delay is admitted first; if delays are equal, the one with the lowest
 * rank; if ranks are equal as well, the lanes take turns.
 */
export class Queue<Entry = void> {
	/** Call this when the result of `delayMs` may have changed. */
	notify = () => {};
	/** The waiting callers of each lane, in order of arrival. The key is the function that ends the caller's wait. */
	private readonly lanes = new Map<unknown, Map<(isAdmitted: boolean) => void, Entry>>();
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

	/** Returns true if nobody waits in this lane. */
	isEmpty(lane: unknown): boolean {
		return !this.lanes.get(lane)?.size;
	}

	/**
	 * Waits for the turn of `entry` in a lane, by default the lane of equal entries. Resolves with true once it is
	 * admitted, or with false if `signal` aborts first. Never rejects.
	 */
	async enter(
		signal: AbortSignal | undefined,
		entry: Entry,
		lane: unknown = entry,
	): Promise<boolean> {
		if (signal?.aborted) return false;
		const waitingCallers = this.lanes.get(lane) ?? new Map<(isAdmitted: boolean) => void, Entry>();
		this.lanes.set(lane, waitingCallers);
		return await new Promise<boolean>((resolve) => {
			const onAbort = () => endWait(false);
			const endWait = (isAdmitted: boolean) => {
				waitingCallers.delete(endWait);
				signal?.removeEventListener('abort', onAbort);
				this.notify();
				resolve(isAdmitted);
			};
			waitingCallers.set(endWait, entry);
			signal?.addEventListener('abort', onAbort, { once: true });
			if (waitingCallers.size === 1) this.notify();
			void this.drain();
		});
	}

	/** Admits entries until none is waiting. */
	private async drain(): Promise<void> {
		if (this.isDraining) return;
		this.isDraining = true;
		// Callers that enter in the same moment all wait before the first of them is admitted.
		await Promise.resolve();
		for (let next = this.nextEntry(); next; next = this.nextEntry()) {
			if (next.delayMs > 0) await this.pause(next.delayMs);
			else {
				this.onAdmit(next.entry);
				next.endWait(true);
				// Moves the lane to the end of the map.
				this.lanes.delete(next.key);
				if (next.lane.size > 0) this.lanes.set(next.key, next.lane);
			}
		}
		this.isDraining = false;
	}

	/** The entry to admit next, and its delay; undefined if none is waiting. */
	private nextEntry() {
		const laneHeads = [...this.lanes].flatMap(([key, lane]) => {
			for (const [endWait, entry] of lane)
				return {
					...{ key, lane, endWait, entry },
					delayMs: Math.max(0, this.delayMs(entry)),
					rank: this.rank(entry),
				};
			return [];
		});
		return laneHeads.sort((a, b) => a.delayMs - b.delayMs || a.rank - b.rank)[0];
	}

	/** Waits for `ms` milliseconds, or until `notify` is called. Replaces `notify`. */
	private async pause(ms: number): Promise<void> {
		const timerAbort = new AbortController();
		await new Promise<void>((resolve) => {
			this.notify = resolve;
			if (ms < Infinity) void sleep(Math.ceil(ms), timerAbort.signal).then(resolve);
		});
		timerAbort.abort(SILENT_ABORT);
	}
}
