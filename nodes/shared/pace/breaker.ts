import { monotonicNow } from '../async/deadline';

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
		if (this.probedAt === undefined) return this.restsUntil - monotonicNow();
		return this.isOutage ? Infinity : this.probedAt + LATE_MS - monotonicNow();
	}

	/** A request goes out: after a rest, as the probe. */
	markSent(): void {
		if (!this.isClosed) this.probedAt = monotonicNow();
	}

	/** What was sent at `sentAt` has failed. `toldMs`: the rest that the service asks for. */
	trip(sentAt: number, isOutage: boolean, toldMs?: number): void {
		// Of requests sent together only the first to fail counts.
		if (sentAt > this.trippedAt) {
			this.failures++;
			this.trippedAt = monotonicNow();
			this.probedAt = undefined;
		}
		this.isOutage ||= isOutage;
		const doubledMs = FIRST_REST_MS * 2 ** (this.failures - 1);
		const ownMs = toldMs === undefined ? doubledMs : doubledMs / TOO_SHORT;
		const restMs = Math.max(
			Math.min(toldMs ?? 0, MAX_TOLD_REST_MS),
			Math.min(ownMs, this.isOutage ? MAX_OUTAGE_REST_MS : MAX_REST_MS),
		);
		const restsUntil = monotonicNow() + restMs + Math.random() * JITTER_MS;
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
/** Where fewer than one of so many is refused, no pause is needed but the shortest. */
const ACCEPTS_A_REFUSAL = 20;
/** CUBIC: so long, and for so many accepted requests, it returns to what was learnt, from so much below that. */
const CUBIC_MS = 8000;
const CUBIC_ACCEPTS = 20;
const CUBIC_SHARE = 0.08;
/** Longer pauses are for limits of a minute, which show late that they are exceeded: twice as many. In ms. */
const SLOW_MS = 650;
/** So many refusals in a row may leave open whether they are for the rate. */
const MAX_DOUBTS = 5;

/**
 * The pause between two requests of an account. A refusal adds what the rest has cost each request accepted
 * since the one before. From there it follows CUBIC, as TCP does: soon back to what was learnt, flat near it,
 * then faster and faster beyond, so that it is seldom refused and yet finds a limit that has risen.
 */
export class Pause {
	/** In ms. */
	ms = 0;
	private learntMs = 0;
	/** Since when requests are counted. */
	private since = monotonicNow();
	private accepts = 0;
	private refusals = 0;
	/** 0: not since then. */
	private refusedAt = 0;
	/** Refusals since the rate was proved to be limited. */
	private doubts = 0;

	/** Whether a refusal now is for the rate. */
	get isBelieved(): boolean {
		return this.refusedAt > 0 || (this.ms > 0 && this.doubts < MAX_DOUBTS);
	}

	/** The rate is proved to be limited. */
	believe(): void {
		this.doubts = 0;
	}

	/** The next request to be accepted shows how long that lasts. */
	markRefused(at: number): void {
		this.doubts = this.isBelieved ? this.doubts + 1 : MAX_DOUBTS - 1;
		this.refusals++;
		this.refusedAt ||= at;
	}

	recordAccepted(): void {
		if (this.refusedAt > 0) this.learn();
		this.accepts++;
		const accepts = this.learntMs < SLOW_MS ? CUBIC_ACCEPTS : 2 * CUBIC_ACCEPTS;
		const x = Math.min((monotonicNow() - this.since) / CUBIC_MS, this.accepts / accepts);
		this.ms = this.learntMs / (1 + CUBIC_SHARE * (x - 1) ** 3);
		if (this.ms < MIN_MS) this.ms = this.learntMs = 0;
		// Twice as fast is tried out before more: a service may count for a minute.
		else if (this.ms < this.learntMs / 2) this.begin(this.ms, 0.5);
	}

	private learn(): void {
		const { accepts, since, refusedAt, learntMs } = this;
		const now = monotonicNow();
		const isNew = learntMs <= MIN_MS;
		const isRare = isNew && accepts >= this.refusals * ACCEPTS_A_REFUSAL;
		const averageMs = isNew ? (now - since) / accepts : this.ms + (now - refusedAt) / accepts;
		const mostMs = isNew ? accepts * PROOF_MS : this.ms * GROWTH;
		const nextMs = averageMs <= MAX_MS ? Math.min(averageMs, mostMs) : learntMs;
		if (isRare) this.believe();
		this.begin(isRare ? MIN_MS : nextMs, 0);
		this.refusedAt = this.refusals = 0;
	}

	private begin(learntMs: number, x: number): void {
		this.learntMs = learntMs;
		this.since = monotonicNow() - x * CUBIC_MS;
		this.accepts = x * CUBIC_ACCEPTS;
	}
}

/** After so many successes one more is tried, after twice as many if it was refused, at most after … */
const SUCCESSES_TO_RISE = 15;
const MOST_SUCCESSES_TO_RISE = 60;
/** What is left where fewer are too much than went well before. */
const REDUCED = 0.7;

/** How much an account may have under way at once, as refusals and failures show. */
export class Room {
	most = Infinity;
	/** With so many under way one more was refused last; 0: never; Infinity: one has failed. */
	private full = 0;
	/** The most that went well since then, and before that was too much. */
	private good = 0;
	private peak = 0;
	private patience = SUCCESSES_TO_RISE;
	private successesToRise = 0;

	/** Whether that may be why one more than these was refused: not if as many were accepted before. */
	mayBeFull(others: number): boolean {
		return others > 0 && (this.most === Infinity || others >= this.full);
	}

	/** One more than these was refused. At first one is tried after the rest, if nobody says why: the rate? */
	fill(underWay: number, isSaid: boolean): void {
		const full = Math.max(1, underWay);
		if (this.most === Infinity) return this.set(full, isSaid ? full : full + 1);
		let most = full;
		if (isSaid && full < this.good) {
			this.peak = Math.max(this.peak, this.good);
			this.patience = SUCCESSES_TO_RISE;
			most = Math.max(1, Math.floor(full * REDUCED));
		} else if (full >= this.full) {
			this.patience = Math.min(MOST_SUCCESSES_TO_RISE, this.patience * 2);
		}
		this.set(full, most);
	}

	/**
	 * One more than these was accepted: in answer to a request from before the refusal, or to the first one
	 * after it. Returns true if the rate was the reason: nothing has ended, only time has passed.
	 */
	isRate(underWay: number, isFromBefore: boolean, isFirst: boolean): boolean {
		const isMore = this.full > 0 && underWay >= this.full;
		const isFree = this.most === Infinity;
		if (isMore && !isFree && isFromBefore) this.set(underWay + 1, underWay + 2);
		this.good = Math.max(this.good, underWay + 1);
		return isMore && !isFromBefore && (isFirst || isFree);
	}

	/** The rate was the reason of a refusal, with so many under way. */
	lift(underWay: number): void {
		if (this.full < Infinity) this.set(underWay, Infinity);
	}

	/** One of so many has failed since too much was under way. Each is paid: a quarter may stay. */
	shrink(inWork: number): void {
		this.patience = MOST_SUCCESSES_TO_RISE;
		this.set(Infinity, Math.max(1, Math.floor(Math.min(this.most, inWork) / 4)));
	}

	/** An item is done. What is made use of rises: soon to what went well before, later by one a round. */
	recordSuccess(): void {
		if (this.good < this.most || --this.successesToRise > 0) return;
		this.most++;
		const step = this.most < this.peak ? 1 : this.most;
		this.successesToRise = this.most === this.peak ? MOST_SUCCESSES_TO_RISE : step;
	}

	private set(full: number, most: number): void {
		this.full = full;
		this.most = most;
		this.good = 0;
		this.successesToRise = this.patience;
	}
}
