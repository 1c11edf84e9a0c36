import { monotonicNow } from '../async/deadline';

/**
 * The cooldown after the first failure, in ms, unless the service asks for another one. Each further failure in a row
 * doubles it.
 */
const FIRST_COOLDOWN_MS = 1000;
/** The longest doubled cooldown outside an outage (see `isOutage`), in ms. */
const MAX_COOLDOWN_MS = 30_000;
/** The longest doubled cooldown during an outage, in ms. It is short because nothing announces the recovery. */
const MAX_OUTAGE_COOLDOWN_MS = 10_000;
/** The longest `Retry-After` that is obeyed, in ms. Some services ask for a whole day. */
const MAX_OBEYED_RETRY_AFTER_MS = 60_000;
/** How long other requests wait for a probe's answer, in ms. During an outage they wait until the probe ends. */
const PROBE_WAIT_MS = 1500;

/**
 * A circuit breaker (Nygard, “Release It!”). Its caller reads `delayMs` before each request.
 *
 * - Closed: requests go out.
 * - Open: a request has failed. No request goes out until the cooldown is over.
 * - Half-open: the cooldown is over. One request goes out as a probe. The others wait for its answer, outside an outage
 *   for PROBE_WAIT_MS at most.
 *
 * All times are from `monotonicNow`, in ms.
 */
export class CircuitBreaker {
	/** True if one of the failures since the breaker was last closed was an outage: the service gave no usable answer. */
	isOutage = false;
	private consecutiveFailures = 0;
	/** When the last failure opened the breaker. */
	private openedAt = 0;
	/** When the cooldown is over. */
	private openUntil = 0;
	/** When the probe was sent; undefined if there is none. */
	private probedAt: number | undefined;

	/** `state` is the initial state. If it is half-open, the first request is the probe. */
	constructor(private state: 'closed' | 'open' | 'half-open') {}

	/**
	 * How long the next request has to wait, in ms. 0 or less means that it may go out now. Infinity means that it waits
	 * until the probe has ended.
	 */
	get delayMs(): number {
		if (this.state === 'closed') return 0;
		if (this.state === 'open') return this.openUntil - monotonicNow();
		if (this.probedAt === undefined) return 0;
		return this.isOutage ? Infinity : this.probedAt + PROBE_WAIT_MS - monotonicNow();
	}

	/**
	 * Call this when a request goes out. Unless the breaker is closed or is waiting for a probe, the request becomes the
	 * probe.
	 */
	onSent(): void {
		if (this.state === 'closed') return;
		if (this.state === 'open') this.probedAt = undefined;
		this.state = 'half-open';
		this.probedAt ??= monotonicNow();
	}

	/**
	 * Call this when a request that was sent at `sentAt` got an answer that is no failure. It closes the breaker. If the
	 * request was sent before the breaker last opened, this does nothing, because such an answer says nothing about the
	 * present.
	 */
	onSuccess(sentAt: number): void {
		if (sentAt <= this.openedAt) return;
		this.state = 'closed';
		this.consecutiveFailures = 0;
		this.isOutage = false;
	}

	/**
	 * Call this when a request that was sent at `sentAt` has failed. It opens the breaker for `retryAfterMs` (at most
	 * MAX_OBEYED_RETRY_AFTER_MS), or else for a cooldown that doubles with each failure in a row. A random part of
	 * `jitterMs` is added. If the request was sent before the breaker last opened, it does not open the breaker again.
	 * A running cooldown is then not doubled, but it may become longer. `isOutage` means that the service gave no
	 * usable answer.
	 */
	onFailure(sentAt: number, isOutage: boolean, retryAfterMs?: number, jitterMs = 0): void {
		// Requests in flight at the same time fail for the same reason, so only the first failure doubles the cooldown.
		if (sentAt > this.openedAt) {
			this.consecutiveFailures++;
			this.openedAt = monotonicNow();
			this.state = 'open';
		}
		// An old request may fail after a later one has succeeded: then the outage is over.
		if (this.state !== 'closed') this.isOutage ||= isOutage;
		const maxCooldownMs = this.isOutage ? MAX_OUTAGE_COOLDOWN_MS : MAX_COOLDOWN_MS;
		const backOffMs = Math.min(
			maxCooldownMs,
			FIRST_COOLDOWN_MS * 2 ** (this.consecutiveFailures - 1),
		);
		const cooldownMs = Math.min(retryAfterMs ?? backOffMs, MAX_OBEYED_RETRY_AFTER_MS);
		const newOpenUntil = monotonicNow() + cooldownMs + Math.random() * jitterMs;
		this.openUntil = Math.max(this.openUntil, newOpenUntil);
	}

	/**
	 * Call this when a request that was sent at `sentAt` has ended in any way. If it was sent after the breaker last
	 * opened, the breaker waits for its probe no longer, and the next request may become the probe.
	 */
	onEnd(sentAt: number): void {
		if (sentAt > this.openedAt) this.probedAt = undefined;
	}
}
