import { accountOf } from '../account';
import { abortReason, sleep, monotonicNow } from '../async/deadline';
import { Queue } from '../async/queue';
import { SharedReadings } from '../async/sharedReadings';
import { Failure } from '../failure';
import { isOverload } from '../parsing/errors';
import { saysAtOnce } from '../parsing/errorTable';
import { Breaker, Pause, Room } from './breaker';
import { WatchLine } from './watchLine';

/** For how long an account may accept nothing before all that waits fails, in ms: a quota is used up. */
const GIVE_UP_MS = 600_000;
/** … or by how much longer than the service asks to wait. */
const BEYOND_TOLD_MS = 60_000;

/** A request for work, which is paid, or a reading. */
export type CallKind = 'create' | 'read';

/**
 * How a call ended: the service did what it was asked, or said why not; it refused for rate or load; it did
 * not answer, but nobody, or what stands in front of it; or nothing can be learnt from it.
 */
export type Ending = 'accepted' | 'answered' | 'refused' | 'away' | 'unknown';

/**
 * How often an account is asked, and how much of it is under way at once: additive increase,
 * multiplicative decrease, since no service announces its limits. All users of the account in this
 * process keep to it together. Held in memory only; all times by `steadyNow`.
 */
export class Pace {
	/** Whether the service has ever answered: then a refusal is a limit, and passes. */
	hasWorked = false;
	/** The account has accepted nothing for long: each call is tried once, until one is accepted. */
	isGivenUp = false;
	private refusedAt = 0;
	private readonly pause = new Pause();
	private readonly room = new Room();
	private lastSent = 0;
	private creating = 0;
	/** A create call is in the line of all: the others stay in their own, where a rest holds them. */
	private isCreateNext = false;
	private acceptedAt = 0;
	/** Since when all create calls fail, and how the last one did. */
	private failing: { since: number; last: Failure } | undefined;
	/** Tasks that items wait for, and streams: the service may wait for one of them to end. */
	private underWay = 0;
	private readonly creates = new Breaker();
	private readonly all = new Breaker();
	/** Create calls wait here first, … */
	private readonly createLine = new Queue(
		() => this.createRestMs(),
		() => {
			this.creating++;
			this.isCreateNext = true;
			this.creates.markSent();
		},
	);
	/** … and then, with all others, here. */
	private readonly line = new Queue(
		() => this.restMs(),
		() => {
			this.lastSent = monotonicNow();
			this.all.markSent();
		},
	);
	private lastPolled = 0;
	/** Where readings that nothing announced wait until nobody else wants to go: a limit may count them, too. */
	readonly pollLine = new Queue(
		() =>
			this.isCreateNext || !this.line.isEmpty
				? Infinity
				: this.lastPolled + this.pause.ms - monotonicNow(),
		() => (this.lastPolled = monotonicNow()),
	);
	/** For what a trigger reads unasked. */
	readonly watchLine = new WatchLine();
	/** What all who use the account read together. */
	readonly readings = new SharedReadings();

	/** How many create calls, tasks and streams may be under way. */
	get atOnce(): number {
		return this.room.most;
	}

	/** Whether a reading has to go well before the next create call: after an outage. */
	get needsReading(): boolean {
		return this.creates.isOutage;
	}

	/**
	 * Resolves once a request may go out, of a call that has waited since `since`; call `recordEnd` once it is
	 * over. Throws a Failure if `signal` aborts first, or the account is given up.
	 */
	async acquireSlot(kind: CallKind, signal: AbortSignal, since: number): Promise<void> {
		if (kind === 'read') {
			const isMine = await this.line.enter(signal);
			this.pollLine.notify();
			if (isMine) return;
			throw abortReason(signal);
		}
		const wasGivenUp = this.isGivenUp;
		if (await this.createLine.enter(signal)) {
			const isMine = await this.line.enter(signal);
			this.isCreateNext = false;
			this.nudge();
			if (isMine && (wasGivenUp || !this.isGivenUp)) return;
			this.recordEnd(kind, Infinity, 'unknown');
		}
		const reason = abortReason(signal);
		// It was not accepted in time, nor was any other.
		const isOver = reason.kind === 'timedOut' && this.acceptedAt < since && this.underWay === 0;
		if (isOver && this.failing) this.giveUp();
		throw this.failing?.last ?? reason;
	}

	/** What was sent at `sentAt` is over; `failure` is how it failed. */
	recordEnd(kind: CallKind, sentAt: number, ending: Ending, failure?: Failure): void {
		const isCreate = kind === 'create';
		if (ending === 'refused' && failure) this.slowDown(isCreate, sentAt, failure);
		if (ending === 'away' && isCreate) this.creates.trip(sentAt, true);
		const isTurnedDown = ending === 'refused' || ending === 'away';
		if (isCreate && isTurnedDown && failure) this.noteFailing(failure);
		if (ending === 'accepted' && isCreate) {
			const isBefore = sentAt <= this.refusedAt;
			if (this.room.isRate(this.underWay, isBefore, !this.creates.isClosed)) {
				if (this.atOnce < Infinity) this.blameRate();
				this.pause.believe();
			}
			this.acceptedAt = monotonicNow();
			this.failing = undefined;
			this.isGivenUp = false;
		}
		if (ending === 'accepted' || ending === 'answered') {
			this.hasWorked = true;
			this.all.close(sentAt);
			if (isCreate) this.creates.close(sentAt);
			if (sentAt > this.refusedAt) this.pause.recordAccepted();
		}
		this.all.endProbe(sentAt);
		if (!isCreate) return this.nudge();
		this.creates.endProbe(sentAt);
		// What was accepted counts as under way a moment later, and must not be missing meanwhile.
		void sleep(0).then(() => {
			this.creating--;
			this.nudge();
		});
	}

	/** Counts one more task or stream under way, until the returned function is called. */
	markUnderWay(): () => void {
		this.underWay++;
		return () => {
			this.underWay--;
			this.nudge();
		};
	}

	/**
	 * What was accepted after `since`, and counts as under way, has failed with `error`. Where too much was
	 * under way, that is paid all the same, so as much is not for long.
	 */
	noteFailed(error: unknown, since: number): void {
		if (isOverload(error) && this.isNews(since)) this.room.shrink(this.inWork);
	}

	/** An item is done. */
	recordSuccess(): void {
		this.room.recordSuccess();
	}

	private get inWork(): number {
		return this.creating + this.underWay;
	}

	/** The service has refused, for rate or load, what was sent at `sentAt`. */
	private slowDown(isCreate: boolean, sentAt: number, { kind, facts }: Failure): void {
		const { pause, room } = this;
		// What is under way may be what keeps the service from starting more, unless it limits the rate.
		const isSaid = saysAtOnce(facts.text);
		const mayBeFull = !pause.isBelieved && room.mayBeFull(this.inWork - 1);
		const isFull = isCreate && (isSaid || mayBeFull);
		// An overloaded service (503, 529) tells of no limit.
		const isBusy = isCreate && (kind !== 'rateLimited' || (facts.status ?? 0) >= 500);
		if (this.isNews(sentAt) && !isBusy) {
			if (isFull) room.fill(this.underWay, isSaid);
			else this.blameRate();
		}
		const breaker = isFull || isBusy ? this.creates : this.all;
		breaker.trip(sentAt, false, facts.retryAfterMs);
	}

	/** Of calls sent before the last refusal, only that refusal counts. */
	private isNews(sentAt: number): boolean {
		if (sentAt <= this.refusedAt) return false;
		this.refusedAt = monotonicNow();
		return true;
	}

	private blameRate(): void {
		this.room.lift(this.underWay);
		this.pause.markRefused(this.refusedAt);
	}

	private noteFailing(failure: Failure): void {
		const now = monotonicNow();
		const { mayBeCharged, ...facts } = failure.facts;
		const since = this.failing?.since ?? now;
		this.failing = { since, last: new Failure(failure.kind, facts) };
		const patienceMs = Math.max(GIVE_UP_MS, (facts.retryAfterMs ?? 0) + BEYOND_TOLD_MS);
		if (now - since >= patienceMs && this.underWay === 0) this.giveUp();
	}

	/** All that waits fails, with the service's last words. */
	private giveUp(): void {
		this.isGivenUp = true;
		this.nudge();
	}

	private nudge(): void {
		this.createLine.notify();
		this.line.notify();
		this.pollLine.notify();
	}

	private createRestMs(): number {
		if (this.isCreateNext || this.inWork >= this.atOnce) return Infinity;
		return this.isGivenUp ? 0 : this.creates.restMs;
	}

	private restMs(): number {
		if (this.isGivenUp) return 0;
		return Math.max(this.all.restMs, this.lastSent + this.pause.ms - monotonicNow());
	}
}

/** The pace of a credential's account in this process. */
export const paceOf = (credential: { accountKey: string }): Pace => accountOf(credential).get(Pace);
