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
/** As much is added to a rest at random at most, in ms: other processes may have the same one. */
const JITTER_MS = 100;
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
	/** Not refused, but away. */
	isOutage = false;

	get isClosed(): boolean {
		return this.failures === 0;
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
		this.isOutage ||= isOutage;
		const doubledMs = FIRST_REST_MS * 2 ** (this.failures - 1);
		const ownMs = toldMs === undefined ? doubledMs : doubledMs / TOO_SHORT;
		const restMs = Math.max(
			Math.min(toldMs ?? 0, MAX_TOLD_REST_MS),
			Math.min(ownMs, this.isOutage ? MAX_OUTAGE_REST_MS : MAX_REST_MS),
		);
		const restsUntil = steadyNow() + restMs + Math.random() * JITTER_MS;
		this.restsUntil = Math.max(this.restsUntil, restsUntil);
	}

	/** What was sent at `sentAt` was answered; if before the last failure, that says nothing about now. */
	close(sentAt: number): void {
		if (sentAt <= this.trippedAt) return;
		this.failures = 0;
		this.isOutage = false;
	}

	/** What was sent at `sentAt` is over, however it ended. */
	endProbe(sentAt: number): void {
		if (sentAt > this.trippedAt) this.probedAt = undefined;
	}
}

/** Shorter, too many would be on their way when one is refused; what takes longer is no rate. In ms. */
const MIN_MS = 50;
const MAX_MS = 10_000;
/** What one accepted request can prove, in ms; later, a refusal proves a quarter more. */
const PROOF_MS = 500;
const GROWTH = 1.25;
/** Where fewer than one of so many is refused, no pause is needed; … */
const ACCEPTS_A_REFUSAL = 20;
/** … it is believed if that many are accepted with it, and forgotten after … */
const ACCEPTS_TO_BELIEVE = 5;
const ACCEPTS_TO_FORGET = 200;

/**
 * The pause between two requests of an account: after a refusal, that at which the service has let them
 * through on average since the refusal before, rests included. It fades slowly at first, then faster.
 */
export class Pause {
	/** In ms. */
	ms = 0;
	/** Whether the rate seems to be limited. */
	private isNeeded = false;
	private learntMs = 0;
	/** Since when requests are counted. */
	private since = steadyNow();
	private accepts = 0;
	private refusals = 0;
	/** … and how many were accepted between the two refusals before. */
	private earlier = { since: steadyNow(), accepts: 0 };

	/** Whether a refusal now is for the rate: not if it comes again as soon as the pause was learnt. */
	get isBelieved(): boolean {
		return this.isNeeded && (this.refusals > 0 || this.accepts >= ACCEPTS_TO_BELIEVE);
	}

	forget(): void {
		this.isNeeded = false;
		this.learntMs = 0;
		this.ms = 0;
	}

	/** The next request to be accepted shows how many were in what time. */
	markRefused(): void {
		this.isNeeded = true;
		this.refusals++;
	}

	recordAccepted(): void {
		if (this.refusals > 0) this.learn();
		this.accepts++;
		const faded = this.accepts / ACCEPTS_TO_FORGET;
		if (faded >= 1) this.forget();
		this.ms = this.isNeeded ? Math.max(MIN_MS, this.learntMs * (1 - faded ** 2)) : 0;
	}

	private learn(): void {
		const { earlier, since, accepts, refusals, learntMs, ms } = this;
		const now = steadyNow();
		const averageMs = (now - earlier.since) / (earlier.accepts + accepts);
		const isRare = learntMs === 0 && accepts >= refusals * ACCEPTS_A_REFUSAL;
		const mostMs = learntMs > 0 ? ms * GROWTH : accepts * PROOF_MS;
		if (!isRare && averageMs <= MAX_MS) this.learntMs = Math.min(averageMs, mostMs);
		this.earlier = { since, accepts };
		this.since = now;
		this.accepts = 0;
		this.refusals = 0;
	}
}

/** After so many successes since too much was under way one more is tried, … */
const SUCCESSES_TO_RISE = 60;
/** … and after so many if that went well. */
const SUCCESSES_TO_RISE_AGAIN = 4;

/** How much an account may have under way at once, as refusals and failures show. */
export class Room {
	most = Infinity;
	/** With so many under way one more was refused; 0: never, or for the rate; Infinity: one has failed. */
	private full = 0;
	private successesToRise = SUCCESSES_TO_RISE;

	/** Whether that may be why one more than these was refused: not if as many were accepted before. */
	mayBeFull(others: number): boolean {
		return others > 0 && others >= this.full;
	}

	/** One more than these was refused; returns whether again. At first one is tried after the rest: the rate? */
	fill(underWay: number): boolean {
		const full = Math.max(1, underWay);
		const isAgain = this.full > 0;
		this.set(full, isAgain ? full : full + 1);
		return isAgain;
	}

	/**
	 * One more than these was accepted: in answer to a request from before the refusal, or to the first one
	 * after it. Returns true if the rate was the reason: nothing has ended, only time has passed.
	 */
	isRate(underWay: number, isFromBefore: boolean, isFirst: boolean): boolean {
		const isMore = this.full > 0 && underWay >= this.full;
		if (isMore && isFromBefore) this.set(underWay + 1, underWay + 2);
		return isMore && !isFromBefore && isFirst;
	}

	/** The rate was the reason of a refusal. */
	lift(): void {
		if (this.full < Infinity) this.set(0, Infinity);
	}

	/** One of so many has failed since too much was under way. Each is paid: a quarter may stay. */
	shrink(inWork: number): void {
		this.set(Infinity, Math.max(1, Math.floor(Math.min(this.most, inWork) / 4)));
	}

	/** An item is done. */
	recordSuccess(): void {
		if (--this.successesToRise > 0) return;
		this.successesToRise = SUCCESSES_TO_RISE_AGAIN;
		this.most++;
	}

	private set(full: number, most: number): void {
		this.full = full;
		this.most = most;
		this.successesToRise = SUCCESSES_TO_RISE;
	}
}
