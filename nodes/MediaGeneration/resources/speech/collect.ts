import type { INodeExecutionData } from 'n8n-workflow';
import type { SpeechTask } from '../../../shared/contract';
import { download } from '../../../shared/http/download';
import type { Subscription } from '../../../shared/speech/notifications';
import { waitForTask, type TaskWait } from '../../../shared/speech/speechTask';
import {
	download as downloadField,
	POLL_INTERVAL_SECONDS,
	timeoutSeconds,
} from '../../../shared/n8n/descriptions';
import type { NodeParameters } from '../../../shared/n8n/parameters';
import type { Item } from '../../item';

export interface WaitFields {
	/** Time limit for the whole generation. */
	timeoutMs: number;
	/** How long to wait for news before a reading. */
	pollIntervalMs: number;
	download: boolean;
	outputField: string;
}

/** The fields of operations that wait for a speech task. */
export function readWaitFields(parameters: NodeParameters): WaitFields {
	return {
		timeoutMs: parameters.durationOption('timeout', 'Timeout', timeoutSeconds('speech')),
		pollIntervalMs: parameters.durationOption(
			'pollInterval',
			'Poll Interval',
			POLL_INTERVAL_SECONDS,
		),
		download: parameters.download(downloadField.default),
		outputField: parameters.outputField(),
	};
}

/** Waits for a task, fetches its audio when asked to, and makes the output item. */
export async function collect(
	item: Item,
	taskId: string,
	options: WaitFields,
	signal: AbortSignal,
	subscription: Subscription,
	origin: Pick<TaskWait, 'justCreated' | 'isKnown'>,
): Promise<INodeExecutionData[]> {
	const began = Date.now();
	item.log.know({ task: taskId });
	const task = await waitForTask(item.api, {
		taskId,
		signal,
		pollIntervalMs: options.pollIntervalMs,
		subscription,
		...origin,
		onProgress: (percentage) => item.tell(`task ${taskId}: ${percentage} %`),
	});
	item.report(`task ${taskId} completed`);
	item.log.know({ channel: subscription.isOpen() ? 'websocket' : 'polling' });
	const waited = Date.now() - began;
	// A result that was there at once says nothing about the channel.
	if (!subscription.isOpen() && waited >= options.pollIntervalMs * 0.9) {
		item.hint(
			'polling',
			`The WebSocket of the service could not be used, so results were looked up every ${options.pollIntervalMs / 1000} s instead and may have arrived late. Check 'WebSocket URL' in the credential, and whether a proxy blocks WebSockets`,
		);
	}
	const justMade = origin.justCreated || waited >= 1000;
	return [await taskOutput(item, taskId, task, options, signal, justMade)];
}

/** The output item of a task as it was read (§4.2), with its file when asked for and there. */
export async function taskOutput(
	item: Item,
	taskId: string,
	task: SpeechTask,
	options: Pick<WaitFields, 'download' | 'outputField'>,
	signal: AbortSignal,
	justMade = false,
): Promise<INodeExecutionData> {
	const json = {
		...task.fields,
		task_id: taskId,
		status: task.status,
		...(task.audioUrl === undefined ? {} : { audio_url: task.audioUrl }),
	};
	if (!options.download || task.audioUrl === undefined) return item.output(json);
	item.tell(`task ${taskId}: downloading the file`);
	const file = { url: task.audioUrl, kind: 'speech' as const, id: taskId, justMade };
	const binary = await download(item.run.context, item.api.credential, file, signal);
	return item.output(json, { [options.outputField]: binary });
}
