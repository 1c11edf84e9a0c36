import type { Credential } from '../http/credential';
import { failureOfStatus, isOverload, readRetryAfter } from '../parsing/errors';
import { readErrorBody } from '../http/bodies';
import { abortReason, sleep, startDeadline, steadyNow } from '../async/deadline';
import { Failure, isFailure, isTransient, type FailureKind } from '../failure';
import {
	sendRequest,
	type HttpRequest,
	type HttpResponse,
	type ServiceContext,
} from '../http/request';
import { backOffMs } from '../async/backOff';
import { rateLimitOf, type CallKind, type RateLimit } from '../pace/rateLimit';
import { asWebUrl } from '../parsing/coerce';

/** How long one reading may take before it is given up, in ms. */
const READING_MS = 30_000;
/** How many times a read, or a create call that was definitely not accepted, is sent at most. */
const MAX_ATTEMPTS = 5;
/** How long a read without a deadline of its own is sent again while the account is refused, in ms. */
const MAX_REFUSED_MS = 300_000;

/**
 * Which failures are repeated: of a `read` all that may pass; of a `create` call, which is paid for once
 * it is accepted, only refusals (a connection, 429); `once`: none, because the caller repeats by itself.
 */
type Repeat = 'read' | 'create' | 'once';

export interface ApiCall extends Pick<HttpRequest, 'method' | 'query' | 'body' | 'signal'> {
	path: string;
	repeat: Repeat;
	/** Milliseconds that one attempt may take; a reading's limit unless given. */
	limitMs?: number;
	/** Aborts when no further attempt may begin; one under way goes on. */
	begin?: AbortSignal;
	/** When a reading is sent though the account rests, unless readings were refused; ms since 1970. */
	lastAt?: number;
	/** An event stream, which outlives the call: only its headers fall under `limitMs`. */
	streamed?: boolean;
	/** Called right before each attempt goes out, after any cooldown. */
	onSend?(): void;
	/** Called when the service has definitely not accepted an attempt of a create call. */
	onRefused?(): void;
}

/** Told what the service makes of the work that is asked of it. */
export interface LoadListener {
	/** It has accepted a create call. */
	accepted(): void;
	/** It refuses for rate or load what was sent at `sentAt`, in ms since 1970. */
	refused(sentAt: number): void;
}

/** After these the service may have accepted (and charged) a create call without saying so. */
const UNSURE = new Set<FailureKind>([
	'noAnswer',
	'unavailable',
	'timedOut',
	'canceled',
	'notTheService',
	'tooLarge',
]);

/** A failed create call, with the fact whether it may be charged all the same. */
const ofCreate = (error: unknown): unknown =>
	error instanceof Failure &&
	UNSURE.has(error.kind) &&
	![401, 403].includes(error.facts.status ?? 0)
		? error.with({ maybeAccepted: true })
		: error;

/** Why a call never went out: only an account that is refused lets its callers wait. */
const notClear = (begin: AbortSignal): Failure => {
	const reason = abortReason(begin);
	return reason.kind === 'timedOut' ? new Failure('rateLimited') : reason;
};

/** A reading given up at its own limit may be repeated. */
const ofReading = (error: unknown): unknown =>
	isFailure(error, 'timedOut') ? new Failure('noAnswer', { transient: true }) : error;

/** Sends calls to the service's API, with the repetitions and limits that each may have. */
export class RetryingClient {
	constructor(
		readonly context: ServiceContext,
		readonly credential: Credential,
		private readonly load?: LoadListener,
	) {}

	/** What is learnt of the account's limits; asked for anew each time, since it may be forgotten. */
	get rateLimit(): RateLimit {
		return rateLimitOf(this.credential);
	}

	/** Sends, and reads by `consume`, until an outcome, a failure not to repeat, or the signal. */
	protected async send<T>(
		call: ApiCall,
		consume: (answer: HttpResponse, signal: AbortSignal) => Promise<T>,
	): Promise<T> {
		const { begin = call.signal, limitMs = READING_MS } = call;
		const began = steadyNow();
		let last: unknown;
		for (let attempt = 0; ; attempt++) {
			// Nothing is under way here: what the service last said tells more than "timed out".
			if (begin.aborted) throw last ?? abortReason(begin);
			const isClear = await this.rateLimit.waitForSlot(begin, call.lastAt);
			if (!isClear) throw last ?? notClear(begin);
			call.onSend?.();
			const limit = startDeadline(limitMs, call.signal);
			try {
				const result = await this.exchange(call, limit.signal, limitMs, consume);
				if (call.streamed) limit.lift();
				else limit.stop();
				if (call.repeat === 'create') this.load?.accepted();
				return result;
			} catch (error) {
				limit.stop();
				const failure = call.signal.aborted ? abortReason(call.signal) : ofReading(error);
				last = call.repeat === 'create' ? ofCreate(failure) : failure;
				if (last instanceof Failure && !last.facts.maybeAccepted) call.onRefused?.();
				if (call.signal.aborted || !this.mayRepeat(call, last, attempt, began)) throw last;
			}
			if (!isFailure(last, 'rateLimited')) await sleep(backOffMs(attempt), begin);
		}
	}

	private mayRepeat({ repeat }: ApiCall, failure: unknown, attempt: number, began: number) {
		if (!(failure instanceof Failure) || repeat === 'once') return false;
		if (failure.kind === 'rateLimited') {
			// A create call waits for its turn until its deadline, as a batch within a rate limit has to.
			if (repeat === 'create') return true;
			// So does a read that has none, where the account is known to be let through at other times.
			if (this.rateLimit.hasWorked && steadyNow() - began < MAX_REFUSED_MS) return true;
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
		const sentAt = steadyNow();
		const answer = await sendRequest(this.context, {
			method: call.method,
			url: this.credential.baseUrl + call.path,
			query: call.query,
			body: call.body,
			accept: call.streamed ? 'text/event-stream, application/json' : 'application/json',
			timeoutMs,
			signal,
			credential: this.credential,
		}).finally(() => this.rateLimit.answered());
		const kind: CallKind = call.repeat === 'create' ? 'create' : 'read';
		const isGood = answer.status >= 200 && answer.status < 300;
		const read = isGood ? consume(answer, signal) : this.throwFailureOf(call, answer, signal);
		return await read.then(
			(result) => {
				this.rateLimit.accepted(kind, sentAt);
				return result;
			},
			(error: unknown) => {
				const retryAfterMs = readRetryAfter(answer.headers['retry-after'], Date.now());
				// Some refuse with status 200, and say so in the body.
				const isLimited = isFailure(error, 'rateLimited');
				const isTooMuch = retryAfterMs !== undefined || isOverload(error);
				const isRefused = isLimited || (answer.status === 503 && isTooMuch);
				if (isRefused) this.rateLimit.refused(kind, sentAt, retryAfterMs);
				else this.rateLimit.accepted(kind, sentAt);
				if (isRefused || answer.status === 503) this.load?.refused(sentAt);
				throw isLimited ? error.with({ retryAfterMs }) : error;
			},
		);
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
