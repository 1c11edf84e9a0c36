import { monotonicNow } from '../async/deadline';

/** Slow start: the time in which the limit rises by 1 at first, in ms. It rises by 12 in a second. */
const SLOW_START_RISE_MS = 290;
/** Slow start: the limit rises no higher than this above `initialLimit` before calls have proved healthy. */
const SLOW_START_RISE = 12;
/** Slow start: the limit is at least this many times the number of healthy calls. */
const SLOW_START_FACTOR = 4;
/** A refusal cuts the limit to this share of what was in flight (multiplicative decrease). */
const DECREASE = 0.95;
/**
 * After a refusal, the limit rises by 1 in this many times as long as one call takes, by 4 in twice that time, and by 9
 * in three times.
 */
const CALL_DURATIONS_PER_RISE = 11;
/** The longest time in which the limit rises by 1, in ms, before the jitter is applied. */
const MAX_RISE_MS = 150_000;
/**
 * The time in which the limit rises by 1 after a first refusal while none of our calls was in flight, in ms. It is
 * short, because other clients caused the refusal, and they may soon be done.
 */
const IDLE_RISE_MS = 10_000;
/** Each further refusal while none of our calls was in flight makes that time this many times longer. */
const IDLE_INCREASE = 4;
/**
 * The ceiling rises by 1 in about this many rounds, each of N successes at a ceiling of N. It rises slowly because each
 * call too many may be charged and then fail.
 */
const ROUNDS_PER_CEILING_RISE = 25;

/**
 * How many calls may be in flight at once.
 *
 * - Until the first refusal (a call is throttled because too many are in flight), the limit rises from `initialLimit`
 *   (slow start, RFC 5681). Without `initialLimit`, there is no limit until then.
 * - A refusal cuts the limit, which rises again with the square of the time: slowly near the old limit, and soon far above
 *   it if other clients are done. It rises by the same amount in every process that shares the account, so the
 *   processes get similar shares (AIMD, Chiu and Jain 1989).
 * - An overload (a call was charged, but failed because too many were in flight) sets a ceiling for the limit.
 */
export class ConcurrencyLimit {
	/** The limit at `setAt`; it rises from there. */
	private base: number;
	/** When a call was last refused, from `monotonicNow`; if none was refused yet, when this object was created. */
	private setAt = monotonicNow();
	private isSlowStart = true;
	/** How often a call was refused while none of ours was in flight, since a call was accepted. */
	private idleRefusals = 0;
	/** A random factor of the rise time. It keeps processes that share an account from rising together. */
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
	) {
		this.base = initialLimit;
	}

	/** The limit at this moment. It may be fractional. */
	get current(): number {
		const risenLimit = this.base + ((monotonicNow() - this.setAt) / this.riseMs) ** 2;
		return Math.min(this.max, Math.max(risenLimit, this.healthyLimit));
	}

	/** The highest number of calls in flight that should cause no overload; Infinity before the first overload. */
	get safeInFlight(): number {
		return Math.floor(this.ceiling);
	}

	/** What the limit does not exceed, however much time passes. */
	private get max(): number {
		const slowStartLimit = Math.max(this.initialLimit + SLOW_START_RISE, this.healthyLimit);
		return Math.min(this.maxLimit, this.ceiling, this.isSlowStart ? slowStartLimit : Infinity);
	}

	/** What the limit is at least during slow start, because so many calls have proved healthy. */
	private get healthyLimit(): number {
		return this.isSlowStart ? SLOW_START_FACTOR * this.healthyCount : 0;
	}

	/** How long the limit takes to rise by 1 from `base`, in ms. */
	private get riseMs(): number {
		if (this.isSlowStart) return SLOW_START_RISE_MS;
		const idleMs = this.idleRefusals
			? IDLE_RISE_MS * IDLE_INCREASE ** (this.idleRefusals - 1)
			: Infinity;
		const callsMs = CALL_DURATIONS_PER_RISE * (this.averageCallMs || Infinity);
		return this.jitterFactor * Math.min(MAX_RISE_MS, idleMs, callsMs);
	}

	/**
	 * How long it takes until one more call fits into the limit beside `inFlight` others, in ms: 0 if it fits now,
	 * Infinity if time alone does not help.
	 */
	delayMs(inFlight: number): number {
		const neededLimit = inFlight + 1;
		if (neededLimit <= this.current) return 0;
		if (neededLimit > this.max) return Infinity;
		const riseMs = Math.sqrt(neededLimit - this.base) * this.riseMs;
		return Math.max(1, this.setAt + riseMs - monotonicNow());
	}

	/** Call this when a call was accepted; `inFlight` is the number of calls in flight, this call included. */
	onAccepted(inFlight: number): void {
		this.idleRefusals = 0;
		this.base += Math.max(0, Math.min(inFlight, this.max) - this.current);
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
		this.isSlowStart = false;
		// If one of ours was in flight, one may always be.
		this.base = Math.max(Math.min(1, inFlight), DECREASE * inFlight);
		this.setAt = monotonicNow();
		this.jitterFactor = 0.75 + Math.random() / 2;
		this.idleRefusals = inFlight > 0 ? 0 : this.idleRefusals + 1;
	}

	/**
	 * Call this when a call has failed because of an overload; `inFlight` other calls were in flight when it was
	 * accepted.
	 */
	onOverload(inFlight: number): void {
		this.ceiling = Math.min(this.ceiling, Math.max(1, inFlight));
	}
}
