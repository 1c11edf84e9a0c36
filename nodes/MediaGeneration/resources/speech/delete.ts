import { updateDisplayOptions } from 'n8n-workflow';
import { taskId } from '../../../shared/n8n/descriptions';
import { aboutTask } from '../../../shared/speech/speechTask';
import type { Item } from '../../item';
import type { Job } from '../../made';

export const deleteSpeechDescription = updateDisplayOptions(
	{ show: { resource: ['speech'], operation: ['delete'] } },
	[taskId],
);

/** Speech → Delete (§4.3). */
export function deleteSpeech(item: Item): Job {
	const id = item.parameters.taskId();

	return async () => {
		try {
			await item.api.deleteTask(id, item.run.stopped);
		} catch (error) {
			throw aboutTask(error, id);
		}
		return [item.output({ task_id: id, deleted: true })];
	};
}
