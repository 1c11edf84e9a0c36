import { pause } from './clock';

interface Waiting {
	ownMs: number;
	admit(): void;
}

/** Turns at something that may be done only so often, given out in the order they were asked for. */
export class Turns {
	private readonly waiting = new Set<Waiting>();
	/** How many turns could be taken this moment. */
	private left: number;
	private countedAt = Date.now();
	private empty = new AbortController();
	private isGiving = false;

	/** `atOnce` may be taken together, then one each `everyMs()` milliseconds, asked for each time. */
	constructor(
		private readonly atOnce: number,
		private readonly everyMs: () => number,
	) {
		this.left = atOnce;
	}

	/**
	 * Resolves with true when it is one's turn, with false when `signal` aborts first. Who asks for one
	 * every `ownMs` milliseconds, more often than all may together, gets that while nobody else asks.
	 */
	async take(signal: AbortSignal, ownMs = Infinity): Promise<boolean> {
		if (signal.aborted) return false;
		let leave = () => {};
		const turn = new Promise<boolean>((resolve) => {
			const waiting = { ownMs, admit: () => resolve(true) };
			this.waiting.add(waiting);
			leave = () => {
				this.waiting.delete(waiting);
				if (this.waiting.size === 0) this.empty.abort();
				resolve(false);
			};
		});
		signal.addEventListener('abort', leave, { once: true });
		void this.give();
		try {
			return await turn;
		} finally {
			signal.removeEventListener('abort', leave);
		}
	}

	private async give(): Promise<void> {
		if (this.isGiving) return;
		this.isGiving = true;
		for (;;) {
			const [next] = this.waiting;
			if (!next) break;
			const restMs = this.restMs(Math.min(next.ownMs, this.everyMs()));
			if (restMs > 0) {
				this.empty = new AbortController();
				await pause(restMs, this.empty.signal);
				continue;
			}
			this.waiting.delete(next);
			this.left--;
			next.admit();
		}
		this.isGiving = false;
	}

	/** Milliseconds until the next turn can be given, when one comes up each `everyMs`. */
	private restMs(everyMs: number): number {
		const now = Date.now();
		this.left = Math.min(this.atOnce, this.left + (now - this.countedAt) / everyMs);
		this.countedAt = now;
		return this.left >= 1 ? 0 : Math.ceil((1 - this.left) * everyMs);
	}
}
