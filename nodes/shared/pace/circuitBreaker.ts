import { monotonicNow } from '../async/deadline';

/** The cooldown after the first failure, in ms, unless the service asks for another one. */
const FIRST_COOLDOWN_MS = 1000;
/** The longest cooldown to which repeated failures lead, in ms, unless there is an outage (see `isOutage`). */
const MAX_COOLDOWN_MS = 30_000;
/**
 * The longest cooldown to which repeated failures lead during an outage, in ms. It is short because only the next
 * request can show that the service is back.
 */
const MAX_OUTAGE_COOLDOWN_MS = 10_000;
/** A longer `Retry-After` is cut to this many ms, because some services ask for a whole day. */
const MAX_OBEYED_RETRY_AFTER_MS = 60_000;
/**
 * How long other requests wait for the answer to a probe at most, in ms. During an outage they wait without a limit.
 */
const PROBE_WAIT_MS = 1500;

/**
 * A circuit breaker (Nygard, “Release It!”). All times are from `monotonicNow`.
 *
 * - Closed: requests go out.
 * - Open: requests have to wait until the cooldown is over.
 * - Half-open: one request goes out first, as a probe. The others wait for its answer.
 */
export class CircuitBreaker {
	/** True during an outage: the service gives no usable answers. */
	isOutage = false;
	private consecutiveFailures = 0;
	/** When the breaker last opened; 0 before the first time. */
	private openedAt = 0;
	private openUntil = 0;
	/** When the current probe was sent; undefined if no probe is in flight. */
	private probedAt: number | undefined;

	/** `state` is the state in which the breaker starts. */
	constructor(private state: 'closed' | 'open' | 'half-open') {}

	/**
	 * How long the next request has to wait, in ms: 0 or less if it may go out now, Infinity if it waits for the end of
	 * the probe.
	 */
	get delayMs(): number {
		if (this.state === 'closed') return 0;
		if (this.state === 'open') return this.openUntil - monotonicNow();
		if (this.probedAt === undefined) return 0;
		return this.isOutage ? Infinity : this.probedAt + PROBE_WAIT_MS - monotonicNow();
	}

	/** Returns true if the breaker has opened after `time`. */
	hasOpenedSince(time: number): boolean {
		return this.openedAt > time;
	}

	/** Call this when a request goes out. If the breaker is not closed, the request may become the probe. */
	onSent(): void {
		if (this.state === 'closed') return;
		if (this.state === 'open') this.probedAt = undefined;
		this.state = 'half-open';
		this.probedAt ??= monotonicNow();
	}

	/**
	 * Call this when a request that was sent at `sentAt` succeeded, or was refused for another reason than rate or
	 * load. This closes the breaker, unless the request was sent before the breaker last opened.
	 */
	onSuccess(sentAt: number): void {
		if (sentAt <= this.openedAt) return;
		this.state = 'closed';
		this.consecutiveFailures = 0;
		this.isOutage = false;
	}

	/**
	 * Call this when a request that was sent at `sentAt` has failed. This opens the breaker. A request from before the
	 * breaker last opened does not open it again, but may lengthen the cooldown.
	 *
	 * - `isOutage` is true if the service gave no usable answer.
	 * - `retryAfterMs` is the cooldown that the service asks for, in ms.
	 * - A random time of at most `maxJitterMs` is added to the cooldown.
	 */
	onFailure(sentAt: number, isOutage: boolean, retryAfterMs?: number, maxJitterMs = 0): void {
		// Requests that are in flight together mostly fail for the same reason, so their failures count as one.
		if (sentAt > this.openedAt) {
			this.consecutiveFailures++;
			this.openedAt = monotonicNow();
			this.state = 'open';
		}
		// An old request may fail after a later one has succeeded. The success has shown that the outage is over.
		if (this.state !== 'closed') this.isOutage ||= isOutage;
		const maxCooldownMs = this.isOutage ? MAX_OUTAGE_COOLDOWN_MS : MAX_COOLDOWN_MS;
		const backoffMs = Math.min(
			maxCooldownMs,
			FIRST_COOLDOWN_MS * 2 ** (this.consecutiveFailures - 1),
		);
		const cooldownMs = Math.min(retryAfterMs ?? backoffMs, MAX_OBEYED_RETRY_AFTER_MS);
		const newOpenUntil = monotonicNow() + cooldownMs + Math.random() * maxJitterMs;
		this.openUntil = Math.max(this.openUntil, newOpenUntil);
	}

	/**
	 * Call this after `onSuccess` or `onFailure`, when a request that was sent at `sentAt` was accepted or has ended.
	 * If the breaker is still half-open, the next request becomes a new probe.
	 */
	onEnd(sentAt: number): void {
		if (sentAt > this.openedAt) this.probedAt = undefined;
	}
}
