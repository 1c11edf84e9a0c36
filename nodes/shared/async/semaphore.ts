import { abortReason } from './deadline';
import { Queue } from './queue';

/**
 * A counting semaphore, for bytes or executions. An amount above the limit waits until nothing is in use. Callers either
 * wait with `acquire`, or wait elsewhere until `isFree`, and then call `take`.
 */
export class Semaphore {
	private usedAmount = 0;
	/** First come, first served, so that small amounts cannot overtake a large one forever. */
	private readonly queue = new Queue<number>(
		(amount) => (this.isFree(amount) ? 0 : Infinity),
		(amount) => this.take(amount),
	);

	/** `limit` is the amount that may be in use at once. */
	constructor(private readonly limit: number) {}

	/** Waits for `amount`. Resolves with a function that gives it back: call it once. Throws a Failure on abort. */
	async acquire(amount: number, signal: AbortSignal): Promise<() => void> {
		if (!(await this.queue.enter(signal, amount, this))) throw abortReason(signal);
		return () => this.giveBack(amount);
	}

	/** True if `amount` can be taken now. */
	isFree(amount: number): boolean {
		return this.usedAmount === 0 || this.usedAmount + amount <= this.limit;
	}

	/** Takes `amount` at once. Check `isFree` before, and call `giveBack` once. */
	take(amount: number): void {
		this.usedAmount += amount;
	}

	giveBack(amount: number): void {
		this.usedAmount -= amount;
		this.queue.notify();
	}
}
