import { monotonicNow } from '../async/deadline';

/** A refusal cuts the limit to this share of what was in flight (multiplicative decrease). */
const DECREASE = 0.95;
/** The limit has risen by 1 after this many rounds, by 4 after twice as many. A round is N successes at a limit of N. */
const ROUNDS_PER_RISE = 16;
/** After a refusal, the limit has risen by 1 after this many ms even without a success, by 4 after twice as many. */
const RISE_MS = 150_000;
/** A limit below 1 is a pause before the next call: this many ms, divided by the limit. */
const PAUSE_MS = 2500;

/**
 * How many calls of an account may be in flight at once. There is no limit until a call is refused or fails because too
 * many are in flight.
 *
 * - A refusal cuts the limit. It then rises with the square of the successes and of the time: slowly near the old limit,
 *   and soon far above it if other clients are done. It rises by the same amount in every process that shares the
 *   account, so the processes get similar shares (AIMD, Chiu and Jain 1989).
 * - An overload cuts the limit, too: a call was charged and then failed. From then on, only successes raise the limit.
 * - If nothing else of ours was in flight, other clients have probably taken all places, or the service still counts a
 *   task of ours that has just ended. Then the limit falls below 1 (as in Swift, Kumar et al. 2020), and further each
 *   time the next call meets the same. So the pause after a refusal is 5 s, then 10 s, 20 s, and 40 s from then on. After
 *   an overload, which was charged, it is 40 s, and 320 s from then on.
 */
export class ConcurrencyLimit {
	/** The limit when it was last cut; it rises from there. */
	private base = Infinity;
	/** When the limit was last cut, from `monotonicNow`. */
	private cutAt = 0;
	/** How many rounds there have been since then. */
	private rounds = 0;
	/** After this many ms, the limit has risen by 1 even without a success; Infinity after an overload. */
	private riseMs = RISE_MS;

	/** The limit at this moment. It may be fractional, and less than 1. */
	get current(): number {
		return this.base + this.rootOfRise ** 2;
	}

	/** The square root of what the limit has risen by. */
	private get rootOfRise(): number {
		return this.rounds / ROUNDS_PER_RISE + (monotonicNow() - this.cutAt) / this.riseMs;
	}

	/** The ms until one more call fits beside `inFlight` others: 0 or less if now, Infinity if time alone does not help. */
	delayMs(inFlight: number): number {
		if (this.base < 1 && inFlight === 0) return this.cutAt + PAUSE_MS / this.base - monotonicNow();
		if (inFlight + 1 <= this.current) return 0;
		return (Math.sqrt(inFlight + 1 - this.base) - this.rootOfRise) * this.riseMs;
	}

	/** Call this when a call was accepted; `inFlight` is the number of calls in flight, this call included. */
	onAccepted(inFlight: number): void {
		// One call may be refused before the others that were sent with it are accepted: then the cut was too deep. After
		// an overload, an accepted call proves nothing.
		if (this.riseMs < Infinity) this.base += Math.max(0, inFlight - this.current);
	}

	/** Call this when a call has succeeded that was accepted when `inFlight` calls were in flight, itself included. */
	onSuccess(inFlight: number): void {
		// There is a place for one, so the next call waits for no pause.
		this.base = Math.max(1, this.base);
		if (inFlight > this.current - 1) this.rounds += 1 / this.current;
	}

	/** Call this when a call sent at `sentAt` was refused because too many are in flight, `inFlight` of them ours. */
	onRefused(sentAt: number, inFlight: number): void {
		// Calls that are sent together meet the same limit, so their refusals count as one.
		if (sentAt <= this.cutAt) return;
		this.cutTo(inFlight > 0 ? Math.max(1, DECREASE * inFlight) : this.limitIfAlone(2));
	}

	/** Call this when a call has failed from an overload. `inFlight` others were in flight when it was accepted. */
	onOverload(inFlight: number): void {
		this.cutTo(Math.min(this.current, inFlight || this.limitIfAlone(16)));
		this.riseMs = Infinity;
	}

	/**
	 * What the limit is cut to if nothing else of ours was in flight. After an overload, which is charged, the divisor is
	 * greater.
	 */
	private limitIfAlone(divisor: number): number {
		return Math.min(this.base, Math.max(1 / 8, Math.min(1, this.base)) / divisor);
	}

	private cutTo(limit: number): void {
		this.base = limit;
		this.cutAt = monotonicNow();
		this.rounds = 0;
	}
}
