import { accountOf } from '../account';
import { abortReason, monotonicNow } from '../async/deadline';
import { Queue } from '../async/queue';
import { CoalescedReads } from '../async/coalescedReads';
import { Failure, withDefaultFacts } from '../failure';
import { isOverload } from '../parsing/errors';
import { mentionsConcurrency } from '../parsing/errorTable';
import { CircuitBreaker } from './circuitBreaker';
import { ConcurrencyLimit } from './concurrencyLimit';
import { FailFast } from './failFast';
import { RequestInterval } from './requestInterval';

/** The kinds of requests. Of those that may go out now, one of the kind with the lowest rank goes first. */
const RANKS = {
	/** A read whose answer somebody waits for. */
	read: 0,
	/** A read by which a trigger follows a task, maybe for hours. */
	background: 0,
	/** A billable request. */
	create: 1,
	/** Any other read of a task. The service may count it in its rate limit, so it waits for the others. */
	poll: 2,
};
export type CallKind = keyof typeof RANKS;
/** The least time between two background reads, in ms. */
const BACKGROUND_INTERVAL_MS = 500;
/** While there is a request interval, the time between two background reads is at least this many times as long. */
const BACKGROUND_INTERVALS = 10;
/**
 * If a task raises the number in flight to this count for the first time, or to twice as many, four times and so on, it
 * is read early. An overloaded service fails tasks after it has charged them, so an overload has to be noticed soon.
 */
const FIRST_SPOT_CHECK = 8;
/**
 * The least range of the jitter, in ms. After a throttled request, a random time between 0 and at least this many ms is
 * added to the cooldown. The jitter keeps processes that share an account from sending at the same moment.
 */
const MIN_JITTER_MS = 100;
/**
 * The cooldown, and the range of its jitter, in ms, after a create call was refused because too many are in flight, but
 * none of them is ours: other clients of the account have taken all places.
 */
const OTHERS_COOLDOWN_MS = 30_000;

/**
 * How a request ended.
 *
 * - `succeeded`: the service did what was asked.
 * - `rejected`: the service refused for another reason than rate or load, or an accepted call got no result.
 * - `throttled`: the service refused for rate or load.
 * - `unavailable`: nobody answered, or only a proxy did, or the answer was another server error.
 * - `unknown`: the call says nothing about the service, for example because it was never sent.
 */
export type Outcome = 'succeeded' | 'rejected' | 'throttled' | 'unavailable' | 'unknown';

/** The handle of a request that may go out now, from `Throttle.admit`. */
export interface AdmittedCall {
	/** True if a circuit breaker has opened since the call was admitted, so a call that is not sent yet must not go out. */
	readonly isRevoked: boolean;
	/**
	 * Call this exactly once: with `succeeded` as soon as the service has accepted the call, or else when the call has
	 * ended. `failure` is needed if the outcome is `throttled` or `unavailable`.
	 */
	end(outcome: Outcome, failure?: Failure): void;
}

/** The handle of an accepted task or stream, from `Throttle.startTask`. */
export interface RunningTask {
	/** True if the task should be read early, to notice an overload soon. */
	readonly isSpotCheck: boolean;
	/**
	 * Call this exactly once, with the error if the task has failed. Returns `error`; after an overload, a copy of it
	 * with the fact `safeInFlight`.
	 */
	end(error?: unknown): unknown;
}

/**
 * Decides when the next request of an account goes out. Its state is not saved, because the limits of the service are
 * unknown and may change.
 */
export class Throttle {
	/** True once a request has had the outcome `succeeded` or `rejected`. */
	hasServiceAnswered = false;
	/** How many tasks and generation streams of this process's executions are in flight. */
	inFlight = 0;
	/** How many tasks and generation streams may be in flight. */
	readonly limit = new ConcurrencyLimit();
	private readonly interval = new RequestInterval();
	private readonly failFast = new FailFast();
	/**
	 * Stops requests of all kinds during its cooldown. That begins when a read is throttled, or when a create call is
	 * throttled because of the rate. A create call that is throttled for another reason slows down create calls only
	 * (see `onThrottled`).
	 */
	private readonly requestBreaker = new CircuitBreaker('closed');
	/**
	 * Stops create calls while the service is unavailable or overloaded. It starts half-open, so that the first create
	 * call goes out alone, as a probe.
	 */
	private readonly createBreaker = new CircuitBreaker('half-open');
	private readonly queue = new Queue<CallKind>(
		(kind) => this.delayMs(kind),
		(kind) => this.onAdmit(kind),
		(kind) => RANKS[kind],
	);
	readonly coalescedReads = new CoalescedReads();
	/**
	 * When a request was last throttled, from `monotonicNow` like all times in this class. If several that were in
	 * flight together are throttled, this is the time of the first.
	 */
	private lastThrottledAt = 0;
	/** When the last request was admitted. */
	private lastSentAt = 0;
	/** When the last background read was admitted. */
	private lastBackgroundAt = 0;
	/** How many create calls were admitted and are neither answered nor accepted yet. */
	private unansweredCreates = 0;
	private nextSpotCheck = FIRST_SPOT_CHECK;

	/** True from the time when a quota counts as used up until a create call is accepted. */
	get isQuotaExhausted(): boolean {
		return this.failFast.isQuotaExhausted;
	}

	/**
	 * True during an outage. Before the next create call, the caller should send a free read, to see whether the
	 * service answers.
	 */
	get needsHealthCheck(): boolean {
		return this.createBreaker.isOutage;
	}

	/**
	 * Resolves once a request of this kind may go out. The caller must call `end` of the result.
	 * Throws a Failure if `signal` aborts first, or if a quota turns out to be used up while a create call waits.
	 *
	 * `waitingSince` is when the caller first tried to send this call, from `monotonicNow`.
	 */
	async admit(kind: CallKind, signal: AbortSignal, waitingSince = 0): Promise<AdmittedCall> {
		const wasQuotaExhausted = this.isQuotaExhausted;
		const isAdmitted = await this.queue.enter(signal, kind);
		const call = isAdmitted ? this.trackRequest(kind === 'create', waitingSince) : undefined;
		if (call && (kind !== 'create' || wasQuotaExhausted || !this.isQuotaExhausted)) return call;
		call?.end('unknown');
		const reason = abortReason(signal);
		if (kind !== 'create') throw reason;
		if (reason.kind === 'timedOut') this.failFast.onTimedOut(waitingSince, this.inFlight === 0);
		this.queue.notify();
		throw this.failFast.lastFailure ?? reason;
	}

	/**
	 * How long a request of this kind still has to wait, in ms; Infinity while it waits for an event, such as the end
	 * of a call in flight.
	 */
	private delayMs(kind: CallKind): number {
		if (this.isQuotaExhausted) return 0;
		const intervalMs = this.interval.ms;
		const requestDelayMs = Math.max(
			this.requestBreaker.delayMs,
			this.lastSentAt + intervalMs - monotonicNow(),
		);
		if (kind === 'background') {
			const pauseMs = Math.max(BACKGROUND_INTERVAL_MS, BACKGROUND_INTERVALS * intervalMs);
			return Math.max(requestDelayMs, this.lastBackgroundAt + pauseMs - monotonicNow());
		}
		if (kind !== 'create') return requestDelayMs;
		const limitDelayMs = this.limit.delayMs(this.inFlight + this.unansweredCreates);
		return Math.max(requestDelayMs, this.createBreaker.delayMs, limitDelayMs);
	}

	/** Records that a request of this kind is admitted now. */
	private onAdmit(kind: CallKind): void {
		this.lastSentAt = monotonicNow();
		this.requestBreaker.onSent();
		if (kind === 'background') this.lastBackgroundAt = monotonicNow();
		if (kind !== 'create') return;
		this.unansweredCreates++;
		this.createBreaker.onSent();
	}

	/** Returns the handle of a request that goes out now. */
	private trackRequest(isCreate: boolean, waitingSince: number): AdmittedCall {
		const sentAt = monotonicNow();
		const breakers = [this.requestBreaker, ...(isCreate ? [this.createBreaker] : [])];
		return {
			get isRevoked() {
				return breakers.some((breaker) => breaker.hasOpenedSince(sentAt));
			},
			end: (outcome, failure) =>
				this.updateLimits(isCreate, sentAt, waitingSince, outcome, failure),
		};
	}

	/** Adds an accepted task or stream to those in flight, and returns its handle. */
	startTask(): RunningTask {
		const inFlight = ++this.inFlight;
		const isSpotCheck = inFlight === this.nextSpotCheck;
		if (isSpotCheck) this.nextSpotCheck *= 2;
		this.limit.onAccepted(inFlight);
		return {
			isSpotCheck,
			end: (error) => {
				if (error === undefined) this.limit.onSuccess(inFlight);
				const wasOverload = isOverload(error);
				if (wasOverload) this.limit.onOverload(inFlight - 1);
				this.inFlight--;
				this.queue.notify();
				return wasOverload
					? withDefaultFacts(error, { safeInFlight: Math.floor(this.limit.current) })
					: error;
			},
		};
	}

	/** Updates all limits after a request that was sent at `sentAt` was accepted or has ended. */
	private updateLimits(
		isCreate: boolean,
		sentAt: number,
		waitingSince: number,
		outcome: Outcome,
		failure?: Failure,
	): void {
		const { requestBreaker, createBreaker, failFast } = this;
		const hasAnswered = outcome === 'succeeded' || outcome === 'rejected';
		this.hasServiceAnswered ||= hasAnswered;
		if (hasAnswered) requestBreaker.onSuccess(sentAt);
		if (outcome === 'throttled') this.onThrottled(isCreate, sentAt, failure!);
		requestBreaker.onEnd(sentAt);
		if (!isCreate) return this.queue.notify();
		if (hasAnswered) createBreaker.onSuccess(sentAt);
		if (outcome === 'unavailable') createBreaker.onFailure(sentAt, true);
		createBreaker.onEnd(sentAt);
		if (outcome === 'succeeded') failFast.onAccepted();
		const isTemporary = outcome === 'throttled' || outcome === 'unavailable';
		if (isTemporary) failFast.onFailure(failure!, waitingSince, this.inFlight === 0);
		this.unansweredCreates--;
		this.queue.notify();
	}

	/**
	 * Slows down according to the reason of a refusal: it limits the number in flight, delays create calls, or delays
	 * all requests.
	 */
	private onThrottled(isCreate: boolean, sentAt: number, { kind, facts }: Failure): void {
		const { reason, retryAfterMs } = facts;
		// A request that was sent before `lastThrottledAt` probably met the same limit, so its refusal is not a new one.
		const isNewThrottling = sentAt > this.lastThrottledAt;
		if (isNewThrottling) this.lastThrottledAt = monotonicNow();
		if (isCreate && mentionsConcurrency(reason)) {
			if (isNewThrottling) this.limit.onRefused(this.inFlight);
			if (this.inFlight > 0) return;
			this.createBreaker.onFailure(sentAt, false, OTHERS_COOLDOWN_MS, OTHERS_COOLDOWN_MS);
		} else if (isCreate && kind !== 'rateLimited') {
			// This is a 503: the service as a whole is overloaded, so the limits of this account stay as they are.
			this.createBreaker.onFailure(sentAt, false, retryAfterMs, MIN_JITTER_MS);
		} else {
			if (isNewThrottling) this.interval.onThrottled();
			const maxJitterMs = Math.max(MIN_JITTER_MS, this.interval.ms);
			this.requestBreaker.onFailure(sentAt, false, retryAfterMs, maxJitterMs);
		}
	}
}

/** The one throttle of a credential's account in this process. */
export const throttleOf = (credential: { accountKey: string }): Throttle =>
	accountOf(credential).get(Throttle);
