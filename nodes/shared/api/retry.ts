import type { Credential } from '../http/credential';
import { failureOfStatus, readRetryAfter } from '../parsing/errors';
import { meaningOf } from '../parsing/errorTable';
import { ACCOUNT_PATH } from '../contract';
import { readErrorBody, readText } from '../http/bodies';
import { abortReason, backOffMs, sleep, startDeadline, monotonicNow } from '../async/deadline';
import { Failure, isFailure, isTransient, withDefaultFacts } from '../failure';
import {
	sendRequest,
	type HttpRequest,
	type HttpResponse,
	type ServiceContext,
} from '../http/request';
import { throttleOf, type CallKind, type Outcome, type Throttle } from '../pace/throttle';
import { asWebUrl } from '../parsing/values';

/** How long one reading may take before it is given up, in ms. */
const READ_TIMEOUT_MS = 30_000;
/** How long the reading may take that shows whether an outage is over, in ms. */
const PROBE_TIMEOUT_MS = 10_000;
/** How many times a read, or a create call that was definitely not accepted, is sent at most. */
const MAX_CALL_ATTEMPTS = 5;
/** How long a read without a deadline of its own is sent again while the account is refused, in ms. */
const MAX_THROTTLED_READ_MS = 300_000;

/**
 * Which failures are repeated: of a `read` all that may pass; of a `create` call, which is paid for once
 * it is accepted, only refusals (a connection, 429); `once`: never; the caller has its own loop.
 */
type RetryPolicy = 'read' | 'create' | 'once';

export interface ApiCall extends Pick<HttpRequest, 'method' | 'query' | 'signal'> {
	path: string;
	repeat: RetryPolicy;
	/** Its bytes may be taken out once the call is accepted, to free their memory. */
	body?: { bytes?: Buffer };
	/** Milliseconds that one attempt may take; a reading's limit unless given. */
	attemptTimeoutMs?: number;
	/** Aborts when no further attempt may begin; one under way goes on. */
	stopStarting?: AbortSignal;
	/** Asks for an event stream. */
	streamed?: boolean;
	/** Called right before each attempt goes out, after any rest; puts the bytes into the body. */
	onSend?(): Promise<void>;
	/** Called when the service has definitely not accepted an attempt of a create call. */
	onRefused?(): void;
}

/** Nobody has answered, or what stands in front of the service: a create call may be accepted all the same. */
const NO_RESPONSE_KINDS = ['noResponse', 'unavailable', 'timedOut', 'foreignServer'] as const;

/** How a call ended that has failed. */
function outcomeOf(failure: Failure): Outcome {
	const { kind, facts } = failure;
	if (kind === 'canceled') return 'unknown';
	// With 503 it may have begun something all the same.
	const saysBusy = facts.retryAfterMs !== undefined || facts.means === 'throttled';
	const isBusy = kind === 'unavailable' && facts.status === 503 && saysBusy;
	if (kind === 'rateLimited' || isBusy) return 'throttled';
	return isFailure(failure, ...NO_RESPONSE_KINDS, 'unreachable') ? 'unavailable' : 'rejected';
}

/** How a call has failed, with the fact whether it may be charged all the same. Throws what is no Failure. */
function toCallFailure({ repeat, signal }: ApiCall, error: unknown): Failure {
	// A reading given up at its own limit may be repeated.
	const failureOrTimeout = isFailure(error, 'timedOut')
		? new Failure('noResponse', { transient: true })
		: error;
	const failure = signal.aborted ? abortReason(signal) : failureOrTimeout;
	if (!(failure instanceof Failure)) throw failure;
	const mayBeCharged =
		isFailure(failure, ...NO_RESPONSE_KINDS, 'canceled', 'tooLarge') &&
		![401, 403, 404].includes(failure.facts.status ?? 0);
	return repeat === 'create' && mayBeCharged ? failure.withDefaults({ mayBeCharged }) : failure;
}

/**
 * Reads an answer. `accept` is to be called where the service has accepted a call whose answer takes long:
 * it no longer counts as a call, its limit no longer holds, and it is not sent again whatever comes.
 */
export type ResponseReader<T> = (
	answer: HttpResponse,
	signal: AbortSignal,
	accept: () => void,
) => Promise<T>;

/** Sends calls to the service's API, with the repetitions and limits that each may have. */
export class RetryingClient {
	/** How the account may be asked. */
	readonly throttle: Throttle;
	/** How the token was refused: no further create call goes out. */
	private refused: Failure | undefined;
	/** The service has done what it was asked with this token. */
	private hasWorked = false;

	constructor(
		readonly context: ServiceContext,
		readonly credential: Credential,
	) {
		this.throttle = throttleOf(credential);
	}

	/** Sends, and reads by `consume`, until an outcome, a failure not to repeat, or the signal. */
	protected async send<T>(call: ApiCall, consume: ResponseReader<T>): Promise<T> {
		const { throttle } = this;
		const { stopStarting = call.signal, attemptTimeoutMs = READ_TIMEOUT_MS } = call;
		const kind: CallKind = call.repeat === 'create' ? 'create' : 'read';
		const began = monotonicNow();
		let lastFailure: Failure | undefined;
		for (let attempt = 0; ;) {
			const turn = await throttle.admit(kind, stopStarting, began).catch((reason: unknown) => {
				// Nothing is under way here: what the service last said tells more.
				throw lastFailure ?? reason;
			});
			const outage =
				kind === 'create' && throttle.needsReading ? await this.probe(stopStarting) : undefined;
			if (outage) {
				turn.end(outcomeOf(outage), outage);
				if (throttle.isExhausted) throw outage;
				continue;
			}
			if (kind === 'create' && this.refused) {
				turn.end('unknown');
				throw this.refused;
			}
			await call.onSend?.().catch((error: unknown) => {
				turn.end('unknown');
				throw error;
			});
			const limit = startDeadline(attemptTimeoutMs, call.signal);
			let isAccepted = false;
			const accept = () => {
				if (isAccepted) return;
				isAccepted = true;
				limit.disarm();
				turn.accept();
			};
			const result = await this.exchange(call, limit.signal, consume, accept)
				.catch((error: unknown) => {
					if (!isAccepted) return toCallFailure(call, error);
					throw turn.end('rejected', error);
				})
				.finally(() => limit.stop());
			if (!(result instanceof Failure)) {
				this.hasWorked = true;
				turn.end('succeeded');
				return result;
			}
			lastFailure = await this.withTokenChecked(call, result);
			if (kind === 'create' && lastFailure.kind === 'tokenRefused') this.refused = lastFailure;
			if (!lastFailure.facts.mayBeCharged) call.onRefused?.();
			const willRetry = this.mayRepeat(call, lastFailure, attempt++, began);
			// A connection that was refused may only have come a moment too early.
			const isRetriedRefusal = willRetry && lastFailure.kind === 'unreachable';
			turn.end(isRetriedRefusal ? 'unknown' : outcomeOf(lastFailure), lastFailure);
			if (!willRetry) throw lastFailure;
			if (lastFailure.kind !== 'rateLimited') await sleep(backOffMs(attempt - 1), stopStarting);
		}
	}

	/**
	 * A refusal that may mean the token (403), or is no answer to it (an event), counts so only where words
	 * or the account's answer say so: else the service does not allow what was asked for.
	 */
	private async withTokenChecked(call: ApiCall, failure: Failure): Promise<Failure> {
		const { kind, facts } = failure;
		const isSure = facts.status === 401 || call.path === ACCOUNT_PATH;
		if (kind !== 'tokenRefused' || isSure) return failure;
		const hasWorked = call.repeat === 'create' && this.hasWorked;
		const isToken =
			!hasWorked &&
			(meaningOf(facts.text) === 'token' ||
				isFailure(await this.readAccount(call.signal), 'tokenRefused'));
		return isToken ? failure : new Failure('rejected', { ...facts, means: 'not_allowed' });
	}

	/** Reads the account once: why that fails, if so. */
	private async readAccount(signal: AbortSignal): Promise<Failure | undefined> {
		const path = ACCOUNT_PATH;
		const call: ApiCall = {
			method: 'GET',
			path,
			repeat: 'once',
			attemptTimeoutMs: PROBE_TIMEOUT_MS,
			signal,
		};
		return await this.send(call, readText).then(
			() => undefined,
			(error: Failure) => error,
		);
	}

	/** After an outage a reading has to go well before something is paid for: why it does not, if so. */
	private async probe(signal: AbortSignal): Promise<Failure | undefined> {
		const failure = await this.readAccount(signal);
		const isAway = failure && ['unavailable', 'unknown'].includes(outcomeOf(failure));
		return isAway ? failure : undefined;
	}

	private mayRepeat(
		{ repeat, signal }: ApiCall,
		failure: Failure,
		attempt: number,
		began: number,
	): boolean {
		if (repeat === 'once' || signal.aborted) return false;
		if (failure.kind === 'rateLimited') {
			if (this.throttle.isExhausted) return false;
			// A create call waits for its turn until its deadline, as a batch within a rate limit has to.
			if (repeat === 'create') return true;
			// So does a read that has none, where the account is known to be let through at other times.
			if (this.throttle.hasWorked && monotonicNow() - began < MAX_THROTTLED_READ_MS) return true;
		}
		if (attempt + 1 >= MAX_CALL_ATTEMPTS) return false;
		if (repeat === 'read') return isTransient(failure);
		return failure.kind === 'unreachable' && failure.facts.text === 'refused';
	}

	/** One exchange, its answer read by `consume`; an error status is thrown as a Failure. */
	private async exchange<T>(
		call: ApiCall,
		signal: AbortSignal,
		consume: ResponseReader<T>,
		accept: () => void,
	): Promise<T> {
		const answer = await sendRequest(this.context, {
			method: call.method,
			url: this.credential.baseUrl + call.path,
			query: call.query,
			body: call.body?.bytes,
			accept: call.streamed ? 'text/event-stream, application/json' : 'application/json',
			timeoutMs: call.attemptTimeoutMs ?? READ_TIMEOUT_MS,
			signal,
			credential: this.credential,
		});
		const isGood = answer.status >= 200 && answer.status < 300;
		const read = isGood
			? consume(answer, signal, accept)
			: this.throwFailureOf(call, answer, signal);
		return await read
			.catch((error: unknown) => {
				const retryAfterMs = readRetryAfter(answer.headers);
				throw retryAfterMs === undefined ? error : withDefaultFacts(error, { retryAfterMs });
			})
			.finally(() => answer.close());
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
			throw new Failure('foreignServer', { status: answer.status });
		}
		throw failure.withDefaults({ host: target });
	}
}
