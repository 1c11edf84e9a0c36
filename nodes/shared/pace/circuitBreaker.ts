import { monotonicNow } from '../async/deadline';

/**
 * The cooldown after the first failure, in ms, unless the service asks for another one. Each further failure in a row
 * doubles it, up to a maximum.
 */
const FIRST_COOLDOWN_MS = 1000;
/** The longest doubled cooldown outside an outage (see `isOutage`), in ms. */
const MAX_COOLDOWN_MS = 30_000;
/** The longest doubled cooldown during an outage, in ms. It is short because nothing announces the recovery. */
const MAX_OUTAGE_COOLDOWN_MS = 10_000;
/** The longest `Retry-After` that is obeyed, in ms. Some services ask for a whole day. */
const MAX_OBEYED_RETRY_AFTER_MS = 60_000;
/** The longest wait of other requests for a probe's answer, in ms. During an outage they wait until the probe ends. */
const PROBE_WAIT_MS = 1500;

/**
 * A circuit breaker (Nygard, “Release It!”). Its caller reads `delayMs` before each request.
 *
 * - Closed: requests go out.
 * - Open: a request has failed. No request goes out until the cooldown is over.
 * - Half-open, after the cooldown or from the start: one request goes out as a probe. The others wait for the answer to
 *   the probe, outside an outage for PROBE_WAIT_MS at most.
 *
 * All times are from `monotonicNow`, in ms.
 */
export class CircuitBreaker {
	/**
	 * True if one of the failures since the breaker was last closed was an outage: the service gave no usable answer.
	 */
	isOutage = false;
	private consecutiveFailures = 0;
	/** When the breaker last opened; 0 before the first time. */
	private openedAt = 0;
	/** When the cooldown ends. */
	private openUntil = 0;
	/** When the probe was sent; undefined if there is none. */
	private probedAt: number | undefined;

	/** `state` is the initial state. If it is half-open, the first request is the probe. */
	constructor(private state: 'closed' | 'open' | 'half-open') {}

	/**
	 * How long the next request has to wait, in ms. 0 or less means that it may go out now. Infinity means that it
	 * waits until the probe has ended.
	 */
	get delayMs(): number {
		if (this.state === 'closed') return 0;
		if (this.state === 'open') return this.openUntil - monotonicNow();
		if (this.probedAt === undefined) return 0;
		return this.isOutage ? Infinity : this.probedAt + PROBE_WAIT_MS - monotonicNow();
	}

	/**
	 * Call this when a request goes out. If the breaker is open, or half-open without a probe, the request becomes the
	 * probe.
	 */
	onSent(): void {
		if (this.state === 'closed') return;
		if (this.state === 'open') this.probedAt = undefined;
		this.state = 'half-open';
		this.probedAt ??= monotonicNow();
	}

	/**
	 * Call this when a request that was sent at `sentAt` got an answer that is no failure. Closes the breaker, unless
	 * the request was sent before the breaker last opened: the answer to such a request says nothing about the present.
	 */
	onSuccess(sentAt: number): void {
		if (sentAt <= this.openedAt) return;
		this.state = 'closed';
		this.consecutiveFailures = 0;
		this.isOutage = false;
	}

	/**
	 * Call this when a request that was sent at `sentAt` has failed. Opens the breaker for `retryAfterMs` (at most
	 * MAX_OBEYED_RETRY_AFTER_MS), or else for a cooldown that doubles with each failure in a row. A random part of
	 * `jitterMs` is added. The failure of a request that was sent before the breaker last opened does not open the
	 * breaker again, but it may lengthen a running cooldown. `isOutage` means that the service gave no usable answer.
	 */
	onFailure(sentAt: number, isOutage: boolean, retryAfterMs?: number, jitterMs = 0): void {
		// Requests that are in flight together mostly fail for one reason, so only the first failure doubles the
		// cooldown.
		if (sentAt > this.openedAt) {
			this.consecutiveFailures++;
			this.openedAt = monotonicNow();
			this.state = 'open';
		}
		// An old request may fail after a later one has succeeded. Then the outage is over already.
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
	 * Call this when a request that was sent at `sentAt` was accepted or has ended in any way. If it was sent after the
	 * breaker last opened, the breaker no longer waits for a probe, and the next request may become one.
	 */
	onEnd(sentAt: number): void {
		if (sentAt > this.openedAt) this.probedAt = undefined;
	}
}
