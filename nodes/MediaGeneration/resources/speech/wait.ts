import { withDeadline } from '../../../shared/async/deadline';
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
import type { Operation } from '../../run/operation';
import { collect, readWaitFields } from './collect';
import { forAllParts, MAX_PARTS, speechOutput } from './parts';

/** Speech → Wait: waits for existing tasks and fetches their audio, at no extra cost. */
export const waitForSpeech: Operation = {
	option: {
		name: 'Wait',
		value: 'wait',
		description: 'Wait for a speech task that already exists, at no extra charge',
		action: 'Wait for a speech task',
	},
	fields: [
		{
			...taskId,
			description:
				'The ID that Speech → Speak returns as <code>task_id</code>. Several, separated by commas, are collected as one speech, as with <code>task_ids</code> of a text that was split.',
		},
		download,
		options(concurrency, subtitles, pollInterval, outputField, timeout('speech')),
	],
	prepare(item) {
		const { parameters, run } = item;
		const ids = parameters.taskIdsOfSpeech(MAX_PARTS);
		const wanted = readWaitFields(parameters);

		return async () => {
			const paid = (index: number) => ({ taskId: ids[index]! });
			const spoken = await forAllParts(item, ids.length, paid, async (part) => {
				const id = ids[part.index]!;
				return await withDeadline(wanted.timeoutMs, part.stopped, async (signal) => {
					const subscription = run.subscribe();
					const wait = { taskId: id, signal, subscription, justCreated: false };
					const collecting = collect(item, part, wait, wanted);
					return await collecting.finally(() => subscription.release());
				}).catch((error: unknown) => {
					throw aboutTask(error, id);
				});
			});
			return await speechOutput(item, spoken, wanted);
		};
	},
};
