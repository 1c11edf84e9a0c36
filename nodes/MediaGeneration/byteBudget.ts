import { throwIfAborted } from '../service/clock';

interface Waiting {
	bytes: number;
	enter(): void;
}

/**
 * Bounds the bytes of request bodies that are in memory at once, however many items are in work. One
 * that is larger than the whole budget gets its turn when no other is under way.
 */
export class ByteBudget {
	private used = 0;
	/** In the order they came: a large one is not overtaken for ever. */
	private readonly waiting = new Set<Waiting>();

	constructor(private readonly limit: number) {}

	/**
	 * Resolves with the function that gives the bytes back, once there is room. Throws the signal's
	 * reason (a Failure) when that aborts first.
	 */
	async reserve(bytes: number, signal: AbortSignal): Promise<() => void> {
		throwIfAborted(signal);
		await new Promise<void>((enter) => {
			const waiting: Waiting = { bytes, enter };
			this.waiting.add(waiting);
			signal.addEventListener('abort', () => this.leave(waiting), { once: true });
			this.admit();
		});
		let held = true;
		const release = () => {
			if (held) this.used -= bytes;
			held = false;
			this.admit();
		};
		if (signal.aborted) release();
		throwIfAborted(signal);
		return release;
	}

	private admit(): void {
		for (const waiting of this.waiting) {
			if (this.used > 0 && this.used + waiting.bytes > this.limit) return;
			this.leave(waiting);
		}
	}

	private leave(waiting: Waiting): void {
		if (!this.waiting.delete(waiting)) return;
		this.used += waiting.bytes;
		waiting.enter();
	}
}
