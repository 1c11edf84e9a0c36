import { startDeadline } from '../../../shared/async/deadline';
import { aboutTask } from '../../../shared/speech/speechTask';
import type { Item, Job } from '../../run';
import { collect, readWaitFields } from './collect';

/** Speech → Wait: waits for a task that exists, and fetches its audio. Costs nothing again. */
export function wait(item: Item): Job {
	const { fields, run } = item;
	const taskId = fields.taskId();
	const options = readWaitFields(fields, true);

	return async () => {
		const deadline = startDeadline(options.timeout, run.stopped);
		const listening = run.listen();
		try {
			const origin = { justCreated: false };
			return await collect(item, taskId, options, deadline.signal, listening, origin).catch(
				(error: unknown) => {
					throw aboutTask(error, taskId);
				},
			);
		} finally {
			listening.release();
			deadline.stop();
		}
	};
}
