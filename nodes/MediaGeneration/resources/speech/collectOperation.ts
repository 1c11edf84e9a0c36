import type { INodeProperties } from 'n8n-workflow';
import { isFailure, withDefaultFacts } from '../../../shared/failure';
import {
	concurrency,
	download,
	options,
	outputField,
	pollInterval,
	subtitles,
	taskId,
	timeout,
} from '../../../shared/n8n/descriptions';
import { captureFailure } from '../../run/itemTask';
import type { ItemContext, Operation } from '../../run/itemContext';
import { collect, readWaitOptions, speechItem } from './collect';
import { runParts, MAX_PARTS, speechOutput } from './parts';

const taskIds = {
	...taskId,
	displayName: 'Task ID(s)',
	placeholder: 'e.g. 184467, 184468',
	description:
		'One or more task IDs, separated by commas, spaces or line breaks: the task_id, or task_ids, from the output of Speech → Text to Speech',
	hint: 'Several are joined into one file. For separate files, turn off Join Into One File under Options.',
};

const joinFiles = {
	displayName: 'Join Into One File',
	name: 'joinFiles',
	type: 'boolean',
	default: true,
	description:
		'Whether to join the audio of several tasks into one file, as with the parts of a long text. Turn off to get one item per task.',
} satisfies INodeProperties;

/** Only the output of a text that was split has this field. */
const OF_PARTS = 'task_ids';

/** Whether the tasks of an item are the parts of one text, as far as the workflow tells. */
const areParts = ({ context, index }: ItemContext) =>
	String(context.getNode().parameters[taskId.name]).includes(OF_PARTS) ||
	context.getInputData()[index]!.json[OF_PARTS] !== undefined;

/** Speech → Collect (`wait`): waits for existing tasks and fetches their audio, at no extra cost. */
export const collectSpeech: Operation = {
	option: {
		name: 'Collect',
		value: 'wait',
		description:
			'Wait for a speech task that was started earlier, and get its audio. Nothing is charged.',
		action: 'Collect audio of speech task',
	},
	fields: [
		taskIds,
		download,
		options(concurrency, subtitles, joinFiles, pollInterval, outputField, timeout('speech')),
	],
	prepare(item) {
		const ids = item.parameters.taskIdsOfSpeech(taskIds, MAX_PARTS);
		const waitOptions = readWaitOptions(item.parameters);
		const isJoined = item.parameters.flag(joinFiles);

		return async () => {
			if (!isJoined) {
				return await runParts(item, ids, waitOptions.timeoutMs, async (part, id) => {
					const alone = { ...part, index: 0, count: 1, name: '' };
					const collecting = collect(item, alone, waitOptions, id);
					// The failure of one task must not cost the audio of the others.
					return await captureFailure(
						collecting.then((result) => speechItem(item, result, waitOptions.outputField)),
					);
				});
			}
			const results = await runParts(item, ids, waitOptions.timeoutMs, async (part, id) => {
				return await collect(item, part, waitOptions, id);
			}).catch((error: unknown) => {
				// The message lists the tasks that can still be collected, so the failed one is not among them.
				const gone = isFailure(error, 'taskFailed', 'notFound') ? error.facts.taskId : undefined;
				const collectable = ids.filter((id) => id !== gone);
				throw ids.length > 1 ? withDefaultFacts(error, { taskIds: collectable }) : error;
			});
			const output = await speechOutput(item, results, waitOptions);
			if (ids.length > 1 && output.length === 1 && !areParts(item)) {
				const one = waitOptions.download ? 'file' : 'item';
				item.report.hint(
					`${ids.length} tasks were joined into one ${one}. For separate ${one}s, turn off ${joinFiles.displayName}`,
				);
			}
			return output;
		};
	},
};
