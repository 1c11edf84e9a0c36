import type { INodeProperties } from 'n8n-workflow';
import { withDefaultFacts } from '../../../shared/failure';
import { downloadField, optionsField, taskIdField } from '../../../shared/n8n/descriptions';
import { type Operation, toItemResult } from '../../run/operation';
import { collectTask, collectOptionFields, readCollectOptions, speechItem } from './collectTask';
import { collectAsOne, MAX_PARTS, runParts } from './parts';
import { isTaskGone } from './submit';

const taskIdsField = {
	...taskIdField,
	displayName: 'Task ID(s)',
	placeholder: 'e.g. 184467, 184468',
	description:
		'One or more task IDs, separated by commas, spaces or line breaks: the task_id, or task_ids, from the output of Speech → Text to Speech',
	hint: 'Several tasks: one file. For separate files, turn off Join Into One File under Options.',
};

const joinFilesField = {
	displayName: 'Join Into One File',
	name: 'joinFiles',
	type: 'boolean',
	default: true,
	description:
		'Whether to join the audio of several tasks into one file, as with the parts of a long text. Turn off to get one item per task.',
} satisfies INodeProperties;

/** Speech → Collect: waits for existing tasks and fetches their audio. Nothing is charged. */
export const collectSpeech: Operation = {
	option: {
		name: 'Collect',
		value: 'wait',
		description:
			'Wait for a speech task that was started earlier, and get its audio. Nothing is charged.',
		action: 'Collect audio of speech task',
	},
	fields: [taskIdsField, downloadField, optionsField(joinFilesField, ...collectOptionFields)],
	prepare(item) {
		const ids = item.parameters.requiredTaskIds(taskIdsField, MAX_PARTS);
		const collectOptions = readCollectOptions(item.parameters);
		const isJoined = item.parameters.flag(joinFilesField);

		return async () => {
			if (!isJoined) {
				return await runParts(item, ids, collectOptions.timeoutMs, async ({ stopStarting }, id) => {
					// The item's own report: these tasks are not the parts of one speech.
					const resultPromise = collectTask({ ...item, stopStarting }, collectOptions, id);
					// The failure of one task must not discard the audio of the other tasks.
					return await toItemResult(
						resultPromise.then((result) => speechItem(item, result, collectOptions.fileField)),
					);
				});
			}
			return await collectAsOne(item, collectOptions, ids).catch((error: unknown) => {
				// The message lists only tasks that can still be collected.
				const failedId = isTaskGone(error) ? error.facts.taskId : undefined;
				const taskIds = ids.filter((id) => id !== failedId);
				throw ids.length > 1 ? withDefaultFacts(error, { taskIds }) : error;
			});
		};
	},
};
