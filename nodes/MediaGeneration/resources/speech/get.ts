import { updateDisplayOptions } from 'n8n-workflow';
import { startDeadline } from '../../../shared/async/deadline';
import { downloadIfAsked, taskId } from '../../../shared/n8n/descriptions';
import { aboutTask } from '../../../shared/speech/speechTask';
import type { Item, Job } from '../../run';
import { taskOutput } from './collect';

/** Longest a single reading with its retries and a download may take, in seconds. */
const GET_SECONDS = 3600;

export const getSpeechDescription = updateDisplayOptions(
	{ show: { resource: ['speech'], operation: ['get'] } },
	[taskId, downloadIfAsked],
);

/** Speech → Get: reads a task once (§4.2), whatever its state. */
export function getSpeech(item: Item): Job {
	const { fields, requests, run } = item;
	const id = fields.taskId();
	const wanted = {
		download: fields.download(downloadIfAsked.default),
		outputField: fields.outputField(),
	};

	return async () => {
		const limit = startDeadline(GET_SECONDS, run.stopped);
		try {
			const task = await requests.readTask(id, limit.signal);
			return [await taskOutput(item, id, task, wanted, limit.signal)];
		} catch (error) {
			throw aboutTask(error, id);
		} finally {
			limit.stop();
		}
	};
}
