import type { IBinaryData, INodeExecutionData } from 'n8n-workflow';
import { withDeadline } from '../../../shared/async/deadline';
import type { ServiceRecord, SpeechTask } from '../../../shared/contract';
import { Failure, invalidInput } from '../../../shared/failure';
import { download, type FileToFetch } from '../../../shared/http/download';
import { subscribe } from '../../../shared/speech/accountSocket';
import { withTaskId, waitForTask } from '../../../shared/speech/speechTask';
import {
	download as downloadField,
	pollInterval,
	subtitles as subtitlesField,
	SUBTITLES_FIELD,
	timeout,
} from '../../../shared/n8n/descriptions';
import { wordingOf } from '../../../shared/n8n/messages';
import type { NodeParameters } from '../../../shared/n8n/parameters';
import { SoundLength } from '../../audio/soundLength';
import type { ItemContext } from '../../run/itemContext';
import { submit, type SpeechOrder, type SpeechPart } from './submit';

/** How long the subtitles of a task may take, in ms: the sound is there and waits for them. */
const SUBTITLES_MS = 60_000;

/** The fields of operations that wait for a speech task. */
export type WaitOptions = ReturnType<typeof readWaitOptions>;

/** Throws a Failure of kind invalidInput that names the field at fault. */
export function readWaitOptions(parameters: NodeParameters) {
	const outputField = parameters.outputField();
	const subtitles = parameters.wantsFile(subtitlesField);
	if (subtitles && outputField === SUBTITLES_FIELD) {
		const text = `must not be "${SUBTITLES_FIELD}", which is the field of the subtitles`;
		throw invalidInput('Put Output File in Field', text);
	}
	return {
		timeoutMs: parameters.durationOption(timeout('speech')),
		pollIntervalMs: parameters.durationOption(pollInterval),
		download: parameters.wantsFile(downloadField),
		subtitles,
		outputField,
	};
}

/** A task that is done, with its file where that was wanted. */
/** Up to that percentage a task may still fail since too much is in flight. */
const ALIVE_PERCENT = 20;

export interface SpeechResult {
	taskId: string;
	task: SpeechTask;
	file?: IBinaryData;
	/** How long the sound of the file is, where its headers say so. */
	durationMs?: number;
	subtitles?: IBinaryData;
}

/**
 * Waits for the task of an order, which is created unless an earlier attempt has done so, or for one whose
 * id is given, and fetches what is wanted of it. Throws a Failure with the task's id.
 */
export async function collect(
	item: ItemContext,
	part: SpeechPart,
	options: WaitOptions,
	orderOrId: SpeechOrder | string,
): Promise<SpeechResult> {
	const { report } = item;
	const { signal } = part;
	// Messages can precede the create call's answer, so the socket is there before the task.
	const subscription = subscribe(item.credential, item.context);
	try {
		const { taskId, mode } =
			typeof orderOrId === 'string'
				? ({ taskId: orderOrId, mode: 'userSupplied' } as const)
				: await submit(item, part, orderOrId, subscription.ready());
		const began = Date.now();
		let isAlive = false;
		const onAlive = () => {
			if (!isAlive) item.concurrency.onAlive();
			isAlive = true;
		};
		const task = await waitForTask(item.api, {
			...{ taskId, mode, signal, subscription, pollIntervalMs: options.pollIntervalMs },
			onProgress(percentage) {
				report.progress(`${part.name}task ${taskId}: ${percentage} %`);
				if (percentage >= ALIVE_PERCENT) onAlive();
			},
			onReading: onAlive,
		});
		report.log(`${part.name}task ${taskId} completed`);
		const waited = Date.now() - began;
		// A result that was there long before the first reading says nothing about the channel.
		if (!subscription.isOpen && waited >= options.pollIntervalMs / 2) {
			report.hint(
				`The WebSocket of the service could not be used: results came every ${options.pollIntervalMs / 1000} s. Check 'WebSocket URL' and your proxy`,
			);
		}
		const result: SpeechResult = { taskId, task };
		if (options.download) {
			report.progress(`${part.name}task ${taskId}: downloading the file`);
			Object.assign(result, await soundOf(item, taskId, task.audioUrl, signal));
		}
		// The subtitles of a part are of no use without its sound, which says how long it is.
		if (options.subtitles && (options.download || part.count === 1)) {
			result.subtitles = await subtitlesOf(item, result, signal);
		}
		return result;
	} finally {
		void subscription.release();
	}
}

/** The sound of a task, if there is any, and its length. Throws a Failure with the task's id. */
export async function soundOf(
	item: ItemContext,
	id: string,
	url: string | undefined,
	signal: AbortSignal,
): Promise<Pick<SpeechResult, 'file' | 'durationMs'>> {
	let length = new SoundLength();
	const listen = () => {
		const attempt = (length = new SoundLength());
		return (bytes: Uint8Array) => attempt.push(bytes);
	};
	const file = await fileOf(item, id, url, signal, { listen });
	return { file, durationMs: length.ms() };
}

/** One of the files of a task, if there is one. Throws a Failure with the task's id. */
async function fileOf(
	{ context, credential }: ItemContext,
	id: string,
	url: string | undefined,
	signal: AbortSignal,
	more: Pick<FileToFetch, 'isSubtitles' | 'listen'>,
): Promise<IBinaryData | undefined> {
	if (url === undefined) return undefined;
	const file = { url, kind: 'speech', id, ...more } as const;
	return await download(context, credential, file, signal).catch((error: unknown) => {
		throw withTaskId(error, id);
	});
}

/** The subtitles of a task, if it has any. When they can't be fetched, a hint says why. */
async function subtitlesOf(
	item: ItemContext,
	{ taskId, task }: SpeechResult,
	signal: AbortSignal,
): Promise<IBinaryData | undefined> {
	const fetch = async (deadline: AbortSignal) =>
		await fileOf(item, taskId, task.subtitleUrl, deadline, { isSubtitles: true });
	return await withDeadline(SUBTITLES_MS, signal, fetch).catch((error: unknown) => {
		if (!(error instanceof Failure) || error.kind === 'canceled') throw error;
		const { kind, facts } = error;
		const reason = (kind === 'downloadFailed' && facts.text) || wordingOf(error).message;
		item.report.hint(
			`Subtitles could not be downloaded: ${reason}. Speech → Collect tries again at no extra charge`,
		);
		return undefined;
	});
}

/** The output item of a task, as it was read (§4.2). */
export const speechItem = (
	{ output }: ItemContext,
	{ taskId, task, file, durationMs, subtitles }: SpeechResult,
	outputField: string,
	more: ServiceRecord = {},
): INodeExecutionData => {
	const { audioUrl, raw, status } = task;
	const json = {
		...raw,
		task_id: taskId,
		status,
		audio_url: audioUrl,
		...secondsOf(durationMs),
		...more,
	};
	return output(json, binaryOf(outputField, { file, subtitles }));
};

/** The length of a sound as an item tells it; nothing where it is not known. */
export const secondsOf = (ms: number | undefined): { duration_seconds?: number } =>
	ms === undefined ? {} : { duration_seconds: Math.round(ms) / 1000 };

/** The files of an output item. */
export const binaryOf = (
	outputField: string,
	{ file, subtitles }: Pick<SpeechResult, 'file' | 'subtitles'>,
): INodeExecutionData['binary'] =>
	file || subtitles
		? {
				...(file && { [outputField]: file }),
				...(subtitles && { [SUBTITLES_FIELD]: subtitles }),
			}
		: undefined;
