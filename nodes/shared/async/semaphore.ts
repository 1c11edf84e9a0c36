import { abortReason } from './deadline';
import { Queue } from './queue';

/**
 * A counting semaphore: it limits how much is in use at once, such as bytes in memory or running executions. An amount
 * above the whole limit is admitted when nothing else is in use.
 */
export class Semaphore {
	private used = 0;
	/** First come, first served, so that small requests cannot overtake a large one forever. */
	private readonly queue = new Queue<number>(
		(amount) => (this.used > 0 && this.used + amount > this.limit ? Infinity : 0),
		(amount) => (this.used += amount),
	);

	/** `limit` is the amount that may be in use at once. */
	constructor(private readonly limit: number) {}

	/**
	 * Waits until `amount` is available, and resolves with a function that gives it back; call that function exactly
	 * once. Throws a Failure if `signal` aborts first.
	 */
	async acquire(amount: number, signal: AbortSignal): Promise<() => void> {
		if (!(await this.queue.enter(signal, amount))) throw abortReason(signal);
		return () => {
			this.used -= amount;
			this.queue.notify();
		};
	}
}
