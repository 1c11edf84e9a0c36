import { aboutTask } from '../../../shared/speech/speechTask';
import type { Item, Job } from '../../run';

/** Speech → Delete (§4.3). */
export function remove(item: Item): Job {
	const taskId = item.fields.taskId();

	return async () => {
		try {
			await item.requests.deleteTask(taskId, item.run.stopped);
		} catch (error) {
			throw aboutTask(error, taskId);
		}
		return [item.output({ task_id: taskId, deleted: true })];
	};
}
