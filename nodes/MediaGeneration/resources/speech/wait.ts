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
import { egressCheckOf } from '../../../shared/http/request';
import { subscribe } from '../../../shared/speech/notifications';
import type { Operation } from '../../run/work';
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
	prepare(work) {
		const { context, credential, parameters, signal } = work;
		const ids = parameters.taskIdsOfSpeech(MAX_PARTS);
		const wanted = readWaitFields(parameters);

		return async () => {
			const paid = (index: number) => ({ state: 'task', taskId: ids[index]! }) as const;
			const spoken = await forAllParts(work, ids.length, paid, async (part) => {
				const wait = {
					taskId: ids[part.index]!,
					subscription: subscribe(credential, egressCheckOf(context)),
					begins: 'given',
				} as const;
				return await withDeadline(wanted.timeoutMs, part.stopped, async (over) => {
					return await collect(work, part, { ...wait, signal: over }, wanted);
				}).finally(() => wait.subscription.release(signal.aborted ? undefined : 'soon'));
			});
			return await speechOutput(work, spoken, wanted);
		};
	},
};
