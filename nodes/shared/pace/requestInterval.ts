import { monotonicNow } from '../async/deadline';

/** The interval is never set to less than this, in ms. */
const MIN_INTERVAL_MS = 50;
/** Each step makes the interval this many times longer or shorter. */
const STEP = 1.2;
/** An interval is kept for this long before the first step down, in ms. */
const HOLD_MS = 38_000;

/**
 * The least time between two requests of an account. It is 0 until a request is throttled.
 *
 * It changes in steps (auto rate fallback, Kamerman and Monteban 1997), so most of the time it stays at a value that
 * works. A throttled request takes it one step up. The number of steps down grows with the cube of the time (as in
 * CUBIC, RFC 9438): none at first, and so many after two minutes that hardly anything is left of the interval. So it
 * needs no maximum: even if everything is refused, a request goes out in less than a minute.
 */
export class RequestInterval {
	/** The interval at the time when it was set, in ms; `ms` shrinks from there. */
	private initialMs = 0;
	/** When the interval was set, from `monotonicNow`. */
	private setAt = 0;

	/** The interval at this moment, in ms. */
	get ms(): number {
		const stepsDown = Math.floor(((monotonicNow() - this.setAt) / HOLD_MS) ** 3);
		return this.initialMs / STEP ** stepsDown;
	}

	/** Call this when a request that was sent at `sentAt` was throttled. */
	onThrottled(sentAt: number): void {
		// Requests that are in flight together meet the same limit, so their refusals count as one.
		if (sentAt <= this.setAt) return;
		this.initialMs = Math.max(MIN_INTERVAL_MS, this.ms * STEP);
		this.setAt = monotonicNow();
	}
}
