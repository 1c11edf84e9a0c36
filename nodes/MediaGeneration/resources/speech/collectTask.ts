import type { IBinaryData, INodeExecutionData, INodeProperties } from 'n8n-workflow';
import type { ServiceRecord, SpeechTask } from '../../../shared/contract';
import { monotonicNow, whenAborted } from '../../../shared/async/deadline';
import { invalidInput, throwWithFacts, type Failure } from '../../../shared/failure';
import { download, type FileToFetch } from '../../../shared/http/download';
import { MAX_SUBTITLES_BYTES } from '../../../shared/limits';
import { hasWebSocket, acquireSocket } from '../../../shared/speech/accountSocket';
import { waitForTask } from '../../../shared/speech/speechTask';
import {
	concurrencyField,
	downloadField,
	outputField,
	pollIntervalField,
	subtitlesField,
	SUBTITLES_BINARY_FIELD,
	timeoutField,
} from '../../../shared/n8n/descriptions';
import { wordingOf } from '../../../shared/n8n/messages';
import type { NodeParameters } from '../../../shared/n8n/parameters';
import { SoundDuration } from '../../audio/soundDuration';
import type { ItemContext } from '../../run/operation';
import { isTaskGone, submit, type SpeechOrder } from './submit';

/** The options of every operation that waits for speech tasks. */
export const collectOptionFields: INodeProperties[] = [
	concurrencyField,
	outputField,
	pollIntervalField,
	subtitlesField,
	timeoutField('speech'),
];

/** How to wait for a speech task, and what to download. */
export type CollectOptions = ReturnType<typeof readCollectOptions>;

/** Reads how to wait for a speech task, and what to download. Throws a Failure if a field is invalid. */
export function readCollectOptions(parameters: NodeParameters) {
	const fileField = parameters.outputField();
	const wantsSubtitles = parameters.wantsFile(subtitlesField);
	if (wantsSubtitles && fileField === SUBTITLES_BINARY_FIELD) {
		const text = `must not be "${SUBTITLES_BINARY_FIELD}": the subtitles go there`;
		throw invalidInput(outputField.displayName, text);
	}
	return {
		timeoutMs: parameters.duration(timeoutField('speech')),
		pollIntervalMs: parameters.duration(pollIntervalField),
		wantsFile: parameters.wantsFileAt(downloadField),
		wantsSubtitles,
		fileField,
	};
}

/** From this progress on, in percent, a task counts as healthy. Before, an overload may still fail it. */
const HEALTHY_PERCENT = 20;
/**
 * Without a message, an unfinished task counts as healthy once it is read after this time, in ms. Without a WebSocket,
 * any read counts, because no message can come.
 */
const HEALTHY_AFTER_MS = 10_000;

/** The present state of a speech task, with the files that were requested. */
export interface SpeechResult {
	taskId: string;
	task: SpeechTask;
	file?: IBinaryData;
	/** The duration of the audio in ms, if the file tells it. */
	durationMs?: number;
	subtitles?: IBinaryData;
}

/**
 * Waits until a speech task is completed, and downloads the files that `options` ask for. `orderOrId` is the create
 * call to send first, or the id of an existing task. Throws a Failure, which contains the id of the task if it is
 * known. If the task of an order is gone, marks it so in the journal, so that the next attempt may create another one.
 */
export async function collectTask(
	item: ItemContext,
	options: CollectOptions,
	orderOrId: SpeechOrder | string,
): Promise<SpeechResult> {
	const { report, stopStarting: signal } = item;
	const isExisting = typeof orderOrId === 'string';
	const accountSocket = acquireSocket(item.credential, item.context);
	try {
		// The socket opens first: messages about a task may arrive before the response to its create call.
		if (!isExisting && orderOrId.entry.needsCreateCall)
			await Promise.race([accountSocket.ready(), whenAborted(signal)]);
		const { taskId, readFirst } = isExisting
			? { taskId: orderOrId, readFirst: true }
			: await submit(item, orderOrId, options.timeoutMs);
		const startedAt = monotonicNow();
		let isHealthy = false;
		const onHealthy = () => {
			if (!isHealthy) item.concurrency.onHealthy(item);
			isHealthy = true;
		};
		const task = await waitForTask(item.api, {
			taskId,
			readFirst,
			signal,
			accountSocket,
			pollIntervalMs: options.pollIntervalMs,
			onProgress(percentage) {
				report.progress(`task ${taskId}: ${percentage} %`);
				if (percentage >= HEALTHY_PERCENT) onHealthy();
			},
			onUnfinished() {
				if (!accountSocket.isOpen || monotonicNow() - startedAt >= HEALTHY_AFTER_MS) onHealthy();
			},
		}).catch((error: unknown) => {
			if (!isExisting && isTaskGone(error)) orderOrId.entry.setGone(error);
			throw error;
		});
		report.log(`task ${taskId} completed`);
		const waitedMs = monotonicNow() - startedAt;
		// If the result came early, the socket may just not have had enough time to open.
		if (!accountSocket.isOpen && waitedMs >= options.pollIntervalMs / 2)
			report.hint(pollingHint(options.pollIntervalMs));
		const wantsFile = options.wantsFile(task.audioUrl);
		if (wantsFile) report.progress(`task ${taskId}: downloading the file`);
		const sound = wantsFile ? await fetchSound(item, taskId, task.audioUrl) : {};
		const result: SpeechResult = { taskId, task, ...sound };
		if (options.wantsSubtitles) result.subtitles = await fetchSubtitles(item, result);
		return result;
	} finally {
		void accountSocket.release();
	}
}

/** Says that the node polled instead of hearing of the result, and what the user can do about it. */
function pollingHint(pollIntervalMs: number): string {
	const frequency = `every ${pollIntervalMs / 1000} s`;
	return hasWebSocket()
		? `The WebSocket was not open, so the node polled ${frequency}. Check 'WebSocket URL' in the credential, and your proxy`
		: `The node polled ${frequency}, because WebSockets need n8n on Node.js 22 or later`;
}

/** Downloads the audio of a task if `url` is given, and finds its duration. Throws a Failure with the task's id. */
export async function fetchSound(
	item: ItemContext,
	taskId: string,
	url: string | undefined,
): Promise<Pick<SpeechResult, 'file' | 'durationMs'>> {
	let soundDuration = new SoundDuration();
	const onAttempt = () => {
		// Each attempt downloads the file from its first byte, so it needs a new SoundDuration.
		const reader = (soundDuration = new SoundDuration());
		return (bytes: Uint8Array) => reader.push(bytes);
	};
	const file = await fetchFile(item, taskId, url, { onAttempt });
	return { file, durationMs: soundDuration.ms() };
}

/** Downloads a file of a task. Resolves with undefined if `url` is undefined. Throws a Failure with the task's id. */
async function fetchFile(
	{ context, credential, stopStarting }: ItemContext,
	taskId: string,
	url: string | undefined,
	fileOptions: Pick<FileToFetch, 'isSubtitles' | 'maxBytes' | 'onAttempt'>,
): Promise<IBinaryData | undefined> {
	if (url === undefined) return undefined;
	const file = { url, kind: 'speech', id: taskId, ...fileOptions } as const;
	return await download(context, credential, file, stopStarting).catch(throwWithFacts({ taskId }));
}

/** Downloads the subtitles, if any. If that fails, a hint says why. */
async function fetchSubtitles(
	item: ItemContext,
	{ taskId, task }: SpeechResult,
): Promise<IBinaryData | undefined> {
	const fileOptions = { isSubtitles: true, maxBytes: MAX_SUBTITLES_BYTES };
	const filePromise = fetchFile(item, taskId, task.subtitleUrl, fileOptions);
	return await filePromise.catch((failure: Failure) => {
		const reason = failure.facts.reason ?? wordingOf(failure).message;
		item.report.hint(
			`Subtitles could not be downloaded: ${reason}. Use Collect with 'Download Subtitles' on (free)`,
		);
		return undefined;
	});
}

/** Makes the output item of a task: the fields that the service has sent (§4.2), the files, and `extraFields`. */
export const speechItem = (
	{ output }: ItemContext,
	{ taskId, task, file, durationMs, subtitles }: SpeechResult,
	fileField: string,
	extraFields: ServiceRecord = {},
): INodeExecutionData => {
	const { audioUrl, raw, status } = task;
	// The first spread makes these fields the first ones; the second one keeps their values.
	const leadingFields = { task_id: taskId, status, audio_url: audioUrl };
	const json = {
		...leadingFields,
		...raw,
		...leadingFields,
		...durationField(durationMs),
		...extraFields,
	};
	return output(json, binaryOf(fileField, { file, subtitles }));
};

/** Returns the field of an output item for a duration in ms; no field if the duration is unknown. */
export const durationField = (ms: number | undefined): { duration_seconds?: number } =>
	ms === undefined ? {} : { duration_seconds: Math.round(ms) / 1000 };

/** Returns the `binary` of an output item; undefined if there are no files. */
export function binaryOf(
	fileField: string,
	{ file, subtitles }: Pick<SpeechResult, 'file' | 'subtitles'>,
): INodeExecutionData['binary'] {
	if (!file && !subtitles) return undefined;
	return {
		...(file && { [fileField]: file }),
		...(subtitles && { [SUBTITLES_BINARY_FIELD]: subtitles }),
	};
}
