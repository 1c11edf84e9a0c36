import { monotonicNow } from '../async/deadline';

/** Once throttled, the least: else many would be on their way when one is throttled. What becomes shorter, is none. */
const MIN_MS = 50;
const MAX_MS = 30_000;
/** What an interval is multiplied by when a request is throttled. */
const INCREASE = 1.2;
/** So long after that it is half as long, in ms. */
const HALF_AFTER_MS = 60_000;
/** With fewer throttled than one of so many, a limit counts by the minute: requests go out at once, then wait. */
const ACCEPTED_OF_BURST = 40;

/**
 * The least time between two requests of an account; none until one is throttled. Then it is the average of those
 * accepted, cooldown included. It grows by a factor with each that is throttled, and shrinks with the cube of the
 * time, not with success (CUBIC, RFC 9438): flat at first, then soon gone, and the same for all who share it.
 */
export class RequestInterval {
	private startMs = 0;
	private startedAt = 0;
	/** Since then requests are counted, while no average is known. */
	private since = monotonicNow();
	private accepted = 0;
	private throttled = 0;

	/** In ms. */
	get ms(): number {
		const ms = this.startMs * 2 ** -(((monotonicNow() - this.startedAt) / HALF_AFTER_MS) ** 3);
		return ms < MIN_MS / 4 ? 0 : Math.max(MIN_MS, ms);
	}

	onThrottled(): void {
		this.throttled++;
		this.start(this.ms * INCREASE);
	}

	onAccepted(): void {
		if (this.throttled > 0 && this.startMs <= MIN_MS) this.measure();
		this.accepted++;
	}

	/** After some were throttled, the first one is accepted. */
	private measure(): void {
		const averageMs = (monotonicNow() - this.since) / Math.max(1, this.accepted);
		this.start(this.accepted < this.throttled * ACCEPTED_OF_BURST ? averageMs : MIN_MS);
		this.since = monotonicNow();
		this.accepted = this.throttled = 0;
	}

	private start(ms: number): void {
		this.startMs = Math.min(MAX_MS, Math.max(MIN_MS, ms));
		this.startedAt = monotonicNow();
	}
}
