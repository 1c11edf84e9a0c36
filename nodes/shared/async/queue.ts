import { abortReason, SILENT_ABORT, sleep, whenAborted } from './deadline';

/** Admits callers one after another, in order of arrival. */
export class Queue {
	/** What ends each wait, with true when the turn has come, and its weight: an interval, or an amount. */
	private readonly waiting = new Map<(isAdmitted: boolean) => void, number>();
	private wake = new AbortController();
	private isMoving = false;

	/**
	 * `restMs` returns how many milliseconds the next one still has to wait, given its weight.
	 * `onAdmit` is called right before it is admitted.
	 */
	constructor(
		private readonly restMs: (weight: number) => number,
		private readonly onAdmit: (weight: number) => void,
	) {}

	get isEmpty(): boolean {
		return this.waiting.size === 0;
	}

	/** Resolves with true when the turn comes, with false if `signal` aborts first. */
	async enter(signal: AbortSignal, weight = Infinity): Promise<boolean> {
		if (signal.aborted) return false;
		return await new Promise<boolean>((resolve) => {
			const leave = () => end(false);
			const end = (isAdmitted: boolean) => {
				this.waiting.delete(end);
				signal.removeEventListener('abort', leave);
				this.notify();
				resolve(isAdmitted);
			};
			this.waiting.set(end, weight);
			signal.addEventListener('abort', leave, { once: true });
			void this.move();
		});
	}

	/** To be called when the result of `restMs` may have changed. */
	notify(): void {
		this.wake.abort(SILENT_ABORT);
	}

	private async move(): Promise<void> {
		if (this.isMoving) return;
		this.isMoving = true;
		for (let [next] = this.waiting; next; [next] = this.waiting) {
			const [end, weight] = next;
			const restMs = Math.ceil(this.restMs(weight));
			if (restMs > 0) {
				const { signal } = (this.wake = new AbortController());
				await (restMs < Infinity ? sleep(restMs, signal) : whenAborted(signal));
			} else {
				this.onAdmit(weight);
				end(true);
			}
		}
		this.isMoving = false;
	}
}

/**
 * Limits what is in use at once, such as bytes in memory or running executions. A request for more
 * than the limit gets its turn when nothing else is in use.
 */
export class Semaphore {
	private used = 0;
	/** In order of arrival, so that a large one is not overtaken forever. */
	private readonly line = new Queue(
		(amount) => (this.used > 0 && this.used + amount > this.limit ? Infinity : 0),
		(amount) => (this.used += amount),
	);

	constructor(private readonly limit: number) {}

	/**
	 * Resolves, once there is room, with the function that gives the amount back, to be called once.
	 * Throws the signal's reason (a Failure) if it aborts first.
	 */
	async acquire(amount: number, signal: AbortSignal): Promise<() => void> {
		if (!(await this.line.enter(signal, amount))) throw abortReason(signal);
		return () => {
			this.used -= amount;
			this.line.notify();
		};
	}
}
