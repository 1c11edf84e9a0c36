import { startDeadline } from '../../../shared/async/deadline';
import { downloadIfAsked, taskId } from '../../../shared/n8n/descriptions';
import { aboutTask } from '../../../shared/speech/speechTask';
import type { Operation } from '../../run/operation';
import { spokenOutput, withFile } from './collect';

/** How long one reading with its retries and a download may take, in ms. */
const GET_MS = 3_600_000;

/** Speech → Get: reads a task once (§4.2), whatever its state. */
export const getSpeech: Operation = {
	option: {
		name: 'Get',
		value: 'get',
		description: 'Get the current state of a speech task',
		action: 'Get a speech task',
	},
	fields: [taskId, downloadIfAsked],
	prepare(item) {
		const { parameters, api, run } = item;
		const id = parameters.taskId();
		const isFileWanted = parameters.download(downloadIfAsked.default);
		const outputField = parameters.outputField();

		return async () => {
			const limit = startDeadline(GET_MS, run.stopped);
			try {
				const task = await api.getTask(id, limit.signal);
				const got = await withFile(item, { taskId: id, task }, isFileWanted, limit.signal);
				return [spokenOutput(item, got, outputField)];
			} catch (error) {
				throw aboutTask(error, id);
			} finally {
				limit.stop();
			}
		};
	},
};
