import { accountOf } from '../account';
import { abortReason, sleep, monotonicNow } from '../async/deadline';
import { Queue } from '../async/queue';
import { CoalescedReads } from '../async/coalescedReads';
import { Failure, withDefaultFacts } from '../failure';
import { isOverload } from '../parsing/errors';
import { mentionsConcurrency } from '../parsing/errorTable';
import { CircuitBreaker } from './circuitBreaker';
import { ConcurrencyLimit } from './concurrencyLimit';
import { FailFast } from './failFast';
import { RequestInterval } from './requestInterval';
import { TokenBucket } from './tokenBucket';

/**
 * The lanes of the queue. Of the calls that may go out now, one in the lane with the lowest number goes first. A poll
 * is a read of a task that is not urgent; it waits as long as other requests do.
 */
const LANES = { read: 0, create: 1, poll: 2, triggerPoll: 2 };
type Lane = keyof typeof LANES;
const isPoll = (lane: Lane) => LANES[lane] === LANES.poll;
/**
 * A batch may take hours under a rate limit. So that a trigger does not wait for its end, one of its polls goes out
 * first if none has for this many ms.
 */
const MAX_TRIGGER_PAUSE_MS = 30_000;
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
 * The kinds of calls that the throttle admits.
 *
 * - `create`: a billable request.
 * - `read`: any other request.
 * - `task`: no request, but the wait for a task that exists already and counts as in flight.
 */
export type CallKind = 'create' | 'read' | 'task';

/**
 * How a call ended.
 *
 * - `succeeded`: the service did what was asked.
 * - `rejected`: the service refused for another reason than rate or load, or an accepted call got no result.
 * - `throttled`: the service refused for rate or load.
 * - `unavailable`: nobody answered, or only a proxy did, or the answer was another server error.
 * - `unknown`: the call says nothing about the service, for example because it was never sent.
 */
export type Outcome = 'succeeded' | 'rejected' | 'throttled' | 'unavailable' | 'unknown';

/** The handle of a call that may go out now, from `Throttle.admit`. With it, the caller reports how the call went. */
export interface AdmittedCall {
	/** True if the task of this call should be read early, to notice an overload soon. */
	readonly isSpotCheck: boolean;
	/** True if a circuit breaker has opened since the call was admitted, so a call that is not sent yet must not go out. */
	readonly isRevoked: boolean;
	/**
	 * Call this when the service has accepted a create call but its answer goes on, as a stream does. Call it at most
	 * once. The call counts as in flight until `end`.
	 */
	markAccepted(): void;
	/**
	 * Call this exactly once, however the call ended. Returns `error`. If an accepted call has failed because of an
	 * overload, returns a copy of it with the fact `safeInFlight`.
	 */
	end(outcome: Outcome, error?: unknown): unknown;
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
	/** The queue for the background reads of triggers. */
	readonly backgroundQueue = new TokenBucket();
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
	private readonly queue = new Queue<Lane>(
		(lane) => this.delayMs(lane),
		(lane) => this.onAdmit(lane),
		(lane) => (this.isOverdue(lane) ? LANES.read : LANES[lane]),
	);
	/** The queue of polls: one lane of `queue`. */
	readonly pollQueue = {
		enter: async (signal: AbortSignal) => await this.queue.enter(signal, 'poll'),
	};
	/** The queue for the polls of triggers. They wait in two queues, so they don't hold up create calls. */
	readonly backgroundPollQueue = {
		enter: async (signal: AbortSignal) =>
			(await this.backgroundQueue.enter(signal)) && (await this.queue.enter(signal, 'triggerPoll')),
	};
	readonly coalescedReads = new CoalescedReads();
	/**
	 * When a request was last throttled, from `monotonicNow` like all times in this class. If several that were in
	 * flight together are throttled, this is the time of the first.
	 */
	private lastThrottledAt = 0;
	/** When the last read or create call was admitted. */
	private lastSentAt = 0;
	private lastPolledAt = 0;
	private triggerPolledAt = monotonicNow();
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
	 * Resolves once a call of this kind may go out; for a `task`, at once. The caller must call `end` of the result.
	 * Throws a Failure if `signal` aborts first, or if a quota turns out to be used up while a create call waits.
	 *
	 * `waitingSince` is when the caller first tried to send this call, from `monotonicNow`.
	 */
	async admit(kind: CallKind, signal: AbortSignal, waitingSince = 0): Promise<AdmittedCall> {
		if (kind === 'task') return this.trackInFlight();
		const wasQuotaExhausted = this.isQuotaExhausted;
		const isAdmitted = await this.queue.enter(signal, kind);
		const call = isAdmitted ? this.trackRequest(kind === 'create', waitingSince) : undefined;
		if (call && (kind === 'read' || wasQuotaExhausted || !this.isQuotaExhausted)) return call;
		call?.end('unknown');
		const reason = abortReason(signal);
		if (kind === 'read') throw reason;
		if (reason.kind === 'timedOut') this.failFast.onTimedOut(waitingSince, this.inFlight === 0);
		this.queue.notify();
		throw this.failFast.lastFailure ?? reason;
	}

	/**
	 * How long a request of this kind still has to wait, in ms; Infinity while it waits for an event, such as the end
	 * of a call in flight.
	 */
	private delayMs(lane: Lane): number {
		if (this.isQuotaExhausted) return 0;
		const lastAt = isPoll(lane) ? this.lastPolledAt : this.lastSentAt;
		const requestDelayMs = Math.max(
			this.requestBreaker.delayMs,
			lastAt + this.interval.ms - monotonicNow(),
		);
		if (lane === 'read') return requestDelayMs;
		const limitDelayMs = this.limit.delayMs(this.inFlight + this.unansweredCreates);
		const createDelayMs = Math.max(this.createBreaker.delayMs, limitDelayMs);
		if (lane === 'create') return Math.max(requestDelayMs, createDelayMs);
		// The service may count polls in its rate limit, so reads and create calls have priority over polls.
		const { queue } = this;
		const isIdle = queue.isEmpty('read') && (queue.isEmpty('create') || createDelayMs > 0);
		return isIdle || this.isOverdue(lane) ? requestDelayMs : Infinity;
	}

	/** True if a trigger's poll has waited so long that it goes out before other requests. */
	private isOverdue(lane: Lane): boolean {
		return lane === 'triggerPoll' && monotonicNow() - this.triggerPolledAt >= MAX_TRIGGER_PAUSE_MS;
	}

	/** Records that a request of this kind is admitted now. */
	private onAdmit(lane: Lane): void {
		// A poll that is admitted here enters the queue once more, as a read, when the API sends it. Only the read
		// counts as sent.
		if (lane === 'triggerPoll') this.triggerPolledAt = monotonicNow();
		if (isPoll(lane)) return void (this.lastPolledAt = monotonicNow());
		this.lastSentAt = monotonicNow();
		this.requestBreaker.onSent();
		if (lane === 'read') return;
		this.unansweredCreates++;
		this.createBreaker.onSent();
	}

	/** Returns the handle of a request that goes out now. */
	private trackRequest(isCreate: boolean, waitingSince: number): AdmittedCall {
		const sentAt = monotonicNow();
		const breakers = [this.requestBreaker, ...(isCreate ? [this.createBreaker] : [])];
		let acceptedCall: AdmittedCall | undefined;
		return {
			isSpotCheck: false,
			get isRevoked() {
				return breakers.some((breaker) => breaker.hasOpenedSince(sentAt));
			},
			markAccepted: () => {
				this.updateLimits(isCreate, sentAt, waitingSince, 'succeeded');
				acceptedCall = this.trackInFlight();
			},
			end: (outcome, error) => {
				if (acceptedCall) return acceptedCall.end(outcome, error);
				this.updateLimits(isCreate, sentAt, waitingSince, outcome, error);
				return error;
			},
		};
	}

	/** Adds an accepted task or stream to those in flight, and returns its handle. */
	private trackInFlight(): AdmittedCall {
		const inFlight = ++this.inFlight;
		const isSpotCheck = inFlight === this.nextSpotCheck;
		if (isSpotCheck) this.nextSpotCheck *= 2;
		this.limit.onAccepted(inFlight);
		return {
			isSpotCheck,
			isRevoked: false,
			markAccepted: () => {},
			end: (outcome, error) => {
				if (outcome === 'succeeded') this.limit.onSuccess(inFlight);
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
		error?: unknown,
	): void {
		const { requestBreaker, createBreaker, failFast } = this;
		const hasAnswered = outcome === 'succeeded' || outcome === 'rejected';
		this.hasServiceAnswered ||= hasAnswered;
		if (hasAnswered) requestBreaker.onSuccess(sentAt);
		if (outcome === 'throttled') this.onThrottled(isCreate, sentAt, error as Failure);
		requestBreaker.onEnd(sentAt);
		if (!isCreate) return this.queue.notify();
		if (hasAnswered) createBreaker.onSuccess(sentAt);
		if (outcome === 'unavailable') createBreaker.onFailure(sentAt, true);
		createBreaker.onEnd(sentAt);
		if (outcome === 'succeeded') failFast.onAccepted();
		const isTemporary = outcome === 'throttled' || outcome === 'unavailable';
		if (isTemporary) failFast.onFailure(error as Failure, waitingSince, this.inFlight === 0);
		// If the call has created a task, the caller calls `admit` for the task a moment later. Until then, the create
		// call still counts as in flight, so that no other call takes its place.
		void sleep(0).then(() => {
			this.unansweredCreates--;
			this.queue.notify();
		});
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
