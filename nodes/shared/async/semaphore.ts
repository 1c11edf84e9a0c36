import { throwIfAborted } from './deadline';

interface Waiting {
	amount: number;
	enter(): void;
}

/**
 * Limits what is in use at once, such as bytes in memory or running executions. A request for more
 * than the limit gets its turn when nothing else is in use.
 */
export class Semaphore {
	private used = 0;
	/** In order of arrival, so that a large one is not overtaken forever. */
	private readonly waiting = new Set<Waiting>();

	constructor(private readonly limit: number) {}

	/**
	 * Resolves, once there is room, with the function that gives the amount back. Throws the signal's
	 * reason (a Failure) if it aborts first.
	 */
	async acquire(amount: number, signal: AbortSignal): Promise<() => void> {
		throwIfAborted(signal);
		let leave = () => {};
		await new Promise<void>((enter) => {
			const waiting: Waiting = { amount, enter };
			leave = () => this.leave(waiting);
			this.waiting.add(waiting);
			signal.addEventListener('abort', leave, { once: true });
			this.admit();
		});
		signal.removeEventListener('abort', leave);
		let held = true;
		const release = () => {
			if (held) this.used -= amount;
			held = false;
			this.admit();
		};
		if (signal.aborted) release();
		throwIfAborted(signal);
		return release;
	}

	private admit(): void {
		for (const waiting of this.waiting) {
			if (this.used > 0 && this.used + waiting.amount > this.limit) return;
			this.leave(waiting);
		}
	}

	private leave(waiting: Waiting): void {
		if (!this.waiting.delete(waiting)) return;
		this.used += waiting.amount;
		waiting.enter();
	}
}
