import { monotonicNow } from '../async/deadline';

/** The cooldown after the first failure, in ms, unless the service asks for a longer one. */
const FIRST_COOLDOWN_MS = 1000;
/** The longest cooldown to which repeated failures lead, in ms. Only the next request can show that the cause is gone. */
const MAX_COOLDOWN_MS = 15_000;
/** A longer `Retry-After` is cut to this many ms, because some services ask for a whole day. */
const MAX_OBEYED_RETRY_AFTER_MS = 60_000;
/** Up to this many random ms are added to a cooldown, so that processes of one account do not send together. */
const MAX_JITTER_MS = 500;
/**
 * How long other requests wait for the answer to a probe at most, in ms: some services answer a create call only when
 * the result is ready. During an outage they wait without a limit.
 */
const PROBE_WAIT_MS = 1500;

/**
 * A circuit breaker (Nygard, “Release It!”). All times are from `monotonicNow`.
 *
 * - Closed: requests go out.
 * - Open: requests have to wait until the cooldown is over.
 * - Half-open, when the cooldown is over: one request goes out first, as a probe. The others wait for its answer.
 */
export class CircuitBreaker {
	/** True during an outage: the service gives no usable answers. */
	isOutage = false;
	/** How often the breaker has opened since it was last closed. */
	consecutiveFailures = 0;
	/** When the breaker last opened; 0 before the first time. */
	openedAt = 0;
	private openUntil = 0;
	/** When the current probe was sent; undefined if no probe is in flight. */
	private probedAt: number | undefined;

	/** A breaker starts closed, or half-open if `isClosed` is false. */
	constructor(private isClosed = true) {}

	/** The ms until the next request may go out: 0 or less if now, Infinity until the end of the probe. */
	get delayMs(): number {
		if (this.isClosed) return 0;
		const cooldownMs = this.openUntil - monotonicNow();
		if (cooldownMs > 0 || this.probedAt === undefined) return cooldownMs;
		return this.isOutage ? Infinity : this.probedAt + PROBE_WAIT_MS - monotonicNow();
	}

	/** Call this when a request goes out. If the breaker is not closed, the request may become the probe. */
	onSent(): void {
		if (!this.isClosed) this.probedAt ??= monotonicNow();
	}

	/**
	 * Call this when a request that was sent at `sentAt` has failed. This opens the breaker. A request from before the
	 * breaker last opened does not open it again, but may lengthen the cooldown.
	 *
	 * - `isOutage` is true if the service gave no usable answer.
	 * - `retryAfterMs` is the least cooldown that the service asks for, in ms (at most MAX_OBEYED_RETRY_AFTER_MS counts). After
	 *   repeated failures it may be too short, because other processes wait for the same time.
	 */
	onFailure(sentAt: number, isOutage: boolean, retryAfterMs?: number): void {
		// Requests that are in flight together mostly fail for the same reason, so their failures count as one.
		if (sentAt > this.openedAt) {
			this.consecutiveFailures++;
			this.openedAt = monotonicNow();
			this.isClosed = false;
			this.probedAt = undefined;
		}
		// An old request may fail after a later one has succeeded. The success has shown that the outage is over.
		if (!this.isClosed) this.isOutage ||= isOutage;
		const backoffMs = FIRST_COOLDOWN_MS * 2 ** (this.consecutiveFailures - 1);
		const askedMs = Math.min(retryAfterMs ?? 0, MAX_OBEYED_RETRY_AFTER_MS);
		const cooldownMs = Math.max(askedMs, Math.min(backoffMs, MAX_COOLDOWN_MS));
		const jitterMs = Math.random() * MAX_JITTER_MS;
		this.openUntil = Math.max(this.openUntil, monotonicNow() + cooldownMs + jitterMs);
	}

	/**
	 * Call this, after `onFailure`, when a request that was sent at `sentAt` was accepted or has ended. `hasAnswered` is
	 * true if it succeeded, or was refused for another reason than rate or load. This closes the breaker. If not, and
	 * the breaker is still half-open, the next request becomes a new probe. A request from before the breaker last
	 * opened changes nothing.
	 */
	onEnd(sentAt: number, hasAnswered: boolean): void {
		if (sentAt <= this.openedAt) return;
		this.probedAt = undefined;
		if (!hasAnswered) return;
		this.isClosed = true;
		this.consecutiveFailures = 0;
		this.isOutage = false;
	}
}
