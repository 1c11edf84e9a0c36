import { abortReason, throwIfAborted } from './deadline';

/**
 * Limits what is in use at once, such as bytes in memory or running executions. A request for more
 * than the limit gets its turn when nothing else is in use.
 */
export class Semaphore {
	private used = 0;
	/** In order of arrival, so that a large one is not overtaken forever. */
	private readonly waiting = new Set<{ amount: number; enter(): void }>();

	constructor(private readonly limit: number) {}

	/**
	 * Resolves, once there is room, with the function that gives the amount back, to be called once.
	 * Throws the signal's reason (a Failure) if it aborts first.
	 */
	async acquire(amount: number, signal: AbortSignal): Promise<() => void> {
		throwIfAborted(signal);
		await new Promise<void>((resolve, reject) => {
			const giveUp = () => {
				this.waiting.delete(waiting);
				this.admit();
				reject(abortReason(signal));
			};
			const enter = () => {
				signal.removeEventListener('abort', giveUp);
				resolve();
			};
			const waiting = { amount, enter };
			this.waiting.add(waiting);
			signal.addEventListener('abort', giveUp, { once: true });
			this.admit();
		});
		const release = () => {
			this.used -= amount;
			this.admit();
		};
		if (signal.aborted) release();
		throwIfAborted(signal);
		return release;
	}

	private admit(): void {
		for (const waiting of this.waiting) {
			if (this.used > 0 && this.used + waiting.amount > this.limit) return;
			this.waiting.delete(waiting);
			this.used += waiting.amount;
			waiting.enter();
		}
	}
}
