import { monotonicNow } from '../async/deadline';

/** The interval is never shorter than this, in ms, except that it is 0 in the end. */
const MIN_INTERVAL_MS = 50;
const MAX_INTERVAL_MS = 30_000;
/** A throttled request makes the interval this many times longer (multiplicative increase). */
const INCREASE_FACTOR = 1.2;
/** This many ms after it was set, the interval has shrunk to half. */
const HALF_LIFE_MS = 60_000;

/**
 * The least time between two requests of an account. It is 0 until a request is throttled.
 *
 * It shrinks with the cube of the time (as in CUBIC, RFC 9438): slowly at first, then quickly to 0.
 */
export class RequestInterval {
	/** The interval at the time when it was set, in ms; `ms` shrinks from there. */
	private initialMs = 0;
	/** When the interval was set, from `monotonicNow`. */
	private setAt = 0;

	/** The interval at this moment, in ms. */
	get ms(): number {
		const ms = this.initialMs * 2 ** -(((monotonicNow() - this.setAt) / HALF_LIFE_MS) ** 3);
		return ms < MIN_INTERVAL_MS / 4 ? 0 : ms;
	}

	/** Call this when a request that was sent at `sentAt` was throttled. */
	onThrottled(sentAt: number): void {
		// Requests that are in flight together meet the same limit, so their refusals count as one.
		if (sentAt <= this.setAt) return;
		const longerMs = Math.max(MIN_INTERVAL_MS, this.ms * INCREASE_FACTOR);
		this.initialMs = Math.min(MAX_INTERVAL_MS, longerMs);
		this.setAt = monotonicNow();
	}
}
