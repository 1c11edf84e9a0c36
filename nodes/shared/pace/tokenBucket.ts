import { NO_REASON, sleep } from '../async/deadline';

interface Waiting {
	ownMs: number;
	admit(): void;
}

/** Admits those who wait one after another, in the order they came. */
export class Queue {
	private readonly waiting = new Set<Waiting>();
	private wake = new AbortController();
	private isMoving = false;

	/**
	 * `restMs` tells how many milliseconds the next one still has to wait, given what it said of itself;
	 * `onAdmit` is called right before it goes.
	 */
	constructor(
		private readonly restMs: (ownMs: number) => number,
		private readonly onAdmit: () => void,
	) {}

	/** Resolves with true when it is one's turn, with false when `signal` aborts first. */
	async enter(signal: AbortSignal, ownMs = Infinity): Promise<boolean> {
		if (signal.aborted) return false;
		if (this.waiting.size === 0 && this.restMs(ownMs) <= 0) {
			this.onAdmit();
			return true;
		}
		let leave = () => {};
		const turn = new Promise<boolean>((resolve) => {
			const waiting = { ownMs, admit: () => resolve(true) };
			this.waiting.add(waiting);
			leave = () => {
				this.waiting.delete(waiting);
				if (this.waiting.size === 0) this.nudge();
				resolve(false);
			};
		});
		signal.addEventListener('abort', leave, { once: true });
		void this.move();
		try {
			return await turn;
		} finally {
			signal.removeEventListener('abort', leave);
		}
	}

	get isEmpty(): boolean {
		return this.waiting.size === 0;
	}

	/** What `restMs` goes by has changed. */
	nudge(): void {
		this.wake.abort(NO_REASON);
	}

	private async move(): Promise<void> {
		if (this.isMoving) return;
		this.isMoving = true;
		for (;;) {
			const [next] = this.waiting;
			if (!next) break;
			const restMs = Math.ceil(this.restMs(next.ownMs));
			if (restMs > 0) {
				this.wake = new AbortController();
				await sleep(restMs, this.wake.signal);
				continue;
			}
			this.waiting.delete(next);
			this.onAdmit();
			next.admit();
		}
		this.isMoving = false;
	}
}

/** Turns at something that may be done only so often, given out in the order they were asked for. */
export class TokenBucket {
	/** How many turns could be taken this moment. */
	private left: number;
	private countedAt = Date.now();
	private readonly line = new Queue(
		(ownMs) => this.restMs(Math.min(ownMs, this.everyMs())),
		() => this.left--,
	);

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
		return await this.line.enter(signal, ownMs);
	}

	/** Milliseconds until the next turn can be given, when one comes up each `everyMs`. */
	private restMs(everyMs: number): number {
		const now = Date.now();
		this.left = Math.min(this.atOnce, this.left + (now - this.countedAt) / everyMs);
		this.countedAt = now;
		return this.left >= 1 ? 0 : (1 - this.left) * everyMs;
	}
}
