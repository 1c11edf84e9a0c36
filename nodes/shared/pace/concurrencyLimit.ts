import { monotonicNow } from '../async/deadline';

/** Slow start, first phase: how much is added to the initial limit in total. */
const SLOW_START_RISE = 12;
/** Slow start, first phase: how long the limit takes to rise, in ms. */
const SLOW_START_RISE_MS = 1500;
/** Slow start, second phase: the limit is this multiple of the calls that have proved healthy. */
const SLOW_START_FACTOR = 4;
/** A refusal cuts the limit to this share of the calls in flight. The rest goes to other clients of the account. */
const BACKOFF_RATIO = 0.9;
/** How long the limit takes to double after it is back at `wMax`, on average, as a multiple of one call's duration. */
const DOUBLING_ROUNDS = 10;
/** The longest doubling time, in ms. */
const MAX_DOUBLING_MS = 150_000;
/**
 * The shortest doubling time, in ms, after a call was refused although none was in flight. Then other clients of
 * the account occupy the whole limit, and the next call should try again soon.
 */
const MIN_IDLE_DOUBLING_MS = 4000;
/** Each further refusal of that kind multiplies the doubling time by this factor. */
const IDLE_DOUBLING_INCREASE = 16;
/** Each accepted call divides the doubling time for refusals of that kind by this factor. */
const IDLE_DOUBLING_DECREASE = 1.2;
/** CUBIC's K as a share of the doubling time: how long after a refusal the limit is back at `wMax`. */
const CUBIC_K = Math.cbrt(1 - BACKOFF_RATIO);
/**
 * After an overload the limit rises by 1 only after this many rounds of success at the ceiling. Each attempt above
 * the ceiling may cost money.
 */
const ROUNDS_PER_PROBE = 25;

/**
 * How many calls may be in flight at once.
 *
 * - Before the first refusal the limit grows by slow start (RFC 5681).
 * - A refusal cuts it (multiplicative decrease). It then grows with the cube of the time (CUBIC, RFC 9438): slowly
 *   near the number that was refused, faster beyond it. Growth by time instead of success gives processes that
 *   share an account equal shares.
 * - An overload is a call that was accepted, charged, and then failed because too many were in flight. It sets a
 *   ceiling for the limit, because a further attempt may cost money.
 */
export class ConcurrencyLimit {
	/** CUBIC's W_max: how many calls were in flight at the last refusal; undefined during slow start. */
	private wMax: number | undefined;
	/** Time of the last refusal, or of construction if nothing was refused yet, from `monotonicNow`. */
	private epochStart = monotonicNow();
	/** The longest doubling time after the last refusal, in ms. `roundMs` may shorten it. */
	private maxDoublingMs = 0;
	/** What `maxDoublingMs` becomes if a call is refused although none is in flight. */
	private idleDoublingMs = MIN_IDLE_DOUBLING_MS;
	/** A random factor of the doubling time. It keeps processes that share an account from growing at the same moments. */
	private jitter = 1;
	/** How long a call takes, smoothed like a round-trip time (RFC 6298), in ms; 0 until one has succeeded. */
	private roundMs = 0;
	/** How many calls have proved healthy. */
	private healthyCount = 0;
	/** The highest limit at which no overload was seen; Infinity before the first overload. */
	private ceiling = Infinity;

	/** `start` is the initial limit; `max` is the highest limit ever. Without them nothing is limited at first. */
	constructor(
		private readonly start = Infinity,
		private readonly max = Infinity,
	) {}

	/** The limit at this moment. It may be fractional. */
	get current(): number {
		const elapsedMs = monotonicNow() - this.epochStart;
		const cubicTime = elapsedMs / this.doublingMs - CUBIC_K;
		const startLimit = this.start + SLOW_START_RISE * Math.min(1, elapsedMs / SLOW_START_RISE_MS);
		const slowStart = Math.max(startLimit, SLOW_START_FACTOR * this.healthyCount);
		// The account has accepted a call of ours before, so one slot is ours as soon as that call ends.
		const minLimit = (this.wMax ?? 0) < 1 ? 0 : 1;
		const limit = this.wMax === undefined ? slowStart : this.wMax * (1 + cubicTime ** 3);
		return Math.min(this.max, this.ceiling, Math.max(minLimit, limit));
	}

	/** The highest number of calls in flight that should cause no overload; Infinity before the first overload. */
	get safeInFlight(): number {
		return Math.floor(this.ceiling);
	}

	/** How long the limit takes to double after it is back at `wMax`, in ms. Short calls free their slots sooner. */
	private get doublingMs(): number {
		return this.jitter * Math.min(this.maxDoublingMs, DOUBLING_ROUNDS * (this.roundMs || Infinity));
	}

	/**
	 * Milliseconds until one more call fits into the limit, beside `inFlight` others. 0: it fits now. Infinity: it fits
	 * only after other calls have ended or succeeded.
	 */
	delayMs(inFlight: number): number {
		const next = inFlight + 1;
		if (next <= this.current) return 0;
		if (next > Math.min(this.max, this.ceiling)) return Infinity;
		const riseFraction = (next - this.start) / SLOW_START_RISE;
		const slowStartMs = riseFraction <= 1 ? riseFraction * SLOW_START_RISE_MS : Infinity;
		const reachedAfterMs =
			this.wMax === undefined
				? slowStartMs
				: this.doublingMs * (CUBIC_K + Math.cbrt(next / this.wMax - 1));
		return Math.max(1, this.epochStart + reachedAfterMs - monotonicNow());
	}

	/**
	 * Call this when a call was accepted; `inFlight` includes it. If that exceeds the limit, the call was sent
	 * before another was refused, so the limit was cut too far.
	 */
	onAccepted(inFlight: number): void {
		this.idleDoublingMs = Math.max(
			MIN_IDLE_DOUBLING_MS,
			this.idleDoublingMs / IDLE_DOUBLING_DECREASE,
		);
		if (this.wMax !== undefined && inFlight > this.current) this.wMax = inFlight;
	}

	/** Call this when a call has proved healthy: it succeeded, or got past the point where overloads fail. */
	onHealthy(): void {
		this.healthyCount++;
	}

	/**
	 * Call this when a call has succeeded, `durationMs` after it was accepted. `inFlight` is how many calls were in
	 * flight when it was accepted, itself included.
	 */
	onSuccess(inFlight: number, durationMs: number): void {
		this.roundMs = this.roundMs ? (7 * this.roundMs + durationMs) / 8 : durationMs;
		if (inFlight > this.ceiling - 1) this.ceiling += 1 / (ROUNDS_PER_PROBE * this.ceiling);
	}

	/**
	 * Call this when a call was refused because `inFlight` others were in flight. If that is 0, calls of other clients
	 * occupy the account.
	 */
	onRefused(inFlight: number): void {
		this.wMax = Math.max(0.5, inFlight);
		this.epochStart = monotonicNow();
		this.jitter = 0.75 + Math.random() / 2;
		this.maxDoublingMs = inFlight > 0 ? MAX_DOUBLING_MS : this.idleDoublingMs;
		if (inFlight === 0)
			this.idleDoublingMs = Math.min(MAX_DOUBLING_MS, IDLE_DOUBLING_INCREASE * this.idleDoublingMs);
	}

	/** Call this when a call was accepted beside `inFlight` others, charged, and failed because of overload. */
	onOverload(inFlight: number): void {
		this.ceiling = Math.min(this.ceiling, Math.max(1, inFlight));
	}
}
