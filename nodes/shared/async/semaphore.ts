import { abortReason } from './deadline';
import { Queue } from './queue';

/** A counting semaphore, for bytes or executions. An amount above the limit waits until nothing is in use. */
export class Semaphore {
	private usedAmount = 0;
	/** First come, first served, so that small amounts cannot overtake a large one forever. */
	private readonly queue = new Queue<number>(
		(amount) => (this.usedAmount > 0 && this.usedAmount + amount > this.limit ? Infinity : 0),
		(amount) => (this.usedAmount += amount),
	);

	/** `limit` is the amount that may be in use at once. */
	constructor(private readonly limit: number) {}

	/** Waits for `amount`. Resolves with a function that gives it back: call it once. Throws a Failure on abort. */
	async acquire(amount: number, signal: AbortSignal): Promise<() => void> {
		if (!(await this.queue.enter(amount, signal, this))) throw abortReason(signal);
		return () => {
			this.usedAmount -= amount;
			this.queue.notify();
		};
	}
}
