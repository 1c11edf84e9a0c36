import type { Credential } from '../http/credential';
import { failureOfStatus, readRetryAfter, saysTooMuch } from '../parsing/errors';
import { ACCOUNT_PATH } from '../contract';
import { readErrorBody, readText } from '../http/bodies';
import { abortReason, backOffMs, sleep, startDeadline, steadyNow } from '../async/deadline';
import { Failure, isFailure, isTransient, withFacts } from '../failure';
import {
	sendRequest,
	type HttpRequest,
	type HttpResponse,
	type ServiceContext,
} from '../http/request';
import { paceOf, type CallKind, type Pace } from '../pace/pace';
import { asWebUrl } from '../parsing/coerce';

/** How long one reading may take before it is given up, in ms. */
const READING_MS = 30_000;
/** How long the reading may take that shows whether an outage is over, in ms. */
const PROBE_MS = 10_000;
/** How many times a read, or a create call that was definitely not accepted, is sent at most. */
const MAX_ATTEMPTS = 5;
/** How long a read without a deadline of its own is sent again while the account is refused, in ms. */
const MAX_REFUSED_MS = 300_000;

/**
 * Which failures are repeated: of a `read` all that may pass; of a `create` call, which is paid for once
 * it is accepted, only refusals (a connection, 429); `once`: never; the caller has its own loop.
 */
type Repeat = 'read' | 'create' | 'once';

export interface ApiCall extends Pick<HttpRequest, 'method' | 'query' | 'body' | 'signal'> {
	path: string;
	repeat: Repeat;
	/** Milliseconds that one attempt may take; a reading's limit unless given. */
	limitMs?: number;
	/** Aborts when no further attempt may begin; one under way goes on. */
	begin?: AbortSignal;
	/** An event stream, which outlives the call: only its headers fall under `limitMs`. */
	streamed?: boolean;
	/** Called right before each attempt goes out, after any rest. */
	onSend?(): void;
	/** Called when the service has definitely not accepted an attempt of a create call. */
	onRefused?(): void;
}

/** The service itself has not answered. */
const UNANSWERED = ['noAnswer', 'unavailable', 'timedOut', 'notTheService'] as const;

/** A failed create call, with the fact whether it may be accepted, and charged, all the same. */
const ofCreate = (error: unknown): unknown =>
	isFailure(error, ...UNANSWERED, 'canceled', 'tooLarge') &&
	![401, 403].includes(error.facts.status ?? 0)
		? error.with({ maybeAccepted: true })
		: error;

/** Whether not the service has answered, but nobody, or what stands in front of it. */
const isOutage = (error: unknown): error is Failure =>
	isFailure(error, ...UNANSWERED, 'unreachable') ||
	(isFailure(error, 'notFound') && error.facts.isEdge === true);

/** Whether the service refuses for rate or load; with 503 it may have begun something all the same. */
const isRefusal = (error: unknown): error is Failure =>
	isFailure(error, 'rateLimited') ||
	(isFailure(error, 'unavailable') &&
		error.facts.status === 503 &&
		(error.facts.retryAfterMs !== undefined || saysTooMuch(error.facts.text)));

/** Tells the pace how a call has failed. `isAgain`: whether it is sent again. */
function recordFailure(
	pace: Pace,
	kind: CallKind,
	sentAt: number,
	failure: unknown,
	isAgain: boolean,
): void {
	if (!(failure instanceof Failure) || failure.kind === 'canceled') return;
	if (isRefusal(failure)) pace.recordRefusal(kind, sentAt, failure);
	else if (!isOutage(failure)) pace.recordAnswer(kind, sentAt, false);
	// A connection that was refused may only have come a moment too early.
	if (isOutage(failure) && kind === 'create' && !isAgain) pace.recordOutage(sentAt, failure);
}

/** A reading given up at its own limit may be repeated. */
const ofReading = (error: unknown): unknown =>
	isFailure(error, 'timedOut') ? new Failure('noAnswer', { transient: true }) : error;

/** Sends calls to the service's API, with the repetitions and limits that each may have. */
export class RetryingClient {
	constructor(
		readonly context: ServiceContext,
		readonly credential: Credential,
	) {}

	/** How the account may be asked; looked up anew each time, since it may be forgotten. */
	get pace(): Pace {
		return paceOf(this.credential);
	}

	/** Sends, and reads by `consume`, until an outcome, a failure not to repeat, or the signal. */
	protected async send<T>(
		call: ApiCall,
		consume: (answer: HttpResponse, signal: AbortSignal) => Promise<T>,
	): Promise<T> {
		const { begin = call.signal, limitMs = READING_MS } = call;
		const kind: CallKind = call.repeat === 'create' ? 'create' : 'read';
		const began = steadyNow();
		let last: unknown;
		for (let attempt = 0; ; attempt++) {
			// Nothing is under way here: what the service last said tells more than "timed out".
			if (begin.aborted) throw last ?? abortReason(begin);
			if (!(await this.waitForSlot(kind, begin))) throw this.whyNotSent(kind, begin, began, last);
			const { pace } = this;
			call.onSend?.();
			const sentAt = steadyNow();
			const limit = startDeadline(limitMs, call.signal);
			try {
				const result = await this.exchange(call, limit.signal, limitMs, consume);
				if (call.streamed) limit.lift();
				else limit.stop();
				pace.recordAnswer(kind, sentAt, true);
				return result;
			} catch (error) {
				limit.stop();
				const failure = call.signal.aborted ? abortReason(call.signal) : ofReading(error);
				last = kind === 'create' ? ofCreate(failure) : failure;
				if (last instanceof Failure && !last.facts.maybeAccepted) call.onRefused?.();
				const isAgain = !call.signal.aborted && this.mayRepeat(call, last, attempt, began);
				recordFailure(pace, kind, sentAt, last, isAgain);
				if (isFailure(last, 'rateLimited') && pace.isGivenUp) throw pace.lastFailure ?? last;
				if (!isAgain) throw last;
			} finally {
				pace.releaseSlot(kind, sentAt);
			}
			if (!isFailure(last, 'rateLimited')) await sleep(backOffMs(attempt), begin);
		}
	}

	/**
	 * Resolves with true once it is a call's turn, with false if `begin` aborts first, or the account is given
	 * up. After an outage a reading has to go well before something is paid for.
	 */
	private async waitForSlot(kind: CallKind, begin: AbortSignal): Promise<boolean> {
		for (;;) {
			const { pace } = this;
			if (!(await pace.acquireSlot(kind, begin))) return false;
			if (kind === 'read' || !pace.needsReading) return true;
			const sentAt = steadyNow();
			const probe: ApiCall = {
				method: 'GET',
				path: ACCOUNT_PATH,
				repeat: 'once',
				limitMs: PROBE_MS,
				signal: begin,
			};
			const failure = await this.send(probe, readText).then(
				() => undefined,
				(error: unknown) => error,
			);
			if (!begin.aborted && !isOutage(failure)) return true;
			if (!begin.aborted && isOutage(failure)) pace.recordOutage(sentAt, failure);
			pace.releaseSlot(kind, sentAt);
			if (pace.isGivenUp) return false;
		}
	}

	/** Why a call, which has waited since `since`, never went out; `last` is how it has failed before. */
	private whyNotSent(kind: CallKind, begin: AbortSignal, since: number, last: unknown): unknown {
		const reason = begin.aborted ? abortReason(begin) : undefined;
		if (reason && reason.kind !== 'timedOut') return last ?? reason;
		if (kind === 'read') return last ?? new Failure('rateLimited');
		if (reason) this.pace.recordTimeOut(since);
		// Only an account that is refused, or away, lets its callers wait.
		return this.pace.lastFailure ?? last ?? new Failure('rateLimited');
	}

	private mayRepeat({ repeat }: ApiCall, failure: unknown, attempt: number, began: number) {
		if (!(failure instanceof Failure) || repeat === 'once') return false;
		if (failure.kind === 'rateLimited') {
			// A create call waits for its turn until its deadline, as a batch within a rate limit has to.
			if (repeat === 'create') return true;
			// So does a read that has none, where the account is known to be let through at other times.
			if (this.pace.hasWorked && steadyNow() - began < MAX_REFUSED_MS) return true;
		}
		if (attempt + 1 >= MAX_ATTEMPTS) return false;
		if (repeat === 'read') return isTransient(failure);
		return failure.kind === 'unreachable' && failure.facts.text === 'refused';
	}

	/** One exchange, its answer read by `consume`; an error status is thrown as a Failure. */
	private async exchange<T>(
		call: ApiCall,
		signal: AbortSignal,
		timeoutMs: number,
		consume: (answer: HttpResponse, signal: AbortSignal) => Promise<T>,
	): Promise<T> {
		const answer = await sendRequest(this.context, {
			method: call.method,
			url: this.credential.baseUrl + call.path,
			query: call.query,
			body: call.body,
			accept: call.streamed ? 'text/event-stream, application/json' : 'application/json',
			timeoutMs,
			signal,
			credential: this.credential,
		});
		const isGood = answer.status >= 200 && answer.status < 300;
		const read = isGood ? consume(answer, signal) : this.throwFailureOf(call, answer, signal);
		return await read.catch((error: unknown) => {
			const retryAfterMs = readRetryAfter(answer.headers['retry-after'], Date.now());
			throw retryAfterMs === undefined ? error : withFacts(error, { retryAfterMs });
		});
	}

	private async throwFailureOf(
		{ method }: ApiCall,
		answer: HttpResponse,
		signal: AbortSignal,
	): Promise<never> {
		const text = await readErrorBody(answer, signal);
		const failure = failureOfStatus(answer.status, text);
		if (failure.kind !== 'redirected') throw failure;
		const { location } = answer.headers;
		const target = location ? asWebUrl(location, answer.url)?.origin : undefined;
		// Readings are sent on within the origin: one that comes to no end there is no API's.
		if (method === 'GET' && target === this.credential.origin) {
			throw new Failure('notTheService', { status: answer.status });
		}
		throw failure.with({ host: target });
	}
}
