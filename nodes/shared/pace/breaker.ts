import { steadyNow } from '../async/deadline';

/** The rest after a failure, in ms; doubled for each further one in a row. */
const FIRST_REST_MS = 1000;
const MAX_REST_MS = 30_000;
/** The longest rest after an outage, in ms: the service comes back without a notice. */
const MAX_OUTAGE_REST_MS = 10_000;
/** The longest rest that the service can ask for, in ms: some ask for a day. */
const MAX_TOLD_REST_MS = 60_000;
/** A rest that the service asks for is believed until it is this many times too short. */
const TOO_SHORT = 8;
/** Up to this share is added to a rest at random, since other processes may have the same one. */
const JITTER = 0.1;
const MAX_JITTER_MS = 300;
/** How long others wait for the answer to a probe after a refusal, in ms. */
const LATE_MS = 2000;

/**
 * A circuit breaker. Closed: requests go out. Open, after a failure: none does until it has rested. Half
 * open: one goes out as a probe, and the others wait for its answer. All times by `steadyNow`.
 */
export class Breaker {
	/** In a row. */
	private failures = 0;
	private trippedAt = 0;
	private restsUntil = 0;
	private probedAt: number | undefined;
	private isOutage = false;
	/** Whether a reading has gone well since an outage. */
	private isWell = true;

	get isClosed(): boolean {
		return this.failures === 0;
	}

	/** Whether the probe has to wait for a reading, which costs nothing if it fails. */
	get needsReading(): boolean {
		return this.isOutage && !this.isWell;
	}

	/** Milliseconds until the next request may go out; Infinity: not before the probe is over. */
	get restMs(): number {
		if (this.isClosed) return 0;
		if (this.probedAt === undefined) return this.restsUntil - steadyNow();
		return this.isOutage ? Infinity : this.probedAt + LATE_MS - steadyNow();
	}

	/** A request goes out: after a rest, as the probe. */
	markSent(): void {
		if (!this.isClosed) this.probedAt = steadyNow();
	}

	/** What was sent at `sentAt` has failed. `toldMs`: the rest that the service asks for. */
	trip(sentAt: number, isOutage: boolean, toldMs?: number): void {
		// Of requests sent together only the first to fail counts.
		if (sentAt > this.trippedAt) {
			this.failures++;
			this.trippedAt = steadyNow();
			this.probedAt = undefined;
		}
		if (isOutage) {
			this.isOutage = true;
			this.isWell = false;
		}
		const doubledMs = FIRST_REST_MS * 2 ** (this.failures - 1);
		const ownMs = toldMs === undefined ? doubledMs : doubledMs / TOO_SHORT;
		const restMs = Math.max(
			Math.min(toldMs ?? 0, MAX_TOLD_REST_MS),
			Math.min(ownMs, this.isOutage ? MAX_OUTAGE_REST_MS : MAX_REST_MS),
		);
		const jitterMs = Math.random() * Math.min(MAX_JITTER_MS, restMs * JITTER);
		this.restsUntil = Math.max(this.restsUntil, steadyNow() + restMs + jitterMs);
	}

	/** A reading sent at `sentAt` has gone well. */
	markWell(sentAt: number): void {
		if (sentAt > this.trippedAt) this.isWell = true;
	}

	/** What was sent at `sentAt` was answered; if before the last failure, that says nothing about now. */
	close(sentAt: number): void {
		if (sentAt <= this.trippedAt) return;
		this.failures = 0;
		this.probedAt = undefined;
		this.isOutage = false;
	}

	/** What was sent at `sentAt` is over, however it ended. */
	endProbe(sentAt: number): void {
		if (sentAt > this.trippedAt) this.probedAt = undefined;
	}
}

/** After the first refusal, in ms; doubled by each further one … */
const FIRST_MS = 250;
const MAX_MS = 5000;
/** … and gone after so many accepted requests. */
const ACCEPTS_TO_RECOVER = 50;

/** The pause between two requests of an account: multiplied by refusals, shortened by what is accepted. */
export class Pause {
	/** In ms. */
	ms = 0;
	private recoveryMs = 0;
	private grewAt = 0;
	/** Requests accepted since it has grown. */
	private accepts = 0;

	recordAccepted(): void {
		this.accepts++;
		this.ms = Math.max(0, this.ms - this.recoveryMs);
	}

	/** It doubles, unless requests have been accepted at a shorter one on average since it last grew. */
	lengthen(): void {
		const isFirst = this.grewAt === 0;
		// Nothing was accepted in between, so nothing new was learnt.
		if (!isFirst && this.accepts === 0) return;
		const now = steadyNow();
		const provenMs = isFirst ? Infinity : (now - this.grewAt) / this.accepts;
		const doubledMs = Math.max(FIRST_MS, this.ms * 2);
		this.ms = Math.min(MAX_MS, doubledMs, Math.max(this.ms, provenMs));
		this.recoveryMs = this.ms / ACCEPTS_TO_RECOVER;
		this.grewAt = now;
		this.accepts = 0;
	}
}
