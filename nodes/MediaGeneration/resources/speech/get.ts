import { startDeadline } from '../../../shared/async/deadline';
import { aboutTask } from '../../../shared/speech/speechTask';
import type { Item, Job } from '../../run';
import { taskOutput } from './collect';

/** Longest a single reading with its retries and a download may take, in seconds. */
const GET_SECONDS = 3600;

/** Speech → Get: reads a task once (§4.2), whatever its state. */
export function get(item: Item): Job {
	const { fields, requests, run } = item;
	const taskId = fields.taskId();
	const options = { download: fields.download(false), outputField: fields.outputField() };

	return async () => {
		const limit = startDeadline(GET_SECONDS, run.stopped);
		try {
			const task = await requests.readTask(taskId, limit.signal);
			return [await taskOutput(item, taskId, task, options, limit.signal)];
		} catch (error) {
			throw aboutTask(error, taskId);
		} finally {
			limit.stop();
		}
	};
}
