import { monotonicNow } from '../async/deadline';

/** The cooldown after a failure, in ms; doubled for each further one in a row. */
const FIRST_COOLDOWN_MS = 1000;
const MAX_COOLDOWN_MS = 30_000;
/** The longest after an outage, in ms: the service comes back without notice. */
const MAX_OUTAGE_COOLDOWN_MS = 10_000;
/** The longest that the service may ask for, in ms: some ask for a day. */
const MAX_RETRY_AFTER_MS = 60_000;
/** How long others wait for the answer to a probe, in ms; after an outage, until it comes. */
const PROBE_TIMEOUT_MS = 1500;

/**
 * A circuit breaker (Nygard, “Release It!”). Closed: requests go out. Open, after a failure: none does until the
 * cooldown is over. Half-open: one goes out as a probe, and the others wait for its answer.
 */
export class CircuitBreaker {
	/** The last failures were outages. */
	isOutage = false;
	/** In a row. */
	private failures = 0;
	private openedAt = 0;
	private openUntil = 0;
	private probedAt: number | undefined;

	constructor(private state: 'closed' | 'open' | 'half-open') {}

	/** Milliseconds until the next request may go out; Infinity: not before the probe has ended. */
	get delayMs(): number {
		if (this.state === 'closed') return 0;
		if (this.state === 'open') return this.openUntil - monotonicNow();
		if (this.probedAt === undefined) return 0;
		return this.isOutage ? Infinity : this.probedAt + PROBE_TIMEOUT_MS - monotonicNow();
	}

	/** A request goes out: the first one after the cooldown is the probe. */
	onSent(): void {
		if (this.state === 'closed') return;
		if (this.state === 'open') this.probedAt = undefined;
		this.state = 'half-open';
		this.probedAt ??= monotonicNow();
	}

	/** What was sent at `sentAt` was answered; if before the last failure, that says nothing about now. */
	onSuccess(sentAt: number): void {
		if (sentAt <= this.openedAt) return;
		this.state = 'closed';
		this.failures = 0;
		this.isOutage = false;
	}

	/** What was sent at `sentAt` has failed; up to `jitterMs` are added to the cooldown, at random. */
	onFailure(sentAt: number, isOutage: boolean, retryAfterMs?: number, jitterMs = 0): void {
		// Of requests that were sent together only the first to fail counts.
		if (sentAt > this.openedAt) {
			this.failures++;
			this.openedAt = monotonicNow();
			this.state = 'open';
		}
		this.isOutage ||= isOutage;
		const longestMs = this.isOutage ? MAX_OUTAGE_COOLDOWN_MS : MAX_COOLDOWN_MS;
		const backOffMs = Math.min(longestMs, FIRST_COOLDOWN_MS * 2 ** (this.failures - 1));
		const cooldownMs = Math.min(retryAfterMs ?? backOffMs, MAX_RETRY_AFTER_MS);
		const openUntil = monotonicNow() + cooldownMs + Math.random() * jitterMs;
		this.openUntil = Math.max(this.openUntil, openUntil);
	}

	/** What was sent at `sentAt` has ended without telling anything: the next request is the probe. */
	onEnd(sentAt: number): void {
		if (sentAt > this.openedAt) this.probedAt = undefined;
	}
}
