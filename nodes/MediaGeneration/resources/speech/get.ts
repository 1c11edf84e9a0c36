import { downloadIfAsked, taskId } from '../../../shared/n8n/descriptions';
import { withTaskId } from '../../../shared/speech/speechTask';
import type { Operation } from '../../run/itemContext';
import { soundOf, speechItem } from './collect';

/** Speech → Get: reads a task once (§4.2), whatever its state. */
export const getSpeech: Operation = {
	option: {
		name: 'Get',
		value: 'get',
		description: 'Get the current state of a speech task',
		action: 'Get speech task',
	},
	fields: [taskId, downloadIfAsked],
	prepare(item) {
		const { parameters, api, signal } = item;
		const [id] = parameters.taskIdsOfSpeech(1);
		const isFileWanted = parameters.wantsFile(downloadIfAsked);
		const outputField = parameters.outputField();

		return async () => {
			const task = await api.getTask(id, signal).catch((error: unknown) => {
				throw withTaskId(error, id);
			});
			const url = isFileWanted ? task.audioUrl : undefined;
			const sound = await soundOf(item, id, url, signal);
			return [speechItem(item, { taskId: id, task, ...sound }, outputField)];
		};
	},
};
