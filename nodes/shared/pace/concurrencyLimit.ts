import { monotonicNow } from '../async/deadline';

/** Slow start by time: how much the limit rises above the initial limit in total. */
const SLOW_START_RISE = 12;
/** Slow start by time: how long the limit takes to rise by SLOW_START_RISE, in ms. */
const SLOW_START_RISE_MS = 1000;
/** Slow start by success: the limit is this many times the number of healthy calls. */
const SLOW_START_FACTOR = 4;
/** A refusal cuts the limit to this share of `wMax` (CUBIC's β, RFC 9438). */
const BACKOFF_RATIO = 0.9;
/**
 * Doubling the limit takes this many times as long as one call takes (see `doublingMs`), but at most `doublingCapMs`.
 */
const CALL_DURATIONS_PER_DOUBLING = 10;
/** The longest time that doubling the limit takes, in ms, before the jitter is applied. */
const MAX_DOUBLING_MS = 150_000;
/**
 * The initial and lowest cap on the doubling time after a call was refused while none of our calls was in flight, in
 * ms. It is low, because other clients caused the refusal, and they may soon be done.
 */
const MIN_IDLE_DOUBLING_CAP_MS = 4000;
/**
 * Each refusal while no call of ours is in flight multiplies `idleDoublingCapMs` by this factor, up to MAX_DOUBLING_MS.
 */
const IDLE_CAP_INCREASE = 16;
/** Each accepted call divides `idleDoublingCapMs` by this factor, down to MIN_IDLE_DOUBLING_CAP_MS. */
const IDLE_CAP_DECREASE = 1.2;
/** CUBIC's K as a share of the doubling time: how long after a refusal the limit is back at `wMax`. */
const CUBIC_K = Math.cbrt(1 - BACKOFF_RATIO);
/**
 * The ceiling rises by 1 in about this many rounds, each of N successes at a ceiling of N. It rises slowly because each
 * call too many may be charged and then fail.
 */
const ROUNDS_PER_CEILING_RISE = 25;

/**
 * How many calls may be in flight at once.
 *
 * - Until the first refusal (a call is throttled because too many are in flight), the limit grows from `initialLimit`
 *   by slow start (RFC 5681). Without `initialLimit`, there is no limit until then.
 * - A refusal cuts the limit, which then grows with the cube of the time (CUBIC, RFC 9438). Growth by time helps
 *   processes that share an account to get similar shares.
 * - An overload (a call was charged, but failed because too many were in flight) sets a ceiling for the limit.
 */
export class ConcurrencyLimit {
	/**
	 * CUBIC's W_max: how many of our calls were in flight at the last refusal, but at least 0.5. If more calls are
	 * accepted later, it rises to their number. Undefined during slow start.
	 */
	private wMax: number | undefined;
	/** When a call was last refused, from `monotonicNow`; if none was refused yet, when this object was created. */
	private epochStart = monotonicNow();
	/**
	 * The longest time that doubling the limit takes, in ms, before the jitter is applied. Each refusal sets it anew.
	 */
	private doublingCapMs = 0;
	/** The value that `doublingCapMs` gets if a call is refused while no call of ours is in flight, in ms. */
	private idleDoublingCapMs = MIN_IDLE_DOUBLING_CAP_MS;
	/**
	 * A random factor of the doubling time. It keeps the limits of processes that share an account from rising
	 * together.
	 */
	private jitterFactor = 1;
	/** How long a call takes, smoothed like a round-trip time (RFC 6298), in ms; 0 until one has succeeded. */
	private averageCallMs = 0;
	/** How many calls have proved healthy (see `onHealthy`). */
	private healthyCount = 0;
	/** The cap that overloads have put on the limit; Infinity before the first overload. */
	private ceiling = Infinity;

	/** Slow start begins at `initialLimit`. The limit never exceeds `maxLimit`. */
	constructor(
		private readonly initialLimit = Infinity,
		private readonly maxLimit = Infinity,
	) {}

	/** The limit at this moment. It may be fractional. */
	get current(): number {
		const elapsedMs = monotonicNow() - this.epochStart;
		const cubicTime = elapsedMs / this.doublingMs - CUBIC_K;
		const timeBasedLimit =
			this.initialLimit + SLOW_START_RISE * Math.min(1, elapsedMs / SLOW_START_RISE_MS);
		const slowStartLimit = Math.max(timeBasedLimit, SLOW_START_FACTOR * this.healthyCount);
		// A `wMax` below 1 means that other clients may occupy the whole account, so the limit may be below 1 as well.
		const minLimit = (this.wMax ?? 0) < 1 ? 0 : 1;
		const limit = this.wMax === undefined ? slowStartLimit : this.wMax * (1 + cubicTime ** 3);
		return Math.min(this.maxLimit, this.ceiling, Math.max(minLimit, limit));
	}

	/** The highest number of calls in flight that should cause no overload; Infinity before the first overload. */
	get safeInFlight(): number {
		return Math.floor(this.ceiling);
	}

	/**
	 * How long the limit takes to double after it is back at `wMax`, in ms. Short calls make this time shorter, because
	 * their slots become free sooner.
	 */
	private get doublingMs(): number {
		return (
			this.jitterFactor *
			Math.min(this.doublingCapMs, CALL_DURATIONS_PER_DOUBLING * (this.averageCallMs || Infinity))
		);
	}

	/**
	 * How long it takes until one more call fits into the limit beside `inFlight` others, in ms: 0 if it fits now,
	 * Infinity if time alone does not help.
	 */
	delayMs(inFlight: number): number {
		const neededLimit = inFlight + 1;
		if (neededLimit <= this.current) return 0;
		if (neededLimit > Math.min(this.maxLimit, this.ceiling)) return Infinity;
		const riseFraction = (neededLimit - this.initialLimit) / SLOW_START_RISE;
		const slowStartMs = riseFraction <= 1 ? riseFraction * SLOW_START_RISE_MS : Infinity;
		const reachedAfterMs =
			this.wMax === undefined
				? slowStartMs
				: this.doublingMs * (CUBIC_K + Math.cbrt(neededLimit / this.wMax - 1));
		return Math.max(1, this.epochStart + reachedAfterMs - monotonicNow());
	}

	/** Call this when a call was accepted; `inFlight` is the number of calls in flight, this call included. */
	onAccepted(inFlight: number): void {
		this.idleDoublingCapMs = Math.max(
			MIN_IDLE_DOUBLING_CAP_MS,
			this.idleDoublingCapMs / IDLE_CAP_DECREASE,
		);
		if (this.wMax !== undefined && inFlight > this.current)
			this.wMax = Math.max(this.wMax, inFlight);
	}

	/**
	 * Call this when a call has proved healthy: it succeeded, or it has got further than calls that fail because of
	 * overload.
	 */
	onHealthy(): void {
		this.healthyCount++;
	}

	/**
	 * Call this when a call has succeeded, `durationMs` after it was accepted. `inFlight` is how many calls were in
	 * flight when it was accepted, itself included.
	 */
	onSuccess(inFlight: number, durationMs: number): void {
		this.averageCallMs = this.averageCallMs
			? (7 * this.averageCallMs + durationMs) / 8
			: durationMs;
		if (inFlight > this.ceiling - 1) this.ceiling += 1 / (ROUNDS_PER_CEILING_RISE * this.ceiling);
	}

	/** Call this when a call was refused because too many are in flight; `inFlight` of them are ours. */
	onRefused(inFlight: number): void {
		this.wMax = Math.max(0.5, inFlight);
		this.epochStart = monotonicNow();
		this.jitterFactor = 0.75 + Math.random() / 2;
		this.doublingCapMs = inFlight > 0 ? MAX_DOUBLING_MS : this.idleDoublingCapMs;
		if (inFlight === 0)
			this.idleDoublingCapMs = Math.min(
				MAX_DOUBLING_MS,
				IDLE_CAP_INCREASE * this.idleDoublingCapMs,
			);
	}

	/**
	 * Call this when a call has failed because of an overload; `inFlight` other calls were in flight when it was
	 * accepted.
	 */
	onOverload(inFlight: number): void {
		this.ceiling = Math.min(this.ceiling, Math.max(1, inFlight));
	}
}
