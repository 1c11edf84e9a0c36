import { failureSaidIn, readAnswer } from '../parsing/errors';
import { readText } from '../http/bodies';
import { RetryingClient, type ApiCall, type Consume } from './retry';
import {
	ACCOUNT_PATH,
	type ServiceRecord,
	type SpeechRequest,
	type SpeechTask,
	type Generation,
} from '../contract';
import { Failure } from '../failure';
import {
	readCreated,
	readCreatedTaskId,
	readPage,
	readSpeechTask,
	type Page,
} from '../parsing/responses';
import { isRecord } from '../parsing/coerce';

/** How long the create call of a speech task may take, in ms: one that is given up may be paid for. */
const CREATE_MS = 120_000;

type Query = ApiCall['query'];

const taskPath = (taskId: string) => `/v1/labs/task/${encodeURIComponent(taskId)}`;

/** Every call to the service's API (§4). */
export class Api extends RetryingClient {
	/** §4.1. Returns the task's id. Throws a Failure; `maybeAccepted` says when it may be paid. */
	async createTask(
		request: SpeechRequest,
		options: Pick<ApiCall, 'signal' | 'begin' | 'onSend' | 'onRefused'>,
	): Promise<string> {
		const call: ApiCall = {
			method: 'POST',
			path: '/v1/labs/task',
			body: { bytes: Buffer.from(JSON.stringify(request)) },
			repeat: 'create',
			limitMs: CREATE_MS,
			...options,
		};
		const { raw } = await this.json(call, (record) => readCreatedTaskId(record) !== undefined);
		const taskId = readCreatedTaskId(raw);
		if (taskId !== undefined) return taskId;
		const refusal = failureSaidIn(readCreated(raw), this.credential.redact);
		throw refusal ?? new Failure('notTheService', { maybeAccepted: true });
	}

	/** §4.2. Throws a Failure; `repeat` 'once' leaves repeating to the caller. */
	async getTask(
		taskId: string,
		signal: AbortSignal,
		repeat: 'read' | 'once' = 'read',
	): Promise<SpeechTask> {
		// A failed task has an `error` of its own, which is not the answer's.
		const isTask = (raw: unknown) => readSpeechTask(raw, this.credential) !== undefined;
		const call: ApiCall = { method: 'GET', path: taskPath(taskId), repeat, signal };
		const { raw, clockOffsetMs } = await this.json(call, isTask);
		const task = readSpeechTask(raw, this.credential);
		if (!task) throw new Failure('notTheService', { transient: true });
		return { ...task, clockOffsetMs };
	}

	/** §4.3. Deleting twice does no harm, so it is repeated like a read. Throws a Failure. */
	async deleteTask(taskId: string, signal: AbortSignal): Promise<void> {
		const call: ApiCall = { method: 'DELETE', path: taskPath(taskId), repeat: 'read', signal };
		const text = await this.send(call, readText);
		// The body is unspecified (§4.3): only an explicit error counts.
		if (/^\s*\{/.test(text)) readAnswer(text, this.credential.redact);
	}

	/**
	 * §4.5–4.8: starts a generation, its headers at the latest after `limitMs`, and has its event stream read.
	 * Throws a Failure; `maybeAccepted` says when it may be paid.
	 */
	async generate<T>(
		{ path }: Generation,
		options: Pick<ApiCall, 'body' | 'signal' | 'begin' | 'limitMs' | 'onSend' | 'onRefused'>,
		consume: Consume<T>,
	): Promise<T> {
		const call = { method: 'POST', path, repeat: 'create', streamed: true } as const;
		return await this.send({ ...call, ...options }, consume);
	}

	/** §4.9: one page of the history, newest first, and the service's clock minus ours in ms. */
	async listHistory(query: Query, signal: AbortSignal): Promise<Page & { clockOffsetMs: number }> {
		return await this.page('/v1/video/histories', query, signal);
	}

	/** §4.4: one page of voices. */
	async listVoices(query: Query, signal: AbortSignal): Promise<Page> {
		return await this.page('/v1/labs/voices', query, signal);
	}

	/** §4.10. `repeat` 'once' leaves repeating to the caller. */
	async getAccount(signal: AbortSignal, repeat: 'read' | 'once' = 'read'): Promise<ServiceRecord> {
		const { raw } = await this.json({ method: 'GET', path: ACCOUNT_PATH, repeat, signal });
		if (!isRecord(raw)) throw new Failure('notTheService');
		return raw;
	}

	private async page(path: string, query: Query, signal: AbortSignal) {
		const call: ApiCall = { method: 'GET', path, query, repeat: 'read', signal };
		const { raw, clockOffsetMs } = await this.json(call);
		const page = readPage(raw);
		if (!page) throw new Failure('notTheService');
		return { ...page, clockOffsetMs };
	}

	/** The JSON of the answer, and the service's clock minus ours in ms, 0 if it does not say. */
	private async json(call: ApiCall, ownsErrorField?: (raw: unknown) => boolean) {
		return await this.send(call, async (answer, signal) => {
			const text = await readText(answer, signal);
			const raw = readAnswer(text, this.credential.redact, ownsErrorField);
			const offsetMs = Date.parse(answer.headers.date ?? '') - Date.now();
			return { raw, clockOffsetMs: Number.isNaN(offsetMs) ? 0 : offsetMs };
		});
	}
}
