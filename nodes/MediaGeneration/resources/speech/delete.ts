import { taskId } from '../../../shared/n8n/descriptions';
import { aboutTask } from '../../../shared/speech/speechTask';
import type { Operation } from '../../run/operation';

/** Speech → Delete (§4.3). */
export const deleteSpeech: Operation = {
	option: {
		name: 'Delete',
		value: 'delete',
		description: 'Delete a speech task',
		action: 'Delete a speech task',
	},
	fields: [taskId],
	prepare(item) {
		const id = item.parameters.taskId();

		return async () => {
			await item.api.deleteTask(id, item.run.stopped).catch((error: unknown) => {
				throw aboutTask(error, id);
			});
			return [item.output({ task_id: id, deleted: true })];
		};
	},
};
