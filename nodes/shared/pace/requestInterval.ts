import { monotonicNow } from '../async/deadline';

/** The shortest interval other than 0, in ms. */
const MIN_INTERVAL_MS = 50;
const MAX_INTERVAL_MS = 30_000;
/**
 * The nth throttled request in a row multiplies the interval by the nth power of this number (exponential back-off).
 * The interval stays within MIN_INTERVAL_MS and MAX_INTERVAL_MS.
 */
const INCREASE_FACTOR = 1.2;
/** This many ms after it was set, the interval has shrunk to half, but not below MIN_INTERVAL_MS. */
const HALF_LIFE_MS = 60_000;
/**
 * With at least this many accepted requests per throttled one, the service probably counts requests over a long window
 * such as a minute, and allows bursts.
 */
const LONG_WINDOW_RATIO = 40;
/** While the interval is 0, the counts of requests start anew after this many ms without an accepted request. */
const IDLE_MS = 10_000;

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
	/**
	 * Since when `acceptedCount` and `throttledCount` count, from `monotonicNow`. The next estimate of the interval
	 * uses both.
	 */
	private countingSince = monotonicNow();
	private lastAcceptedAt = 0;
	private acceptedCount = 0;
	private throttledCount = 0;
	/** How many requests have been throttled since one was accepted. */
	private throttledInARow = 0;

	/** The interval at this moment, in ms. */
	get ms(): number {
		const ms = this.initialMs * 2 ** -(((monotonicNow() - this.setAt) / HALF_LIFE_MS) ** 3);
		return ms < MIN_INTERVAL_MS / 4 ? 0 : Math.max(MIN_INTERVAL_MS, ms);
	}

	/** Call this when a request was throttled. If several that were in flight together are throttled, call it once. */
	onThrottled(): void {
		this.throttledCount++;
		this.set(this.ms * INCREASE_FACTOR ** ++this.throttledInARow);
	}

	/** Call this when a request that was sent after the last throttled answer has succeeded or was rejected. */
	onAccepted(): void {
		this.throttledInARow = 0;
		// If hours with few requests were counted, the average time per request would be far too long.
		const isIdle = this.ms === 0 && monotonicNow() - this.lastAcceptedAt > IDLE_MS;
		if (isIdle) this.restartCounting();
		this.lastAcceptedAt = monotonicNow();
		if (this.throttledCount > 0 && this.initialMs <= MIN_INTERVAL_MS) this.setToEstimate();
		this.acceptedCount++;
	}

	/** Sets the interval to the average time per accepted request, unless the service seems to allow bursts. */
	private setToEstimate(): void {
		const averageMs = (monotonicNow() - this.countingSince) / Math.max(1, this.acceptedCount);
		this.set(
			this.acceptedCount < this.throttledCount * LONG_WINDOW_RATIO ? averageMs : MIN_INTERVAL_MS,
		);
		this.restartCounting();
	}

	private restartCounting(): void {
		this.countingSince = monotonicNow();
		this.acceptedCount = this.throttledCount = 0;
	}

	/** Sets the interval, within MIN_INTERVAL_MS and MAX_INTERVAL_MS. */
	private set(ms: number): void {
		this.initialMs = Math.min(MAX_INTERVAL_MS, Math.max(MIN_INTERVAL_MS, ms));
		this.setAt = monotonicNow();
	}
}
