import type { IHttpRequestMethods } from 'n8n-workflow';
import type { ServiceAddress } from './address';
import { failureOfStatus, readAnswer } from './answers';
import { abortReason, pause, startDeadline } from './clock';
import type { ServiceRecord, SpeechRequest, SpeechTask } from './contract';
import { Failure, isTransient, type FailureKind } from './failure';
import { exchange, readText, type ByteStream, type HttpAnswer, type ServiceContext } from './http';
import { backOffMs, pacingOf, type Pacing } from './pacing';
import { isRecord, readCreatedTaskId, readPage, readSpeechTask, type Page } from './readers';

/** How long one reading may take before it is given up, in ms. */
const READING_MS = 30_000;
/** How long the create call of a speech task may take, in ms: given up, it may have been paid. */
const CREATE_MS = 120_000;
/** How often a read, and a create call that was surely not accepted, is sent at most. */
const MAX_ATTEMPTS = 5;

/**
 * Which failures are repeated. `read`: everything transient; `create`: only what the service surely
 * did not accept (refused connection, 429), since every accepted call is paid; `once`: nothing,
 * because the caller repeats by itself.
 */
type Repeat = 'read' | 'create' | 'once';

type Query = Record<string, string | number>;

interface Call {
	method: IHttpRequestMethods;
	path: string;
	query?: Query;
	body?: Buffer;
	accept?: string;
	repeat: Repeat;
	signal: AbortSignal;
	/** Milliseconds that one attempt may take; a reading's limit unless given. */
	limitMs?: number;
	/** The answer outlives the call: only its headers fall under `limitMs`. */
	streamed?: boolean;
}

/** §4.10; the credential test, which has no n8n request helper of its own, reads it too. */
export const ACCOUNT_PATH = '/v1/video/me';

/** §4.5–4.8 */
const GENERATION_PATHS = {
	textToVideo: '/v1/video/text-to-video',
	ingredientsToVideo: '/v1/video/ingredients-to-video',
	framesToVideo: '/v1/video/frames-to-video',
	image: '/v1/video/create-image',
} as const;

export type Generation = keyof typeof GENERATION_PATHS;

const jsonBody = (body: object) => Buffer.from(JSON.stringify(body), 'utf8');
const taskPath = (taskId: string) => `/v1/labs/task/${encodeURIComponent(taskId)}`;

function mayRepeat(repeat: Repeat, failure: unknown, attempt: number): boolean {
	if (!(failure instanceof Failure) || repeat === 'once') return false;
	// A create call waits for its turn until its deadline, as a batch within a rate limit has to.
	if (failure.kind === 'rateLimited' && repeat === 'create') return true;
	if (attempt + 1 >= MAX_ATTEMPTS) return false;
	if (repeat === 'read') return isTransient(failure);
	return failure.kind === 'unreachable' && failure.facts.text === 'refused';
}

/** After these the service may have accepted (and charged) a create call without saying so. */
const UNSURE = new Set<FailureKind>([
	'noAnswer',
	'unavailable',
	'timedOut',
	'canceled',
	'notTheService',
]);

/** A failed create call, with the fact whether it may be charged all the same. */
const ofCreate = (error: unknown): unknown =>
	error instanceof Failure && UNSURE.has(error.kind) ? error.with({ maybeAccepted: true }) : error;

/** A reading given up at its own limit is one that did not answer, and may be repeated. */
const ofReading = (error: unknown): unknown =>
	error instanceof Failure && error.kind === 'timedOut'
		? new Failure('noAnswer', { transient: true })
		: error;

function originOf(location: string | undefined, base: string): string | undefined {
	return location && URL.canParse(location, base) ? new URL(location, base).origin : undefined;
}

/** Every call to the service's API (§4). The only place that knows its paths. */
export class Requests {
	private readonly pacing: Pacing;

	constructor(
		readonly context: ServiceContext,
		readonly address: ServiceAddress,
		/** Called whenever the service refuses for rate or load. */
		private readonly onRefused: () => void = () => {},
	) {
		this.pacing = pacingOf(address);
	}

	/** Milliseconds until the account may be asked again after a 429. */
	holdMs(): number {
		return this.pacing.holdMs();
	}

	/** §4.1. Returns the task's id. Throws a Failure; `maybeAccepted` says when it may be paid. */
	async createTask(request: SpeechRequest, signal: AbortSignal): Promise<string> {
		const call: Call = {
			method: 'POST',
			path: '/v1/labs/task',
			body: jsonBody(request),
			repeat: 'create',
			signal,
			limitMs: CREATE_MS,
		};
		const raw = await this.json(call, (record) => readCreatedTaskId(record) !== undefined);
		const taskId = readCreatedTaskId(raw);
		if (taskId === undefined) throw new Failure('notTheService', { maybeAccepted: true });
		return taskId;
	}

	/** §4.2. Throws a Failure; `repeat` 'once' leaves repeating to the caller. */
	async readTask(
		taskId: string,
		signal: AbortSignal,
		repeat: 'read' | 'once' = 'read',
	): Promise<SpeechTask> {
		const call: Call = { method: 'GET', path: taskPath(taskId), repeat, signal };
		// A failed task has an `error` of its own, which is not the answer's.
		const isTask = (raw: unknown) => readSpeechTask(raw, this.address.baseUrl) !== undefined;
		const task = readSpeechTask(await this.json(call, isTask), this.address.baseUrl);
		if (!task) throw new Failure('notTheService', { transient: true });
		return task;
	}

	/** §4.3. Deleting twice does no harm, so it is repeated like a read. */
	async deleteTask(taskId: string, signal: AbortSignal): Promise<void> {
		const call: Call = { method: 'DELETE', path: taskPath(taskId), repeat: 'read', signal };
		const text = await this.repeated(call, readText);
		// The contract shows no body: only an explicit error counts.
		if (/^\s*\{/.test(text)) readAnswer(text, () => false);
	}

	/**
	 * §4.5–4.8: starts a generation and returns its event stream once the headers are there, at the
	 * latest after `headersMs`. The stream lives until it ends or `signal` aborts.
	 */
	async openStream(
		generation: Generation,
		body: Buffer,
		signal: AbortSignal,
		headersMs: number,
	): Promise<ByteStream> {
		const call: Call = {
			method: 'POST',
			path: GENERATION_PATHS[generation],
			body,
			accept: 'text/event-stream, application/json',
			repeat: 'create',
			signal,
			limitMs: headersMs,
			streamed: true,
		};
		return await this.repeated(call, async (answer) => answer.body);
	}

	/** §4.9: one page of the history, newest first, and the service's clock against ours in ms. */
	async histories(query: Query, signal: AbortSignal): Promise<Page & { clockOffsetMs: number }> {
		const call: Call = {
			method: 'GET',
			path: '/v1/video/histories',
			query,
			repeat: 'read',
			signal,
		};
		return await this.repeated(call, async (answer, bounded) => {
			const page = readPage(readAnswer(await readText(answer, bounded), () => false));
			if (!page) throw new Failure('notTheService');
			const date = Date.parse(answer.headers.date ?? '');
			return { ...page, clockOffsetMs: Number.isFinite(date) ? date - Date.now() : 0 };
		});
	}

	/** §4.4: one page of voices. */
	async voices(query: Query, signal: AbortSignal): Promise<Page> {
		const call: Call = { method: 'GET', path: '/v1/labs/voices', query, repeat: 'read', signal };
		const page = readPage(await this.json(call));
		if (!page) throw new Failure('notTheService');
		return page;
	}

	/** §4.10 */
	async account(signal: AbortSignal): Promise<ServiceRecord> {
		const raw = await this.json({ method: 'GET', path: ACCOUNT_PATH, repeat: 'read', signal });
		if (!isRecord(raw)) throw new Failure('notTheService');
		return raw;
	}

	private async json(
		call: Call,
		ownsErrorField: (raw: unknown) => boolean = () => false,
	): Promise<unknown> {
		return await this.repeated(call, async (answer, signal) =>
			readAnswer(await readText(answer, signal), ownsErrorField),
		);
	}

	/** Sends, and reads by `consume`, until an outcome, a failure not to repeat, or the signal. */
	private async repeated<T>(
		call: Call,
		consume: (answer: HttpAnswer<ByteStream>, signal: AbortSignal) => Promise<T>,
	): Promise<T> {
		let last: unknown;
		for (let attempt = 0; ; attempt++) {
			await this.pacing.clear(call.signal);
			// Nothing is under way here: what the service last said tells more than "timed out".
			if (call.signal.aborted) throw last ?? abortReason(call.signal);
			const limitMs = call.limitMs ?? READING_MS;
			const limit = startDeadline(limitMs / 1000, call.signal);
			const signal = call.streamed ? call.signal : limit.signal;
			try {
				return await consume(await this.answer(call, signal, limitMs), signal);
			} catch (error) {
				const failure = call.signal.aborted ? abortReason(call.signal) : ofReading(error);
				last = call.repeat === 'create' ? ofCreate(failure) : failure;
				if (call.signal.aborted || !mayRepeat(call.repeat, last, attempt)) throw last;
			} finally {
				limit.stop();
			}
			await pause(backOffMs(attempt), call.signal);
		}
	}

	/** One exchange; an error status is thrown as a Failure. */
	private async answer(
		call: Call,
		signal: AbortSignal,
		timeoutMs: number,
	): Promise<HttpAnswer<ByteStream>> {
		const answer = await exchange(this.context, {
			method: call.method,
			url: this.address.baseUrl + call.path,
			query: call.query,
			body: call.body,
			accept: call.accept ?? 'application/json',
			timeoutMs,
			signal,
			tokenOrigin: this.address.origin,
			follow: call.method === 'GET' ? 'sameOrigin' : 'none',
		});
		if (answer.status >= 200 && answer.status < 300) return answer;
		const text = await readText(answer, signal, 64 * 1024);
		const failure = failureOfStatus(answer.status, text, answer.headers['retry-after']);
		if (failure.kind === 'rateLimited') this.pacing.refused(failure.facts.retryAfterMs);
		if (failure.kind === 'rateLimited' || answer.status === 503) this.onRefused();
		throw failure.kind === 'redirected'
			? failure.with({ host: originOf(answer.headers.location, answer.url) })
			: failure;
	}
}
