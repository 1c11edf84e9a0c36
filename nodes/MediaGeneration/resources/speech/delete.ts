import { throwWithFacts } from '../../../shared/failure';
import { taskIdField } from '../../../shared/n8n/descriptions';
import type { Operation } from '../../run/operation';

/** Speech → Delete (§4.3): deletes a speech task. */
export const deleteSpeech: Operation = {
	option: {
		name: 'Delete',
		value: 'delete',
		description:
			'Delete a speech task from the service. Its audio can then only be generated again (charged).',
		action: 'Delete speech task',
	},
	fields: [taskIdField],
	prepare({ api, parameters, stopStarting, output }) {
		const [id] = parameters.requiredTaskIds(taskIdField, 1);

		return async () => {
			await api.deleteTask(id, stopStarting).catch(throwWithFacts({ taskId: id, isFree: true }));
			return [output({ task_id: id, deleted: true })];
		};
	},
};
