import { monotonicNow } from '../async/deadline';

/** The cooldown after the first failure, in ms, unless the service asks for another one. */
const FIRST_COOLDOWN_MS = 1000;
/** The longest cooldown to which repeated failures lead, in ms, unless there is an outage (see `isOutage`). */
const MAX_COOLDOWN_MS = 30_000;
/**
 * The longest cooldown to which repeated failures lead during an outage, in ms. It is short because nothing announces
 * the recovery.
 */
const MAX_OUTAGE_COOLDOWN_MS = 10_000;
/** A longer `Retry-After` is cut to this many ms, because some services ask for a whole day. */
const MAX_OBEYED_RETRY_AFTER_MS = 60_000;
/** How long other requests wait for a probe's answer at most, in ms, unless there is an outage. */
const PROBE_WAIT_MS = 1500;

/**
 * A circuit breaker (Nygard, “Release It!”). Times are from `monotonicNow`.
 *
 * - Closed: requests go out.
 * - Open: requests have to wait until the cooldown is over.
 * - Half-open: one request goes out first, as a probe.
 */
export class CircuitBreaker {
	/** True during an outage: the service has given no usable answer. */
	isOutage = false;
	private consecutiveFailures = 0;
	/** When the breaker last opened; 0 before the first time. */
	private openedAt = 0;
	private openUntil = 0;
	/** When the probe was sent; undefined if there is none. */
	private probedAt: number | undefined;

	/** `state` is the initial state. */
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

	/** Call this when a request goes out; it may become the probe. */
	onSent(): void {
		if (this.state === 'closed') return;
		if (this.state === 'open') this.probedAt = undefined;
		this.state = 'half-open';
		this.probedAt ??= monotonicNow();
	}

	/**
	 * Call this when a request that was sent at `sentAt` got an answer that is no failure. The answer to a request from
	 * before the breaker last opened is ignored.
	 */
	onSuccess(sentAt: number): void {
		if (sentAt <= this.openedAt) return;
		this.state = 'closed';
		this.consecutiveFailures = 0;
		this.isOutage = false;
	}

	/**
	 * Call this when a request that was sent at `sentAt` has failed. `isOutage` is true if the service gave no usable
	 * answer. The cooldown is lengthened by a random time of at most `jitterMs`.
	 */
	onFailure(sentAt: number, isOutage: boolean, retryAfterMs?: number, jitterMs = 0): void {
		// Requests in flight together mostly fail for one reason, so their failures count as one.
		if (sentAt > this.openedAt) {
			this.consecutiveFailures++;
			this.openedAt = monotonicNow();
			this.state = 'open';
		}
		// An old request may fail after a later one has succeeded. Then the outage is over already.
		if (this.state !== 'closed') this.isOutage ||= isOutage;
		const maxCooldownMs = this.isOutage ? MAX_OUTAGE_COOLDOWN_MS : MAX_COOLDOWN_MS;
		const backoffMs = Math.min(
			maxCooldownMs,
			FIRST_COOLDOWN_MS * 2 ** (this.consecutiveFailures - 1),
		);
		const cooldownMs = Math.min(retryAfterMs ?? backoffMs, MAX_OBEYED_RETRY_AFTER_MS);
		const newOpenUntil = monotonicNow() + cooldownMs + Math.random() * jitterMs;
		this.openUntil = Math.max(this.openUntil, newOpenUntil);
	}

	/**
	 * Call this when a request that was sent at `sentAt` was accepted or has ended. The next request may then become a
	 * probe.
	 */
	onEnd(sentAt: number): void {
		if (sentAt > this.openedAt) this.probedAt = undefined;
	}
}
