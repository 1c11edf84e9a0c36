import { abortReason } from './deadline';
import { Queue } from './queue';

/**
 * A counting semaphore: it limits how much is in use at once, such as bytes in memory or running executions. An amount
 * above the whole limit is admitted when nothing else is in use.
 */
export class Semaphore {
	private usedAmount = 0;
	/** First come, first served, so that small amounts cannot overtake a large one forever. */
	private readonly queue = new Queue<number>(
		(amount) => (this.usedAmount > 0 && this.usedAmount + amount > this.limit ? Infinity : 0),
		(amount) => (this.usedAmount += amount),
	);

	/** `limit` is the amount that may be in use at once. */
	constructor(private readonly limit: number) {}

	/**
	 * Waits until `amount` is available, and resolves with a function that gives the amount back. Call that function
	 * exactly once. Throws a Failure if `signal` aborts first.
	 */
	async acquire(amount: number, signal: AbortSignal): Promise<() => void> {
		if (!(await this.queue.enter(signal, amount, this))) throw abortReason(signal);
		return () => {
			this.usedAmount -= amount;
			this.queue.notify();
		};
	}
}
