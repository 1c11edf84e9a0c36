import { accountOf } from '../account';
import type { Credential } from '../http/credential';
import { failureOfStatus, readRetryAfter } from '../parsing/errors';
import { meaningOf } from '../parsing/errorTable';
import { FREE_PATHS, type FreePath } from '../contract';
import { readErrorBody, readText } from '../http/bodies';
import { FreeableBody } from '../http/freeableBody';
import type { CallSignals } from '../async/callSignals';
import { CoalescedReads } from '../async/coalescedReads';
import type { MemoryNeed } from '../async/memoryBudget';
import {
	abortReason,
	backoffMs,
	linkedController,
	SILENT_ABORT,
	sleep,
	monotonicNow,
	throwIfAborted,
} from '../async/deadline';
import { Failure, isFailure, isTransient, toNoResponse, withDefaultFacts } from '../failure';
import {
	redirectOrigin,
	sendRequest,
	type HttpRequest,
	type HttpResponse,
	type ServiceContext,
} from '../http/request';
import {
	type AdmittedCall,
	type CallKind,
	type Outcome,
	type RunningTask,
	Throttle,
} from '../pace/throttle';
import { readSuccessRecord } from '../parsing/responses';
import { parseJson } from '../parsing/values';

/** How long one attempt may take, in ms, unless the call sets another limit. */
const ATTEMPT_TIMEOUT_MS = 30_000;
/** The read of the account that checks the token, or whether an outage is over. */
const ACCOUNT_READ = { method: 'GET', path: FREE_PATHS.account, attemptTimeoutMs: 10_000 } as const;
/** The maximum number of attempts to send a call. A throttled call may be sent more often. */
const MAX_CALL_ATTEMPTS = 5;
/** For how long a throttled read is repeated without a limit on the number of attempts, in ms. */
const MAX_THROTTLED_READ_MS = 300_000;

/** One call to the API; `path` begins with a slash and follows the Base URL. */
interface BaseCall extends Pick<HttpRequest, 'query'> {
	path: string;
	/** The JSON body. The caller may delete `bytes` once the call is accepted, to free their memory. */
	body?: { bytes?: Buffer };
	/**
	 * The memory that a large body needs. It is taken before `makeBody`, and given back as `AdmittedCall.end` says. The
	 * body is sent as a FreeableBody, so that this really frees it.
	 */
	memory?: MemoryNeed;
	/** How long one attempt may take, in ms, until its response is read or the call is accepted. */
	attemptTimeoutMs?: number;
	wantsStream?: boolean;
	/** Fills `body.bytes` before each attempt, once the `memory` is taken. If it throws, the attempt is not sent. */
	makeBody?(): Promise<void>;
	/** Is called right before each attempt is sent. */
	onSend?(): void;
	/**
	 * Is called after each attempt that the service has surely not accepted. Nothing was charged for it, except by a few
	 * services that charge for an attempt even if they refuse it in a stream (see docs/operations.md). `failure` is that
	 * of the attempt, if it was sent.
	 */
	onNotAccepted?(failure?: Failure): void;
}

/**
 * A call that is not charged. Unless `retry` is `never`, it is sent again after a transient failure. Every POST counts
 * as charged, so that none is sent again by mistake.
 */
export interface FreeCall extends BaseCall {
	method: 'GET' | 'DELETE';
	path: FreePath;
	retry?: 'never';
	/** Decides which calls go first (see `RANKS` in `throttle.ts`). The default is `read`. */
	kind?: Exclude<CallKind, 'create'>;
	signal: AbortSignal;
}

/**
 * A call that is charged once the service accepts it. It is sent again only if the service has surely not accepted it:
 * after a refused connection, a throttled response, or a 307 or 308 to the same host (see `sendRequest`).
 */
export interface CreateCall extends BaseCall, CallSignals {
	method: 'POST';
}

/** A call, and how it is sent again: see its two types. */
export type ApiCall = FreeCall | CreateCall;

const isCreateCall = (call: ApiCall): call is CreateCall => call.method === 'POST';

/** The two signals of a call; a `FreeCall` has one signal for both. */
const signalsOf = (call: ApiCall): { stopStarting: AbortSignal; abortInFlight: AbortSignal } =>
	isCreateCall(call) ? call : { stopStarting: call.signal, abortInFlight: call.signal };

/** Kinds of failure after which it is unknown whether the service has accepted the call. */
const UNCERTAIN_KINDS = ['noResponse', 'unavailable', 'timedOut', 'foreignServer'] as const;

/** Returns what a failed call tells the throttle about the service. */
function outcomeOf(failure: Failure): Outcome {
	const { kind, facts } = failure;
	if (kind === 'canceled') return 'unknown';
	// A 503 that asks to slow down counts as throttled, although the service may have accepted the call.
	const reportsOverload = facts.retryAfterMs !== undefined || facts.meaning === 'throttled';
	const isOverloaded = kind === 'unavailable' && facts.status === 503 && reportsOverload;
	if (kind === 'throttled' || isOverloaded) return 'throttled';
	return isFailure(failure, ...UNCERTAIN_KINDS, 'unreachable') ? 'unavailable' : 'rejected';
}

/**
 * Converts the error of an attempt to a Failure, with the fact `mayBeCharged` if the service may have accepted a create
 * call. Returns an error that is no Failure as it is.
 */
function toCallFailure(call: ApiCall, error: unknown): unknown {
	const { abortInFlight } = signalsOf(call);
	// If only the time limit of this attempt has passed, the Failure is transient, so a read may be sent again.
	const failure = abortInFlight.aborted ? abortReason(abortInFlight) : toNoResponse(error);
	if (!(failure instanceof Failure)) return failure;
	const { status = 0 } = failure.facts;
	const mayBeCharged =
		// 303 says that the call was done, and where its result is (RFC 9110, section 15.4.4).
		status === 303 ||
		(isFailure(failure, ...UNCERTAIN_KINDS, 'canceled', 'tooLarge') &&
			// With these statuses, the call was surely not accepted, whoever sent the response.
			![401, 403, 404].includes(status));
	return isCreateCall(call) && mayBeCharged ? failure.withDefaults({ mayBeCharged }) : failure;
}

/**
 * Reads a response with a success status. A reader of a long response, such as a stream, calls `onAccepted` once the
 * service has accepted the call. From then on the attempt has no time limit, and the call is not sent again.
 */
export type ResponseReader<T> = (
	response: HttpResponse,
	signal: AbortSignal,
	onAccepted: () => void,
) => Promise<T>;

/** Sends calls to the API, each when the throttle admits it, and sends them again as `ApiCall` says. */
export class RetryingClient {
	readonly throttle: Throttle;
	/** The reads that all clients of the account in this process share. */
	readonly coalescedReads: CoalescedReads;
	/** The Failure of a create call whose token was refused. It ends all later create calls of this client. */
	private tokenRefusal: Failure | undefined;

	constructor(
		readonly context: ServiceContext,
		readonly credential: Credential,
	) {
		this.throttle = accountOf(credential).get(Throttle);
		this.coalescedReads = accountOf(credential).get(CoalescedReads);
	}

	/**
	 * Sends a call, and repeats it as `ApiCall` says. Resolves with what `readResponse` resolves with. Throws a
	 * Failure, or what `makeBody` or `readResponse` throws.
	 */
	protected async send<T>(call: ApiCall, readResponse: ResponseReader<T>): Promise<T> {
		const { throttle } = this;
		const { stopStarting } = signalsOf(call);
		const kind: CallKind = isCreateCall(call) ? 'create' : (call.kind ?? 'read');
		const startedAt = monotonicNow();
		let lastFailure: Failure | undefined;
		for (let attempt = 0; ;) {
			const admittedCall = await throttle
				.admit(kind, stopStarting, startedAt, call.memory)
				.catch((reason: unknown) => {
					// No attempt is in flight here, and the last failure tells the user more than a timeout does.
					throw lastFailure ?? reason;
				});
			const { isOutage, openedAt } = throttle.createBreaker;
			const probe =
				kind === 'create' && isOutage ? await this.readAccount(openedAt, stopStarting) : undefined;
			// The outage goes on, or `stopStarting` has aborted.
			if (probe instanceof Failure && ['unavailable', 'unknown'].includes(outcomeOf(probe))) {
				admittedCall.end(outcomeOf(probe), probe);
				if (throttle.failFast.isQuotaExhausted) throw probe;
				continue;
			}
			await this.prepareAttempt(call).catch((error: unknown) => {
				admittedCall.end('unknown');
				throw isFailure(error, 'timedOut') ? (lastFailure ?? error) : error;
			});
			const result = await this.attemptOnce(call, admittedCall, readResponse);
			if (!(result instanceof Failure)) return result;
			lastFailure = await this.withTokenChecked(call, result);
			if (kind === 'create' && lastFailure.kind === 'tokenRefused') this.tokenRefusal = lastFailure;
			if (!lastFailure.facts.mayBeCharged) call.onNotAccepted?.(lastFailure);
			const willRetry = this.shouldRetry(call, lastFailure, attempt++, startedAt);
			// The service may be restarting, so a failed connection that is retried does not open the breaker.
			const isRetriedConnection = willRetry && lastFailure.kind === 'unreachable';
			admittedCall.end(isRetriedConnection ? 'unknown' : outcomeOf(lastFailure), lastFailure);
			if (!willRetry) throw lastFailure;
			if (lastFailure.kind !== 'throttled') await sleep(backoffMs(attempt - 1), stopStarting);
		}
	}

	/** Does what has to be done before an attempt is sent. Throws if it must not be sent any more. */
	private async prepareAttempt(call: ApiCall): Promise<void> {
		const { stopStarting, abortInFlight } = signalsOf(call);
		for (const step of [call.makeBody, async () => call.onSend?.()]) {
			throwIfAborted(stopStarting);
			throwIfAborted(abortInFlight);
			if (isCreateCall(call) && this.tokenRefusal) throw this.tokenRefusal;
			await step?.();
		}
	}

	/**
	 * Sends an admitted call once, without a retry. Resolves with what `readResponse` resolves with, or with the Failure
	 * of the attempt. Ends `admittedCall` if the service accepts the call; after a Failure, the caller must end it.
	 * Throws the error of an accepted stream, which is never sent again.
	 */
	private async attemptOnce<T>(
		call: ApiCall,
		admittedCall: AdmittedCall,
		readResponse: ResponseReader<T>,
	): Promise<T | Failure> {
		const { attemptTimeoutMs = ATTEMPT_TIMEOUT_MS } = call;
		const attemptController = linkedController(signalsOf(call).abortInFlight);
		const { signal } = attemptController;
		// Without the cast, TypeScript would assume that `onAccepted` never sets it.
		let runningTask = undefined as RunningTask | undefined;
		void sleep(attemptTimeoutMs, signal).then(() => {
			if (!runningTask && !signal.aborted) attemptController.abort(new Failure('timedOut'));
		});
		const onAccepted = () => {
			if (runningTask) return;
			admittedCall.end('succeeded');
			runningTask = this.throttle.startTask();
		};
		try {
			const result = await this.exchange(call, signal, readResponse, onAccepted);
			if (runningTask) runningTask.end();
			else admittedCall.end('succeeded');
			return result;
		} catch (error) {
			if (runningTask) throw runningTask.end(error);
			const failure = toCallFailure(call, error);
			if (failure instanceof Failure) return failure;
			// A fault of this package must not keep the call's place and memory.
			admittedCall.end('unknown');
			throw failure;
		} finally {
			attemptController.abort(SILENT_ABORT);
		}
	}

	/**
	 * Returns the Failure of a call, of kind rejected instead of tokenRefused if the account can be read with the
	 * token: the account then lacks a permission, or the service's own token was refused. If the account can't be read
	 * for another reason, the words of the answer decide.
	 */
	private async withTokenChecked(call: ApiCall, failure: Failure): Promise<Failure> {
		const { kind, facts } = failure;
		const isSurelyAboutToken = facts.status === 401 || call.path === FREE_PATHS.account;
		if (kind !== 'tokenRefused' || isSurelyAboutToken) return failure;
		const account = await this.readAccount(monotonicNow(), signalsOf(call).abortInFlight);
		// A web server may respond to any path with a page.
		const isRead = typeof account === 'string' && readSuccessRecord(parseJson(account));
		const isTokenRefused =
			!isRead && (isFailure(account, 'tokenRefused') || meaningOf(facts.reason) === 'token');
		return isTokenRefused ? failure : new Failure('rejected', { ...facts, meaning: 'not_allowed' });
	}

	/**
	 * Reads the account once (§4.10), or shares a read that another call of the account has begun after `startedAfter`
	 * (from `monotonicNow`). Resolves with the body of the response, or with the Failure of the read. Never rejects.
	 */
	async readAccount(startedAfter: number, signal: AbortSignal): Promise<string | Failure> {
		const read = async (sharedSignal: AbortSignal) => {
			const call: FreeCall = { ...ACCOUNT_READ, retry: 'never', signal: sharedSignal };
			return await this.send(call, readText).catch((error: Failure) => error);
		};
		return await this.coalescedReads
			.share('account', startedAfter, signal, read)
			.catch((reason: Failure) => reason);
	}

	/**
	 * Returns true if a call that has failed should be sent again. `attempt` counts from 0; `startedAt`, from
	 * `monotonicNow`, is when the first attempt began.
	 */
	private shouldRetry(call: ApiCall, failure: Failure, attempt: number, startedAt: number) {
		if (signalsOf(call).abortInFlight.aborted) return false;
		if (!isCreateCall(call) && call.retry === 'never') return false;
		if (failure.kind === 'throttled') {
			if (this.throttle.failFast.isQuotaExhausted) return false;
			// A large batch may have to wait for long, so the retries of a create call are not limited.
			if (isCreateCall(call)) return true;
			// A read may have no deadline, so the time for its retries is limited.
			if (monotonicNow() - startedAt < MAX_THROTTLED_READ_MS) return true;
		}
		if (attempt + 1 >= MAX_CALL_ATTEMPTS) return false;
		return isCreateCall(call) ? failure.facts.unreachableCause === 'refused' : isTransient(failure);
	}

	/** Sends the request once and reads its response with `readResponse`. Throws a Failure unless the status is 2xx. */
	private async exchange<T>(
		call: ApiCall,
		signal: AbortSignal,
		readResponse: ResponseReader<T>,
		onAccepted: () => void,
	): Promise<T> {
		const response = await sendRequest(this.context, {
			method: call.method,
			url: this.credential.baseUrl + call.path,
			query: call.query,
			body: call.memory && call.body ? new FreeableBody(call.body) : call.body?.bytes,
			accept: call.wantsStream ? 'text/event-stream, application/json' : 'application/json',
			timeoutMs: call.attemptTimeoutMs ?? ATTEMPT_TIMEOUT_MS,
			signal,
			credential: this.credential,
		});
		const { status, headers, url } = response;
		try {
			if (status >= 200 && status < 300) return await readResponse(response, signal, onAccepted);
			const failure = failureOfStatus(status, await readErrorBody(response, signal));
			throw failure.withDefaults({ host: redirectOrigin(headers.location, url) });
		} catch (error) {
			throw withDefaultFacts(error, { retryAfterMs: readRetryAfter(headers) });
		} finally {
			response.close();
		}
	}
}
