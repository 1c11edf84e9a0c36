import { updateDisplayOptions } from 'n8n-workflow';
import { startDeadline } from '../../../shared/async/deadline';
import {
	concurrency,
	download,
	options,
	outputField,
	pollInterval,
	taskId,
	timeout,
} from '../../../shared/n8n/descriptions';
import { aboutTask } from '../../../shared/speech/speechTask';
import type { Item } from '../../item';
import type { Job } from '../../run';
import { collect, readWaitFields } from './collect';

export const waitForSpeechDescription = updateDisplayOptions(
	{ show: { resource: ['speech'], operation: ['wait'] } },
	[taskId, download, options(concurrency, pollInterval, outputField, timeout('speech'))],
);

/** Speech → Wait: waits for an existing task and fetches its audio, at no extra cost. */
export function waitForSpeech(item: Item): Job {
	const { parameters, run } = item;
	const id = parameters.taskId();
	const wanted = readWaitFields(parameters);

	return async () => {
		const deadline = startDeadline(wanted.timeoutMs, run.stopped);
		const subscription = run.subscribe();
		try {
			const origin = { justCreated: false };
			return await collect(item, id, wanted, deadline.signal, subscription, origin).catch(
				(error: unknown) => {
					throw aboutTask(error, id);
				},
			);
		} finally {
			subscription.release();
			deadline.stop();
		}
	};
}
