import { SILENT_ABORT, sleep } from './deadline';

/** Admits callers in order of arrival; who is ready goes before who is not, and a lower lane before a higher. */
export class Queue<Entry = void> {
	/** To be called when the result of `delayMs` may have changed. */
	notify = () => {};
	/** By lane: what ends each wait, with true when the turn has come, and its entry. */
	private readonly lanes: Array<Map<(isAdmitted: boolean) => void, Entry>>;
	private isMoving = false;

	/**
	 * `delayMs` returns how many milliseconds the first of a lane still has to wait, given its entry.
	 * `onAdmit` is called right before it is admitted.
	 */
	constructor(
		private readonly delayMs: (entry: Entry) => number,
		private readonly onAdmit: (entry: Entry) => void,
		lanes = 1,
	) {
		this.lanes = Array.from({ length: lanes }, () => new Map());
	}

	/** Whether nobody waits in a lane. */
	isEmpty(lane: number): boolean {
		return this.lanes[lane]!.size === 0;
	}

	/** Resolves with true when the turn comes, with false if `signal` aborts first. */
	async enter(signal: AbortSignal, entry: Entry, lane = 0): Promise<boolean> {
		if (signal.aborted) return false;
		const waiting = this.lanes[lane]!;
		return await new Promise<boolean>((resolve) => {
			const leave = () => end(false);
			const end = (isAdmitted: boolean) => {
				waiting.delete(end);
				signal.removeEventListener('abort', leave);
				this.notify();
				resolve(isAdmitted);
			};
			waiting.set(end, entry);
			signal.addEventListener('abort', leave, { once: true });
			if (waiting.size === 1) this.notify();
			void this.move();
		});
	}

	private async move(): Promise<void> {
		if (this.isMoving) return;
		this.isMoving = true;
		for (let next = this.next(); next; next = this.next()) {
			if (next.delayMs > 0) await this.pause(next.delayMs);
			else {
				this.onAdmit(next.entry);
				next.end(true);
			}
		}
		this.isMoving = false;
	}

	/** Who is ready first. */
	private next() {
		const firsts = this.lanes.flatMap((lane) => {
			for (const [end, entry] of lane)
				return { end, entry, delayMs: Math.max(0, this.delayMs(entry)) };
			return [];
		});
		const leastMs = Math.min(...firsts.map(({ delayMs }) => delayMs));
		return firsts.find(({ delayMs }) => delayMs === leastMs);
	}

	private async pause(ms: number): Promise<void> {
		const timer = new AbortController();
		await new Promise<void>((resolve) => {
			this.notify = resolve;
			if (ms < Infinity) void sleep(Math.ceil(ms), timer.signal).then(resolve);
		});
		timer.abort(SILENT_ABORT);
	}
}
