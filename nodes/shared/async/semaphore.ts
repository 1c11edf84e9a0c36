import { abortReason } from './deadline';
import { Queue } from './tokenBucket';

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
		const isMine = await this.line.enter(signal, amount);
		const release = () => {
			this.used -= amount;
			this.line.nudge();
		};
		if (isMine && !signal.aborted) return release;
		if (isMine) release();
		throw abortReason(signal);
	}
}
