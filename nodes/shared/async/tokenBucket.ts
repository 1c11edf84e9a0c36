import { NO_REASON, sleep, steadyNow, whenAborted } from './deadline';

/** Admits callers one after another, in order of arrival. */
export class Queue {
	private readonly waiting = new Set<{ own: number; admit(): void }>();
	private wake = new AbortController();
	private isMoving = false;

	/**
	 * `restMs` returns how many milliseconds the next one still has to wait, given what is its own: its
	 * interval, or an amount. `onAdmit` is called right before it is admitted.
	 */
	constructor(
		private readonly restMs: (own: number) => number,
		private readonly onAdmit: (own: number) => void,
	) {}

	/** Resolves with true when the turn comes, with false if `signal` aborts first. */
	async enter(signal: AbortSignal, own = Infinity): Promise<boolean> {
		if (signal.aborted) return false;
		if (this.waiting.size === 0 && this.restMs(own) <= 0) {
			this.onAdmit(own);
			return true;
		}
		return await new Promise<boolean>((resolve) => {
			const leave = () => {
				this.waiting.delete(waiting);
				this.nudge();
				resolve(false);
			};
			const admit = () => {
				signal.removeEventListener('abort', leave);
				resolve(true);
			};
			const waiting = { own, admit };
			this.waiting.add(waiting);
			signal.addEventListener('abort', leave, { once: true });
			void this.move();
		});
	}

	/** To be called when the result of `restMs` may have changed. */
	nudge(): void {
		this.wake.abort(NO_REASON);
	}

	private async move(): Promise<void> {
		if (this.isMoving) return;
		this.isMoving = true;
		for (;;) {
			const [next] = this.waiting;
			if (!next) break;
			const restMs = Math.ceil(this.restMs(next.own));
			if (restMs > 0) {
				const { signal } = (this.wake = new AbortController());
				await (restMs < Infinity ? sleep(restMs, signal) : whenAborted(signal));
				continue;
			}
			this.waiting.delete(next);
			this.onAdmit(next.own);
			next.admit();
		}
		this.isMoving = false;
	}
}

/** Limits how often something is done; turns are given in the order they were asked for. */
export class TokenBucket {
	/** How many turns could be taken right now. */
	private left: number;
	private countedAt = steadyNow();
	private takenAt = 0;
	private readonly line = new Queue(
		() => Math.max(this.takenAt + this.apartMs - steadyNow(), this.restMs()),
		() => {
			this.left--;
			this.takenAt = steadyNow();
		},
	);

	/**
	 * `atOnce` turns may be taken together, or `apartMs` milliseconds apart, then one every `everyMs()`
	 * milliseconds.
	 */
	constructor(
		private readonly atOnce: number,
		private readonly everyMs: () => number,
		private readonly apartMs = 0,
	) {
		this.left = atOnce;
	}

	/** Resolves with true when the turn comes, with false if `signal` aborts first. */
	async take(signal: AbortSignal): Promise<boolean> {
		return await this.line.enter(signal);
	}

	/** Returns a turn that was taken for nothing. */
	giveBack(): void {
		this.left = Math.min(this.atOnce, this.left + 1);
		this.line.nudge();
	}

	/** Milliseconds until the next turn. */
	private restMs(): number {
		const now = steadyNow();
		const everyMs = this.everyMs();
		this.left = Math.min(this.atOnce, this.left + (now - this.countedAt) / everyMs);
		this.countedAt = now;
		return this.left >= 1 ? 0 : (1 - this.left) * everyMs;
	}
}
