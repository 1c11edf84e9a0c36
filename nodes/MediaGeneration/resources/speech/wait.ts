import { updateDisplayOptions, type INodeProperties } from 'n8n-workflow';
import { startDeadline } from '../../../shared/async/deadline';
import {
	concurrency,
	download,
	options,
	outputField,
	pollInterval,
	subtitles,
	taskId,
	timeout,
} from '../../../shared/n8n/descriptions';
import { aboutTask } from '../../../shared/speech/speechTask';
import type { Item } from '../../item';
import type { Job } from '../../made';
import { collect, readWaitFields } from './collect';
import { forAllParts, MOST_PARTS, speechOutput } from './parts';

const taskIds: INodeProperties = {
	...taskId,
	description:
		'The ID that Speech → Speak puts out as <code>task_id</code>. Several, separated by commas, are collected as one speech, as with <code>task_ids</code> of a text that was split.',
};

export const waitForSpeechDescription = updateDisplayOptions(
	{ show: { resource: ['speech'], operation: ['wait'] } },
	[
		taskIds,
		download,
		options(concurrency, subtitles, pollInterval, outputField, timeout('speech')),
	],
);

/** Speech → Wait: waits for existing tasks and fetches their audio, at no extra cost. */
export function waitForSpeech(item: Item): Job {
	const { parameters, run } = item;
	const ids = parameters.taskIdsOfSpeech(MOST_PARTS);
	const wanted = readWaitFields(parameters);

	return async () => {
		const idOf = (index: number) => ids[index]!;
		const spoken = await forAllParts(item, ids.length, idOf, async (part) => {
			const id = idOf(part.index);
			const deadline = startDeadline(wanted.timeoutMs, part.stopped);
			const subscription = run.subscribe();
			try {
				const origin = { justCreated: false };
				return await collect(item, part, id, wanted, deadline.signal, subscription, origin).catch(
					(error: unknown) => {
						throw aboutTask(error, id);
					},
				);
			} finally {
				subscription.release();
				deadline.stop();
			}
		});
		return await speechOutput(item, spoken, wanted);
	};
}
