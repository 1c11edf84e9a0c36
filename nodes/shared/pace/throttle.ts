import { accountOf } from '../account';
import { abortReason, sleep, monotonicNow } from '../async/deadline';
import { Queue } from '../async/queue';
import { SharedReadings } from '../async/sharedReadings';
import { Failure, withDefaultFacts } from '../failure';
import { isOverload } from '../parsing/errors';
import { saysAtOnce } from '../parsing/errorTable';
import { CircuitBreaker } from './circuitBreaker';
import { ConcurrencyLimit } from './concurrencyLimit';
import { FailFast } from './failFast';
import { RequestInterval } from './requestInterval';
import { TokenBucket } from './tokenBucket';

/** Who goes first: a reading, a create call, a reading that nothing announced. */
const LANES = { read: 0, create: 1, poll: 2 };
/** The first time that so many are in flight, the last one is read at once: it may be too much for the service. */
const SPOT_CHECKS = [16, 32, 64, 128, 256];
/** Other processes must not send at the same moments, in ms. */
const JITTER_MS = 100;

/** A request for work, which is charged; a reading; a task that exists already and is waited for. */
export type CallKind = 'create' | 'read' | 'task';

/**
 * How a call ended: the service did what it was asked, or said why not; it was throttled, for rate or load;
 * nobody answered, or only a proxy; or nothing can be learnt from it.
 */
export type Outcome = 'succeeded' | 'rejected' | 'throttled' | 'unavailable' | 'unknown';

/** A call that was admitted. It counts until `end`, which is to be called once, however it ended. */
export interface Call {
	/** It may be too much for the service. */
	readonly isSpotCheck: boolean;
	/** The service has accepted it: it is in flight until it ends. */
	accept(): void;
	/** Returns the error; if too many were in flight, with how many were not. */
	end(outcome: Outcome, error?: unknown): unknown;
}

/**
 * When the next request of an account goes out in this process: once the queue has come to it, the circuit breaker
 * lets it through, the request interval has passed, and, for a create call, the concurrency limit is not reached.
 * All who use the account share it. It is held in memory, since no service announces its limits, and they change.
 */
export class Throttle {
	/** Whether the service has ever answered: then what is throttled passes. */
	hasWorked = false;
	/** How many tasks and streams are in flight. */
	inFlight = 0;
	readonly limit = new ConcurrencyLimit();
	/** For what a trigger reads unasked. */
	readonly backgroundQueue = new TokenBucket();
	private readonly interval = new RequestInterval();
	private readonly failFast = new FailFast();
	private readonly requests = new CircuitBreaker('closed');
	/** An account's first create call is a probe. */
	private readonly creates = new CircuitBreaker('half-open');
	private readonly queue = new Queue<keyof typeof LANES>(
		(kind) => this.delayMs(kind),
		(kind) => this.onAdmit(kind),
		3,
	);
	/** For readings that nothing announced: they wait until nobody else wants to read or create. */
	readonly pollQueue = {
		enter: async (signal: AbortSignal) => await this.queue.enter(signal, 'poll', LANES.poll),
	};
	/** What all who use the account read together. */
	readonly readings = new SharedReadings();
	/** All times by `monotonicNow`. */
	private throttledAt = 0;
	private lastSent = 0;
	private lastPolled = 0;
	/** Create calls without an answer. */
	private unanswered = 0;
	private mostInFlight = 0;

	/** A quota is used up: calls are tried once each. */
	get isExhausted(): boolean {
		return this.failFast.isOn;
	}

	/** Whether a reading has to go well before the next create call: after an outage. */
	get needsReading(): boolean {
		return this.creates.isOutage;
	}

	/**
	 * Resolves once a call may go out that has waited since `since`. Throws a Failure if `signal` aborts first,
	 * or a quota is used up.
	 */
	async admit(kind: CallKind, signal: AbortSignal, since = 0): Promise<Call> {
		if (kind === 'task') return this.startWork();
		const wasExhausted = this.isExhausted;
		const isAdmitted = await this.queue.enter(signal, kind, LANES[kind]);
		const call = isAdmitted ? this.request(kind === 'create') : undefined;
		if (call && (kind === 'read' || wasExhausted || !this.isExhausted)) return call;
		call?.end('unknown');
		const reason = abortReason(signal);
		if (kind === 'read') throw reason;
		if (reason.kind === 'timedOut') this.failFast.onTimedOut(since, this.inFlight === 0);
		this.queue.notify();
		throw this.failFast.last ?? reason;
	}

	private delayMs(kind: keyof typeof LANES): number {
		if (this.isExhausted) return 0;
		const last = kind === 'poll' ? this.lastPolled : this.lastSent;
		const requestMs = Math.max(this.requests.delayMs, last + this.interval.ms - monotonicNow());
		if (kind === 'read') return requestMs;
		const limitMs = this.limit.delayMs(this.inFlight + this.unanswered);
		const createMs = Math.max(this.creates.delayMs, limitMs);
		if (kind === 'create') return Math.max(requestMs, createMs);
		// A limit may count polls, too: they wait for all that the interval alone holds up.
		const { queue } = this;
		const isLast = queue.isEmpty(LANES.read) && (queue.isEmpty(LANES.create) || createMs > 0);
		return isLast ? requestMs : Infinity;
	}

	private onAdmit(kind: keyof typeof LANES): void {
		// The reading that follows takes a turn of its own.
		if (kind === 'poll') return void (this.lastPolled = monotonicNow());
		this.lastSent = monotonicNow();
		this.requests.onSent();
		if (kind === 'read') return;
		this.unanswered++;
		this.creates.onSent();
	}

	private request(isCreate: boolean): Call {
		const sentAt = monotonicNow();
		let accepted: Call | undefined;
		return {
			isSpotCheck: false,
			accept: () => {
				this.onAnswer(isCreate, sentAt, 'succeeded');
				accepted = this.startWork();
			},
			end: (outcome, error) => {
				if (accepted) return accepted.end(outcome, error);
				this.onAnswer(isCreate, sentAt, outcome, error);
				return error;
			},
		};
	}

	/** Something that the service works on. */
	private startWork(): Call {
		const inFlight = ++this.inFlight;
		const startedAt = monotonicNow();
		const isSpotCheck = inFlight > this.mostInFlight && SPOT_CHECKS.includes(inFlight);
		this.mostInFlight = Math.max(this.mostInFlight, inFlight);
		this.limit.onAccepted(inFlight);
		return {
			isSpotCheck,
			accept: () => {},
			end: (outcome, error) => {
				if (outcome === 'succeeded') this.limit.onSuccess(inFlight, monotonicNow() - startedAt);
				const isTooMuch = isOverload(error);
				if (isTooMuch) this.limit.onOverload(inFlight - 1);
				this.inFlight--;
				this.queue.notify();
				return isTooMuch ? withDefaultFacts(error, { notTooMany: this.limit.notTooMany }) : error;
			},
		};
	}

	private onAnswer(isCreate: boolean, sentAt: number, outcome: Outcome, error?: unknown): void {
		const { requests, creates, failFast } = this;
		const hasAnswered = outcome === 'succeeded' || outcome === 'rejected';
		this.hasWorked ||= hasAnswered;
		if (hasAnswered && sentAt > this.throttledAt) this.interval.onAccepted();
		if (hasAnswered) requests.onSuccess(sentAt);
		if (outcome === 'throttled') this.slowDown(isCreate, sentAt, error as Failure);
		requests.onEnd(sentAt);
		if (!isCreate) return this.queue.notify();
		if (hasAnswered) creates.onSuccess(sentAt);
		if (outcome === 'unavailable') creates.onFailure(sentAt, true);
		creates.onEnd(sentAt);
		if (outcome === 'succeeded') failFast.onAccepted();
		const mayPass = outcome === 'throttled' || outcome === 'unavailable';
		if (mayPass) failFast.onFailure(error as Failure, this.inFlight === 0);
		// The task that was created is in flight a moment later, and must not be missing meanwhile.
		void sleep(0).then(() => {
			this.unanswered--;
			this.queue.notify();
		});
	}

	private slowDown(isCreate: boolean, sentAt: number, { kind, facts }: Failure): void {
		const { text, retryAfterMs } = facts;
		// Of calls that were sent before the last one was throttled, none says anything new.
		const isNews = sentAt > this.throttledAt;
		if (isNews) this.throttledAt = monotonicNow();
		if (isCreate && saysAtOnce(text)) {
			if (isNews) this.limit.onRefused(this.inFlight);
		} else if (isCreate && kind !== 'rateLimited') {
			// An overloaded service (503) tells of no limit.
			this.creates.onFailure(sentAt, false, retryAfterMs, JITTER_MS);
		} else {
			if (isNews) this.interval.onThrottled();
			const jitterMs = Math.max(JITTER_MS, this.interval.ms);
			this.requests.onFailure(sentAt, false, retryAfterMs, jitterMs);
		}
	}
}

/** The throttle of a credential's account in this process. */
export const throttleOf = (credential: { accountKey: string }): Throttle =>
	accountOf(credential).get(Throttle);
