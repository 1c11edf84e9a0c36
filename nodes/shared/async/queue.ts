import { SILENT_ABORT, sleep } from './deadline';

/**
 * Admits callers one after the other, first come, first served in each lane. Of the lanes' first entries, the one with
 * the shortest delay goes first; ties go to the lane with the lowest number.
 */
export class Queue<Entry = void> {
	/** Call this when the result of `delayMs` may have changed. */
	notify = () => {};
	/** The waiting callers of each lane. The key is the function that ends the wait. */
	private readonly lanes: Array<Map<(isAdmitted: boolean) => void, Entry>>;
	private isDraining = false;

	/**
	 * @param delayMs returns how long an entry still has to wait, in ms; Infinity if it waits for a call of `notify`
	 * @param onAdmit is called synchronously right before an entry is admitted
	 * @param lanes how many lanes there are
	 */
	constructor(
		private readonly delayMs: (entry: Entry) => number,
		private readonly onAdmit: (entry: Entry) => void,
		lanes = 1,
	) {
		this.lanes = Array.from({ length: lanes }, () => new Map());
	}

	/** True when nobody waits in this lane. */
	isEmpty(lane: number): boolean {
		return this.lanes[lane]!.size === 0;
	}

	/** Resolves with true once admitted, or with false if `signal` aborts first. */
	async enter(signal: AbortSignal, entry: Entry, lane = 0): Promise<boolean> {
		if (signal.aborted) return false;
		const waiting = this.lanes[lane]!;
		return await new Promise<boolean>((resolve) => {
			const onAbort = () => endWait(false);
			const endWait = (isAdmitted: boolean) => {
				waiting.delete(endWait);
				signal.removeEventListener('abort', onAbort);
				this.notify();
				resolve(isAdmitted);
			};
			waiting.set(endWait, entry);
			signal.addEventListener('abort', onAbort, { once: true });
			if (waiting.size === 1) this.notify();
			void this.drain();
		});
	}

	/** Admits entries until none is waiting. */
	private async drain(): Promise<void> {
		if (this.isDraining) return;
		this.isDraining = true;
		for (let next = this.nextEntry(); next; next = this.nextEntry()) {
			if (next.delayMs > 0) await this.pause(next.delayMs);
			else {
				this.onAdmit(next.entry);
				next.endWait(true);
			}
		}
		this.isDraining = false;
	}

	/** The entry to admit next, and its delay; undefined if none is waiting. */
	private nextEntry() {
		const laneHeads = this.lanes.flatMap((lane) => {
			for (const [endWait, entry] of lane)
				return { endWait, entry, delayMs: Math.max(0, this.delayMs(entry)) };
			return [];
		});
		const shortestMs = Math.min(...laneHeads.map(({ delayMs }) => delayMs));
		return laneHeads.find(({ delayMs }) => delayMs === shortestMs);
	}

	/** Waits for `ms` milliseconds, or until `notify` is called. */
	private async pause(ms: number): Promise<void> {
		const timerAbort = new AbortController();
		await new Promise<void>((resolve) => {
			this.notify = resolve;
			if (ms < Infinity) void sleep(Math.ceil(ms), timerAbort.signal).then(resolve);
		});
		timerAbort.abort(SILENT_ABORT);
	}
}
