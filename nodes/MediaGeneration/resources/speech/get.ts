import { downloadIfAsked, taskId } from '../../../shared/n8n/descriptions';
import { aboutTask } from '../../../shared/speech/speechTask';
import type { Operation } from '../../run/work';
import { soundOf, spokenOutput } from './collect';

/** Speech → Get: reads a task once (§4.2), whatever its state. */
export const getSpeech: Operation = {
	option: {
		name: 'Get',
		value: 'get',
		description: 'Get the current state of a speech task',
		action: 'Get speech task',
	},
	fields: [taskId, downloadIfAsked],
	prepare(work) {
		const { parameters, api, signal } = work;
		const [id] = parameters.taskIdsOfSpeech(1);
		const isFileWanted = parameters.fileFlag(downloadIfAsked);
		const outputField = parameters.outputField();

		return async () => {
			const task = await api.getTask(id, signal).catch((error: unknown) => {
				throw aboutTask(error, id);
			});
			const url = isFileWanted ? task.audioUrl : undefined;
			const sound = await soundOf(work, id, url, signal);
			return [spokenOutput(work, { taskId: id, task, ...sound }, outputField)];
		};
	},
};
