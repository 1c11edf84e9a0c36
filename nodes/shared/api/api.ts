import { parseResponseBody, reportsError } from '../parsing/errors';
import { readText } from '../http/bodies';
import { readAllPages } from './pagination';
import {
	RetryingClient,
	type ApiCall,
	type CreateCall,
	type FreeCall,
	type ResponseReader,
} from './retry';
import {
	FREE_PATHS,
	type FreePath,
	type GenerationOperation,
	type ServiceRecord,
	type PaidSpeechOperation,
	type SpeechTask,
} from '../contract';
import {
	jsonTextOf,
	readCreatedTaskId,
	readPage,
	readSuccessRecord,
	readSpeechTask,
	type Page,
} from '../parsing/responses';

/** How long the create call of a speech task may take, in ms: long, because an aborted call may be charged. */
const CREATE_TIMEOUT_MS = 120_000;

type Query = ApiCall['query'];

const taskPath = (taskId: string) => `${FREE_PATHS.task}${encodeURIComponent(taskId)}` as const;

/** The calls to the service's API (§: see docs/contract.md). Each method throws a Failure if its call fails. */
export class Api extends RetryingClient {
	/**
	 * Creates a speech task (§4.1), which is charged, and resolves with its id. A Failure with the fact `mayBeCharged`
	 * means that the service may have accepted the call.
	 */
	async createTask(
		{ path }: PaidSpeechOperation,
		request: ServiceRecord,
		options: Pick<CreateCall, 'stopStarting' | 'abortInFlight' | 'onSend' | 'onNotAccepted'>,
	): Promise<string> {
		const call: CreateCall = {
			method: 'POST',
			path,
			body: { bytes: Buffer.from(JSON.stringify(request)) },
			attemptTimeoutMs: CREATE_TIMEOUT_MS,
			...options,
		};
		return (await this.sendForJson(call, readCreatedTaskId)).value;
	}

	/** Reads a speech task (§4.2). `options`: see `FreeCall`. */
	async getTask(
		taskId: string,
		signal: AbortSignal,
		options: Pick<FreeCall, 'retry' | 'kind' | 'onSend'> = {},
	): Promise<SpeechTask> {
		const call: FreeCall = { method: 'GET', path: taskPath(taskId), signal, ...options };
		const read = (raw: unknown) => readSpeechTask(raw, this.credential);
		return (await this.sendForJson(call, read)).value;
	}

	/** Deletes a speech task (§4.3). */
	async deleteTask(taskId: string, signal: AbortSignal): Promise<void> {
		await this.sendForJson(
			{ method: 'DELETE', path: taskPath(taskId), signal },
			// The contract leaves the body open (§4.3), so any body counts as success unless it reports an error.
			(raw) => !reportsError(raw) || undefined,
		);
	}

	/**
	 * Starts a generation (§6.1), which is charged, and resolves with what `readResponse` resolves with. A Failure
	 * with the fact `mayBeCharged` means that the service may have accepted the call.
	 */
	async generate<T>(
		{ path }: GenerationOperation,
		options: Omit<CreateCall, 'method' | 'path' | 'query' | 'wantsStream'>,
		readResponse: ResponseReader<T>,
	): Promise<T> {
		return await this.send({ method: 'POST', path, wantsStream: true, ...options }, readResponse);
	}

	/** Reads one page of the history (§4.9), with the service's clock minus ours, in ms; 0 if unknown. */
	async listHistory(query: Query, signal: AbortSignal): Promise<Page & { clockOffsetMs: number }> {
		return await this.fetchPage(FREE_PATHS.history, query, signal);
	}

	/** Reads the voices (§4.4) that match `query`, at most `limit` of them. */
	async listVoices(
		query: Record<string, string>,
		limit: number,
		signal: AbortSignal,
	): Promise<ServiceRecord[]> {
		return await readAllPages({
			firstPage: 0,
			limit,
			fetch: async (page, pageSize) =>
				await this.fetchPage(FREE_PATHS.voices, { ...query, page, page_size: pageSize }, signal),
		});
	}

	/** Reads the account (§4.10). */
	async getAccount(signal: AbortSignal): Promise<ServiceRecord> {
		const call: FreeCall = { method: 'GET', path: FREE_PATHS.account, signal };
		return (await this.sendForJson(call, readSuccessRecord)).value;
	}

	/** Reads one page of a list, with the service's clock minus ours, in ms. */
	private async fetchPage(path: FreePath, query: Query, signal: AbortSignal) {
		const call: FreeCall = { method: 'GET', path, query, signal };
		const { value: page, clockOffsetMs } = await this.sendForJson(call, readPage);
		return { ...page, clockOffsetMs };
	}

	/** Resolves with the value that `read` finds in the JSON response, and with the service's clock minus ours. */
	private async sendForJson<T>(call: ApiCall, read: (raw: unknown) => T | undefined) {
		return await this.send(call, async (response, signal) => {
			const json = jsonTextOf(response.status, await readText(response, signal));
			const value = parseResponseBody(json, this.credential.redact, read);
			const offsetMs = Date.parse(response.headers.date ?? '') - Date.now();
			return { value, clockOffsetMs: Number.isNaN(offsetMs) ? 0 : offsetMs };
		});
	}
}
