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
				const wait = {
					taskId: ids[part.index]!,
					subscription: run.subscribe(),
					justCreated: false,
				};
				return await withDeadline(wanted.timeoutMs, part.stopped, async (signal) => {
					return await collect(item, part, { ...wait, signal }, wanted);
				}).finally(() => wait.subscription.release());
			});
			return await speechOutput(item, spoken, wanted);
		};
	},
};
