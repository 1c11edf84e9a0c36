import { abortReason, monotonicNow, sleep } from '../async/deadline';
import { Queue } from '../async/queue';
import type { MemoryNeed } from '../async/memoryBudget';
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
/** A request that waits for its turn, or was admitted. */
interface Call {
	readonly kind: CallKind;
	/** When the caller first tried to send it, from `monotonicNow` like all times here. */
	readonly waitingSince: number;
	/** The memory for its body, if that is large. */
	readonly memory?: MemoryNeed;
	/** Whether a quota counted as used up when the request began to wait. */
	readonly wasQuotaExhausted: boolean;
	/** When it was admitted. The limits take this for the time when it was sent. */
	admittedAt: number;
}
/** How often a request that waits only for memory looks for it, in ms. */
const MEMORY_RECHECK_MS = 100;
/** The least time between two background reads, in ms. */
const BACKGROUND_INTERVAL_MS = 125;
/** While there is a request interval, the time between two background reads is at least this many times as long. */
const BACKGROUND_FACTOR = 10;
/**
 * If a task raises the number in flight to this count for the first time, it is read early, as is the next one that
 * raises it by a quarter, and so on. An overloaded service fails tasks after it has charged them, so an overload has to
 * be noticed soon.
 */
const FIRST_SPOT_CHECK = 8;
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
	/**
	 * Call this exactly once: with `succeeded` as soon as the service has accepted the call, or else when the call has
	 * ended. `failure` is needed if the outcome is `throttled` or `unavailable`. Gives back the memory of the body.
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
 *
 * A create call goes out as soon as all of this is true:
 *
 * - The cooldown of both circuit breakers is over, and no probe is waited for.
 * - The request interval has passed since the last request of any kind.
 * - It fits in the concurrency limit. If that is less than 1, its pause is over.
 * - No request of a kind with a lower rank could go out now, because that one would go first.
 * - The memory for its body is free. Until then, it holds up no other request of the account.
 *
 * Other requests don't wait for `createBreaker` and the concurrency limit. While a quota counts as used up, create calls
 * wait for nothing but memory (see `FailFast`).
 */
export class Throttle {
	/** How many tasks and generation streams of this process's executions are in flight. */
	inFlight = 0;
	/** How many tasks and generation streams may be in flight. */
	readonly limit = new ConcurrencyLimit();
	private readonly interval = new RequestInterval();
	readonly failFast = new FailFast();
	/**
	 * Stops requests of all kinds during its cooldown. That begins when a read is throttled, or when a create call is
	 * throttled because of the rate. A create call that is throttled for another reason slows down create calls only
	 * (see `onThrottled`).
	 */
	private readonly requestBreaker = new CircuitBreaker();
	/** Stops create calls during an outage or overload. It starts half-open: the first create call is a probe. */
	readonly createBreaker = new CircuitBreaker(false);
	private readonly queue = new Queue<Call>(
		(call) => this.delayMs(call),
		(call) => this.onAdmit(call),
		({ kind }) => RANKS[kind],
	);
	/** When the last request was admitted. */
	private lastAdmittedAt = 0;
	/** The earliest time at which the next background read may be admitted. */
	private nextBackgroundAt = 0;
	/** How many create calls were admitted and are neither answered nor accepted yet. */
	private unansweredCreates = 0;
	private nextSpotCheck = FIRST_SPOT_CHECK;

	/**
	 * Resolves once a request of this kind may go out. The caller must call `end` of the result.
	 * Throws a Failure if `signal` aborts first, or if a quota turns out to be used up while a create call waits.
	 *
	 * `waitingSince` is when the caller first tried to send this call, from `monotonicNow`. `memory`, if given, is taken
	 * for as long as the call is neither accepted nor ended.
	 */
	async admit(
		kind: CallKind,
		signal: AbortSignal,
		waitingSince = 0,
		memory?: MemoryNeed,
	): Promise<AdmittedCall> {
		const { isQuotaExhausted: wasQuotaExhausted } = this.failFast;
		const call: Call = { kind, waitingSince, memory, wasQuotaExhausted, admittedAt: 0 };
		// What waits for memory has a lane of its own, so that it holds up no other create call.
		const isAdmitted = await this.queue.enter(call, signal, memory ? 'memory' : kind);
		if (isAdmitted && !this.failsFast(call))
			return { end: (outcome, failure) => this.onEnd(call, outcome, failure) };
		if (isAdmitted) this.onEnd(call, 'unknown');
		const reason = abortReason(signal);
		if (kind !== 'create') throw reason;
		if (reason.kind === 'timedOut') this.failFast.onTimedOut(waitingSince, this.inFlight === 0);
		this.queue.notify();
		throw this.failFast.lastFailure ?? reason;
	}

	/** How many create calls wait for their turn. Those that wait for memory don't count: they hold up nothing else. */
	get waitingCreates(): number {
		return this.queue.countIn('create');
	}

	/**
	 * True for a create call that was waiting when the quota turned out to be used up: it is not sent. One that comes
	 * later is sent, because only its answer tells whether the quota was refilled.
	 */
	private failsFast({ kind, wasQuotaExhausted }: Call): boolean {
		return kind === 'create' && this.failFast.isQuotaExhausted && !wasQuotaExhausted;
	}

	/** The ms until a request may go out; Infinity while it waits for an event (a call ends, say). */
	private delayMs(call: Call): number {
		const { kind, memory } = call;
		const { failFast, requestBreaker, interval, createBreaker, limit } = this;
		const now = monotonicNow();
		const delays = [requestBreaker.delayMs, this.lastAdmittedAt + interval.ms - now];
		if (kind === 'background') delays.push(this.nextBackgroundAt - now);
		if (kind === 'create')
			delays.push(createBreaker.delayMs, limit.delayMs(this.inFlight + this.unansweredCreates));
		const delayMs = kind === 'create' && failFast.isQuotaExhausted ? 0 : Math.max(...delays);
		// A request that still waits for something else must not keep a place in the order of those that wait for memory.
		const waitsForMemory = delayMs <= 0 && memory && !this.failsFast(call);
		return waitsForMemory && !memory.budget.isFree(memory) ? MEMORY_RECHECK_MS : delayMs;
	}

	/** Records that a request is admitted now, and takes the memory for its body. */
	private onAdmit(call: Call): void {
		call.memory?.budget.take(call.memory);
		call.admittedAt = this.lastAdmittedAt = monotonicNow();
		this.requestBreaker.onSent();
		const backgroundMs = Math.max(BACKGROUND_INTERVAL_MS, BACKGROUND_FACTOR * this.interval.ms);
		if (call.kind === 'background') this.nextBackgroundAt = monotonicNow() + backgroundMs;
		if (call.kind !== 'create') return;
		this.unansweredCreates++;
		this.createBreaker.onSent();
	}

	/** Adds an accepted task or stream to those in flight, and returns its handle. */
	startTask(): RunningTask {
		const inFlight = ++this.inFlight;
		const isSpotCheck = inFlight === this.nextSpotCheck;
		if (isSpotCheck) this.nextSpotCheck = Math.ceil(1.25 * inFlight);
		this.limit.onAccepted(inFlight);
		return {
			isSpotCheck,
			end: (error) => {
				this.inFlight--;
				this.queue.notify();
				if (error === undefined) this.limit.onSuccess(inFlight);
				if (!isOverload(error)) return error;
				this.limit.onOverload(inFlight - 1);
				const safeInFlight = Math.max(1, Math.floor(this.limit.current));
				return withDefaultFacts(error, { safeInFlight });
			},
		};
	}

	/** Updates all limits after a request was accepted or has ended. */
	private onEnd(call: Call, outcome: Outcome, failure?: Failure): void {
		const { kind, memory, admittedAt, waitingSince } = call;
		const { requestBreaker, createBreaker, failFast } = this;
		memory?.budget.giveBack(memory);
		const hasAnswered = outcome === 'succeeded' || outcome === 'rejected';
		if (outcome === 'throttled') this.onThrottled(call, failure!);
		requestBreaker.onEnd(admittedAt, hasAnswered);
		if (kind === 'create') {
			if (outcome === 'unavailable') createBreaker.onFailure(admittedAt, true);
			createBreaker.onEnd(admittedAt, hasAnswered);
			if (outcome === 'succeeded') failFast.onAccepted();
			const isTemporary = outcome === 'throttled' || outcome === 'unavailable';
			if (isTemporary) failFast.onFailure(failure!, waitingSince, this.inFlight === 0);
			// A task that the call has created begins a moment later. Until then, no other call may take its place.
			void sleep(0).then(() => {
				this.unansweredCreates--;
				this.queue.notify();
			});
		}
		this.queue.notify();
	}

	/** Limits the number in flight, or delays create calls or all requests, as the reason of a refusal says. */
	private onThrottled({ kind, admittedAt }: Call, failure: Failure): void {
		const { reason, retryAfterMs } = failure.facts;
		if (kind === 'create' && mentionsConcurrency(reason)) {
			this.limit.onRefused(admittedAt, this.inFlight);
		} else if (kind === 'create' && failure.kind !== 'throttled') {
			// This is a 503: the service as a whole is overloaded, so the limits of this account stay as they are.
			this.createBreaker.onFailure(admittedAt, false, retryAfterMs);
		} else {
			this.interval.onThrottled(admittedAt);
			this.requestBreaker.onFailure(admittedAt, false, retryAfterMs);
		}
	}
}
