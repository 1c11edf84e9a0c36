import { isFailed, readAnswer } from '../parsing/errors';
import { readText } from '../http/bodies';
import { RetryingClient, type ApiCall, type ResponseReader } from './retry';
import { ACCOUNT_PATH, type ServiceRecord, type SpeechTask, type Generation } from '../contract';
import {
	readCreatedTaskId,
	readPage,
	readRecord,
	readSpeechTask,
	type Page,
} from '../parsing/responses';

/** How long the create call of a speech task may take, in ms: one that is given up may be paid for. */
const CREATE_TIMEOUT_MS = 120_000;

type Query = ApiCall['query'];

const taskPath = (taskId: string) => `/v1/labs/task/${encodeURIComponent(taskId)}`;

/** Every call to the service's API (§4). */
export class Api extends RetryingClient {
	/** §4.1, shape A. Returns the task's id. Throws a Failure; `mayBeCharged` says when it may be paid. */
	async createTask(
		request: ServiceRecord,
		options: Pick<ApiCall, 'signal' | 'stopStarting' | 'onSend' | 'onRefused'>,
	): Promise<string> {
		const call: ApiCall = {
			method: 'POST',
			path: '/v1/labs/task',
			body: { bytes: Buffer.from(JSON.stringify(request)) },
			repeat: 'create',
			attemptTimeoutMs: CREATE_TIMEOUT_MS,
			...options,
		};
		return (await this.json(call, readCreatedTaskId)).found;
	}

	/** §4.2. Throws a Failure; `repeat` 'once' leaves repeating to the caller. */
	async getTask(
		taskId: string,
		signal: AbortSignal,
		repeat: 'read' | 'once' = 'read',
	): Promise<SpeechTask> {
		const call: ApiCall = { method: 'GET', path: taskPath(taskId), repeat, signal };
		const read = (raw: unknown) => readSpeechTask(raw, this.credential);
		return (await this.json(call, read)).found;
	}

	/** §4.3. Deleting twice does no harm, so it is repeated like a read. Throws a Failure. */
	async deleteTask(taskId: string, signal: AbortSignal): Promise<void> {
		const call: ApiCall = { method: 'DELETE', path: taskPath(taskId), repeat: 'read', signal };
		// The body is unspecified (§4.3): only an explicit error counts.
		await this.json(call, (raw) => !isFailed(raw) || undefined);
	}

	/**
	 * §4.5–4.8: starts a generation, its headers at the latest after `attemptTimeoutMs`, and has its event stream read.
	 * Throws a Failure; `mayBeCharged` says when it may be paid.
	 */
	async generate<T>(
		{ path }: Generation,
		options: Pick<
			ApiCall,
			'body' | 'signal' | 'stopStarting' | 'attemptTimeoutMs' | 'onSend' | 'onRefused'
		>,
		consume: ResponseReader<T>,
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
		const call: ApiCall = { method: 'GET', path: ACCOUNT_PATH, repeat, signal };
		return (await this.json(call, readRecord)).found;
	}

	private async page(path: string, query: Query, signal: AbortSignal) {
		const call: ApiCall = { method: 'GET', path, query, repeat: 'read', signal };
		const { found, clockOffsetMs } = await this.json(call, readPage);
		return { ...found, clockOffsetMs };
	}

	/** What `read` finds in the answer, and the service's clock minus ours in ms, 0 if it does not say. */
	private async json<T>(call: ApiCall, read: (raw: unknown) => T | undefined) {
		return await this.send(call, async (answer, signal) => {
			const found = readAnswer(await readText(answer, signal), this.credential.redact, read);
			const offsetMs = Date.parse(answer.headers.date ?? '') - Date.now();
			return { found, clockOffsetMs: Number.isNaN(offsetMs) ? 0 : offsetMs };
		});
	}
}
