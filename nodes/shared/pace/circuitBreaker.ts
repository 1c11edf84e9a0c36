import { monotonicNow } from '../async/deadline';

/** The cooldown after the first failure, in ms. Each further failure in a row doubles it. */
const FIRST_COOLDOWN_MS = 1000;
/** The longest doubled cooldown while the service still answers, in ms. */
const MAX_COOLDOWN_MS = 30_000;
/** The longest doubled cooldown during an outage, in ms. It is short because nothing announces the recovery. */
const MAX_OUTAGE_COOLDOWN_MS = 10_000;
/** The longest `Retry-After` that is obeyed, in ms. Some services ask for a whole day. */
const MAX_OBEYED_RETRY_AFTER_MS = 60_000;
/** How long other requests wait for a probe's answer, in ms. During an outage they wait until the probe ends. */
const PROBE_WAIT_MS = 1500;

/**
 * A circuit breaker (Nygard, “Release It!”). Its caller asks `delayMs` before each request.
 *
 * - Closed: requests go out.
 * - Open: a request has failed. No request goes out until the cooldown is over.
 * - Half-open: the cooldown is over. One request goes out as a probe, and the others wait for its answer.
 *
 * All times are from `monotonicNow`, in ms.
 */
export class CircuitBreaker {
	/** True while the breaker is not closed and one of the failures was an outage: no answer from the service. */
	isOutage = false;
	private consecutiveFailures = 0;
	/** When the last failure opened the breaker. */
	private openedAt = 0;
	/** When the cooldown is over. */
	private openUntil = 0;
	/** When the probe was sent; undefined if there is none. */
	private probedAt: number | undefined;

	/** `state` is the initial state. A new breaker that is half-open sends its first request as a probe. */
	constructor(private state: 'closed' | 'open' | 'half-open') {}

	/** Milliseconds until the next request may go out; 0 or less: now; Infinity: only after the probe has ended. */
	get delayMs(): number {
		if (this.state === 'closed') return 0;
		if (this.state === 'open') return this.openUntil - monotonicNow();
		if (this.probedAt === undefined) return 0;
		return this.isOutage ? Infinity : this.probedAt + PROBE_WAIT_MS - monotonicNow();
	}

	/** Call this when a request goes out. The first request after the cooldown becomes the probe. */
	onSent(): void {
		if (this.state === 'closed') return;
		if (this.state === 'open') this.probedAt = undefined;
		this.state = 'half-open';
		this.probedAt ??= monotonicNow();
	}

	/**
	 * Call this when a request that was sent at `sentAt` was answered. It closes the breaker. An answer to a
	 * request from before the last failure is ignored, because it says nothing about the present.
	 */
	onSuccess(sentAt: number): void {
		if (sentAt <= this.openedAt) return;
		this.state = 'closed';
		this.consecutiveFailures = 0;
		this.isOutage = false;
	}

	/**
	 * Call this when a request that was sent at `sentAt` has failed. It opens the breaker for `retryAfterMs`,
	 * or else for the doubled cooldown. A random part of `jitterMs` is added. `isOutage` means that nobody
	 * answered.
	 */
	onFailure(sentAt: number, isOutage: boolean, retryAfterMs?: number, jitterMs = 0): void {
		// Requests in flight at the same time fail for the same reason, so only the first failure doubles the cooldown.
		if (sentAt > this.openedAt) {
			this.consecutiveFailures++;
			this.openedAt = monotonicNow();
			this.state = 'open';
		}
		this.isOutage ||= isOutage;
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
	 * Call this when a request that was sent at `sentAt` has ended in any way. If the breaker is half-open,
	 * the next request may be the probe.
	 */
	onEnd(sentAt: number): void {
		if (sentAt > this.openedAt) this.probedAt = undefined;
	}
}
