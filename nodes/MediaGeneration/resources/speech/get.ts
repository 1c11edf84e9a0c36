import { withDeadline } from '../../../shared/async/deadline';
import { downloadIfAsked, taskId } from '../../../shared/n8n/descriptions';
import { aboutTask } from '../../../shared/speech/speechTask';
import type { Operation } from '../../run/work';
import { fileOf, spokenOutput } from './collect';

/** How long one reading with its retries and a download may take, in ms. */
const GET_MS = 3_600_000;

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
		const { parameters, api } = work;
		const [id] = parameters.taskIdsOfSpeech(1);
		const isFileWanted = parameters.fileFlag(downloadIfAsked);
		const outputField = parameters.outputField();

		return async () => {
			const got = await withDeadline(GET_MS, work.signal, async (signal) => {
				const task = await api.getTask(id, signal);
				const url = isFileWanted ? task.audioUrl : undefined;
				return { taskId: id, task, file: await fileOf(work, id, url, signal) };
			}).catch((error: unknown) => {
				throw aboutTask(error, id);
			});
			return [spokenOutput(work, got, outputField)];
		};
	},
};
