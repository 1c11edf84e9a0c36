import { isFailure, withDefaultFacts } from '../../../shared/failure';
import {
	concurrency,
	download,
	options,
	outputField,
	pollInterval,
	subtitles,
	taskId as taskIdField,
	timeout,
} from '../../../shared/n8n/descriptions';
import type { Operation } from '../../run/itemContext';
import { collect, readWaitOptions } from './collect';
import { runParts, MAX_PARTS, speechOutput } from './parts';

/** Speech → Collect (`wait`): waits for existing tasks and fetches their audio, at no extra cost. */
export const collectSpeech: Operation = {
	option: {
		name: 'Collect',
		value: 'wait',
		description:
			'Collect the audio of a speech task that you have already paid for, when it is ready',
		action: 'Collect audio of speech task',
	},
	fields: [
		{
			...taskIdField,
			description:
				'The task_id that Speech → Speak returns. Several, separated by commas, blanks or lines, are collected as one speech, as with the task_ids of a text that was split.',
		},
		download,
		options(concurrency, subtitles, pollInterval, outputField, timeout('speech')),
	],
	prepare(item) {
		const ids = item.parameters.taskIdsOfSpeech(MAX_PARTS);
		const waitOptions = readWaitOptions(item.parameters);

		return async () => {
			const results = await runParts(item, ids, waitOptions.timeoutMs, async (part, id) => {
				return await collect(item, part, waitOptions, id);
			}).catch((error: unknown) => {
				// A task that failed can't be collected, though it is named as what failed.
				const gone = isFailure(error, 'taskFailed', 'notFound') ? error.facts.taskId : undefined;
				const taskIds = ids.filter((id) => id !== gone);
				throw ids.length > 1 ? withDefaultFacts(error, { taskIds }) : error;
			});
			return await speechOutput(item, results, waitOptions);
		};
	},
};
