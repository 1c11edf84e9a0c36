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
 * Priorities in the queue: of several calls that may go out, the one with the lowest number is first. A poll is a read
 * of a task that is not urgent, for example because no message has announced the end of the task.
 */
const LANES = { read: 0, create: 1, poll: 2 };
/**
 * When a task raises the number in flight to one of these counts for the first time, that task is read early. An
 * overloaded service fails tasks that are charged, so an overload must show before more tasks are created.
 */
const SPOT_CHECK_COUNTS = [16, 32, 64, 128, 256];
/**
 * The longest jitter of the cooldown after a throttled request, in ms, unless `onThrottled` takes a longer one. The
 * jitter keeps processes that share an account from sending at the same moment.
 */
const JITTER_MS = 100;

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
 * - `rejected`: the service answered, but neither did what was asked nor refused for rate or load. A call that was
 *   accepted and gets no result counts as rejected as well.
 * - `throttled`: the service refused for rate or load.
 * - `unavailable`: nobody answered, or only a proxy did, or the answer was any other server error.
 * - `unknown`: the call says nothing about the service, for example because it was never sent.
 */
export type Outcome = 'succeeded' | 'rejected' | 'throttled' | 'unavailable' | 'unknown';

/** The handle of a call that may go out now, from `Throttle.admit`. The caller reports with it how the call went. */
export interface AdmittedCall {
	/**
	 * True if this call has the kind `task` and was the first to raise the number in flight to a count for a spot
	 * check. Read its task early.
	 */
	readonly isSpotCheck: boolean;
	/**
	 * Call this at most once, when the service has accepted a create call that goes on, such as a stream. The call is
	 * in flight until `end`.
	 */
	markAccepted(): void;
	/**
	 * Call this exactly once, however the call ended. Until then, a `task` and an accepted create call count as in
	 * flight, and any other create call as unanswered. Returns `error`. If the call was in flight and `error` is an
	 * overload, returns a copy of `error` that also has the fact `safeInFlight`.
	 */
	end(outcome: Outcome, error?: unknown): unknown;
}

/**
 * Decides when the next request of an account goes out. A request waits for its turn in the queue, for the circuit
 * breaker, and for the request interval. A create call also waits for a circuit breaker of its own and for the
 * concurrency limit.
 *
 * All executions and triggers of this process that use the account share one throttle; `throttleOf` finds it. Its state
 * is only in memory, because the service does not announce its limits and may change them.
 */
export class Throttle {
	/**
	 * True once a request has succeeded or was rejected; a throttled one does not count. Until then, waiting is
	 * considered useless, so a throttled read is repeated only a few times.
	 */
	hasEverAnswered = false;
	/** How many tasks and generation streams of this process's executions are in flight. */
	inFlight = 0;
	/** How many tasks and generation streams may be in flight. */
	readonly limit = new ConcurrencyLimit();
	/** The queue for the background reads of triggers. */
	readonly backgroundQueue = new TokenBucket();
	private readonly interval = new RequestInterval();
	/** Decides when create calls stop waiting, because a quota is used up. */
	private readonly failFast = new FailFast();
	/** Stops all requests for a while after one was throttled, unless `onThrottled` slows down only create calls. */
	private readonly requestBreaker = new CircuitBreaker('closed');
	/**
	 * Stops create calls while the service is unavailable or overloaded. It starts half-open: the first create call is
	 * a probe.
	 */
	private readonly createBreaker = new CircuitBreaker('half-open');
	/** All requests that wait to be sent, one lane per kind. */
	private readonly queue = new Queue<keyof typeof LANES>(
		(kind) => this.delayMs(kind),
		(kind) => this.onAdmit(kind),
		3,
	);
	/** The queue of polls. A poll waits while any read waits, and while a create call could go out instead. */
	readonly pollQueue = {
		enter: async (signal: AbortSignal) => await this.queue.enter(signal, 'poll', LANES.poll),
	};
	readonly coalescedReads = new CoalescedReads();
	/**
	 * When a request was last throttled, from `monotonicNow`, as all times in this class. A throttled request that was
	 * sent before that time does not change it.
	 */
	private lastThrottledAt = 0;
	/** When the last read or create call was admitted. */
	private lastSentAt = 0;
	/** When the last poll was admitted. */
	private lastPolledAt = 0;
	/** How many create calls were admitted and are neither answered nor accepted yet. */
	private unansweredCreates = 0;
	/** The most tasks and streams that were ever in flight at once. */
	private peakInFlight = 0;

	/**
	 * True from the time when a quota counts as used up until a create call is accepted. Meanwhile no request waits in
	 * the queue, and a throttled one is not sent again.
	 */
	get isQuotaExhausted(): boolean {
		return this.failFast.isOn;
	}

	/**
	 * True during an outage: the service must answer a read, even with a refusal, before the next create call may go
	 * out.
	 */
	get needsHealthCheck(): boolean {
		return this.createBreaker.isOutage;
	}

	/**
	 * Resolves once a call of this kind may go out; a `task` may always. The caller must call `end` of the result.
	 *
	 * `waitingSince` is when the caller first tried to send this call, from `monotonicNow`. If `signal` aborts first, a
	 * read throws the signal's reason. A create call throws the last temporary Failure of a create call if none was
	 * accepted since, otherwise the signal's reason. It throws that Failure also when a quota turns out to be used up
	 * while it waits.
	 */
	async admit(kind: CallKind, signal: AbortSignal, waitingSince = 0): Promise<AdmittedCall> {
		if (kind === 'task') return this.trackInFlight();
		const wasQuotaExhausted = this.isQuotaExhausted;
		const isAdmitted = await this.queue.enter(signal, kind, LANES[kind]);
		const call = isAdmitted ? this.trackRequest(kind === 'create') : undefined;
		if (call && (kind === 'read' || wasQuotaExhausted || !this.isQuotaExhausted)) return call;
		call?.end('unknown');
		const reason = abortReason(signal);
		if (kind === 'read') throw reason;
		if (reason.kind === 'timedOut') this.failFast.onTimedOut(waitingSince, this.inFlight === 0);
		this.queue.notify();
		throw this.failFast.lastFailure ?? reason;
	}

	/**
	 * How long the first request of this kind still has to wait, in ms. 0 or less means that it may go out now.
	 * Infinity means that it waits for an event instead, for example the end of a call in flight.
	 */
	private delayMs(kind: keyof typeof LANES): number {
		if (this.isQuotaExhausted) return 0;
		const lastAt = kind === 'poll' ? this.lastPolledAt : this.lastSentAt;
		const requestDelayMs = Math.max(
			this.requestBreaker.delayMs,
			lastAt + this.interval.ms - monotonicNow(),
		);
		if (kind === 'read') return requestDelayMs;
		const limitDelayMs = this.limit.delayMs(this.inFlight + this.unansweredCreates);
		const createDelayMs = Math.max(this.createBreaker.delayMs, limitDelayMs);
		if (kind === 'create') return Math.max(requestDelayMs, createDelayMs);
		// The service may count polls in its rate limit, so a poll never takes the turn of a read or a create call.
		const { queue } = this;
		const isPollNext =
			queue.isEmpty(LANES.read) && (queue.isEmpty(LANES.create) || createDelayMs > 0);
		return isPollNext ? requestDelayMs : Infinity;
	}

	/**
	 * Records that a request of this kind is admitted now. The queue calls this method right before it admits the
	 * request.
	 */
	private onAdmit(kind: keyof typeof LANES): void {
		// After its turn, a poll is queued again as a read, and that read counts as sent. So the poll itself does not.
		if (kind === 'poll') return void (this.lastPolledAt = monotonicNow());
		this.lastSentAt = monotonicNow();
		this.requestBreaker.onSent();
		if (kind === 'read') return;
		this.unansweredCreates++;
		this.createBreaker.onSent();
	}

	/** Returns the handle of a request that goes out now. */
	private trackRequest(isCreate: boolean): AdmittedCall {
		const sentAt = monotonicNow();
		let accepted: AdmittedCall | undefined;
		return {
			isSpotCheck: false,
			markAccepted: () => {
				this.onAnswer(isCreate, sentAt, 'succeeded');
				accepted = this.trackInFlight();
			},
			end: (outcome, error) => {
				if (accepted) return accepted.end(outcome, error);
				this.onAnswer(isCreate, sentAt, outcome, error);
				return error;
			},
		};
	}

	/** Adds an accepted task or stream to those in flight, and returns its handle. */
	private trackInFlight(): AdmittedCall {
		const inFlight = ++this.inFlight;
		const acceptedAt = monotonicNow();
		const isSpotCheck = inFlight > this.peakInFlight && SPOT_CHECK_COUNTS.includes(inFlight);
		this.peakInFlight = Math.max(this.peakInFlight, inFlight);
		this.limit.onAccepted(inFlight);
		return {
			isSpotCheck,
			markAccepted: () => {},
			end: (outcome, error) => {
				if (outcome === 'succeeded') this.limit.onSuccess(inFlight, monotonicNow() - acceptedAt);
				const wasOverload = isOverload(error);
				if (wasOverload) this.limit.onOverload(inFlight - 1);
				this.inFlight--;
				this.queue.notify();
				return wasOverload
					? withDefaultFacts(error, { safeInFlight: this.limit.safeInFlight })
					: error;
			},
		};
	}

	/** Updates all limits after a request that was sent at `sentAt` was accepted or has ended. */
	private onAnswer(isCreate: boolean, sentAt: number, outcome: Outcome, error?: unknown): void {
		const { requestBreaker, createBreaker, failFast } = this;
		const hasAnswered = outcome === 'succeeded' || outcome === 'rejected';
		this.hasEverAnswered ||= hasAnswered;
		if (hasAnswered && sentAt > this.lastThrottledAt) this.interval.onAccepted();
		if (hasAnswered) requestBreaker.onSuccess(sentAt);
		if (outcome === 'throttled') this.onThrottled(isCreate, sentAt, error as Failure);
		requestBreaker.onEnd(sentAt);
		if (!isCreate) return this.queue.notify();
		if (hasAnswered) createBreaker.onSuccess(sentAt);
		if (outcome === 'unavailable') createBreaker.onFailure(sentAt, true);
		createBreaker.onEnd(sentAt);
		if (outcome === 'succeeded') failFast.onAccepted();
		const isTemporary = outcome === 'throttled' || outcome === 'unavailable';
		if (isTemporary) failFast.onFailure(error as Failure, this.inFlight === 0);
		// The caller admits the new task a moment later. Until then the create call still counts, or a slot would seem
		// free.
		void sleep(0).then(() => {
			this.unansweredCreates--;
			this.queue.notify();
		});
	}

	/** Slows down what the refusal was about: the number in flight, create calls, or all requests. */
	private onThrottled(isCreate: boolean, sentAt: number, { kind, facts }: Failure): void {
		const { text, retryAfterMs } = facts;
		// Requests that were sent before the last throttled answer met the same limit, so they do not count again.
		const isNewThrottling = sentAt > this.lastThrottledAt;
		if (isNewThrottling) this.lastThrottledAt = monotonicNow();
		if (isCreate && mentionsConcurrency(text)) {
			if (isNewThrottling) this.limit.onRefused(this.inFlight);
		} else if (isCreate && kind !== 'rateLimited') {
			// The service has answered with a 503: it is overloaded. That says nothing about this account's limits.
			this.createBreaker.onFailure(sentAt, false, retryAfterMs, JITTER_MS);
		} else {
			if (isNewThrottling) this.interval.onThrottled();
			const jitterMs = Math.max(JITTER_MS, this.interval.ms);
			this.requestBreaker.onFailure(sentAt, false, retryAfterMs, jitterMs);
		}
	}
}

/** The one throttle of a credential's account in this process. */
export const throttleOf = (credential: { accountKey: string }): Throttle =>
	accountOf(credential).get(Throttle);
