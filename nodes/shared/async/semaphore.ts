import { abortReason } from './deadline';
import { Queue } from './queue';

/**
 * Limits what is in use at once, such as bytes in memory or running executions. A request for more
 * than the limit gets its turn when nothing else is in use.
 */
export class Semaphore {
	private used = 0;
	/** In order of arrival, so that a large one is not overtaken forever. */
	private readonly queue = new Queue<number>(
		(amount) => (this.used > 0 && this.used + amount > this.limit ? Infinity : 0),
		(amount) => (this.used += amount),
	);

	constructor(private readonly limit: number) {}

	/**
	 * Resolves, once there is room, with the function that gives the amount back, to be called once.
	 * Throws the signal's reason (a Failure) if it aborts first.
	 */
	async acquire(amount: number, signal: AbortSignal): Promise<() => void> {
		if (!(await this.queue.enter(signal, amount))) throw abortReason(signal);
		return () => {
			this.used -= amount;
			this.queue.notify();
		};
	}
}
