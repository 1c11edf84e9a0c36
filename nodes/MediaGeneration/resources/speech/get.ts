import { throwWithFacts } from '../../../shared/failure';
import { downloadOffField, taskIdField } from '../../../shared/n8n/descriptions';
import type { Operation } from '../../run/operation';
import { fetchSound, speechItem } from './collectTask';

/** Speech → Get (§4.2): returns the present state of a speech task, whether the task has ended or not. */
export const getSpeech: Operation = {
	option: {
		name: 'Get',
		value: 'get',
		description: 'Get the status of a speech task',
		action: 'Get speech task',
	},
	fields: [taskIdField, downloadOffField],
	prepare(item) {
		const { parameters, api, stopStarting } = item;
		const [id] = parameters.requiredTaskIds(taskIdField, 1);
		const wantsFile = parameters.wantsFileAt(downloadOffField);
		const fileField = parameters.outputField();

		return async () => {
			const task = await api.getTask(id, stopStarting).catch(throwWithFacts({ taskId: id }));
			const url = wantsFile(task.audioUrl) ? task.audioUrl : undefined;
			const sound = await fetchSound(item, id, url);
			return [speechItem(item, { taskId: id, task, ...sound }, fileField)];
		};
	},
};
