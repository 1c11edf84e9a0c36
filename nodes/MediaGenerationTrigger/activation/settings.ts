import type { ITriggerFunctions } from 'n8n-workflow';
import { downloadIfAsked, type NumberField, type SwitchField } from '../../shared/n8n/descriptions';
import { NodeParameters } from '../../shared/n8n/parameters';

const TASK_EVENTS = ['completed', 'failed', 'progress'] as const;
const EVENTS = [...TASK_EVENTS, 'generated'] as const;

export const checkInterval: NumberField = {
	displayName: 'Check Interval',
	name: 'checkInterval',
	type: 'number',
	typeOptions: { minValue: 10, maxValue: 86_400 },
	default: 60,
	description: 'Seconds between two checks for new videos and images',
};

export const progressStep: NumberField = {
	displayName: 'Progress Step',
	name: 'progressStep',
	type: 'number',
	typeOptions: { minValue: 1, maxValue: 100 },
	default: 10,
	description:
		'By how many percentage points the progress must rise before the workflow starts again',
};

export const includeOwnTasks: SwitchField = {
	displayName: 'Include Tasks of This Workflow',
	name: 'includeOwnTasks',
	type: 'boolean',
	default: false,
	description:
		'Whether tasks, videos and images that executions of this workflow create start it as well. If a node that creates more follows the trigger, an error stops this after ten times in a row.',
};

/** What happens to a speech task. */
export type TaskEventKind = (typeof TASK_EVENTS)[number];

/** What the trigger's parameters say. */
export type Settings = Readonly<ReturnType<typeof readSettings>>;

/** Throws a Failure of kind invalidInput that names the field at fault. */
export function readSettings(context: ITriggerFunctions) {
	const fields = new NodeParameters((name, fallback) => context.getNodeParameter(name, fallback));
	const events = new Set(fields.choices('events', 'Trigger On', EVENTS));
	return {
		events,
		/** Whether one of them is an event of speech tasks. */
		ofTasks: TASK_EVENTS.some((event) => events.has(event)),
		/** Empty: every task of the account. */
		taskIds: new Set(fields.taskIds()),
		/** Percentage points. */
		progressStep: fields.numberOption(progressStep),
		download: fields.fileFlagOption(downloadIfAsked),
		outputField: fields.outputField(),
		/** Also what executions of this workflow create. */
		includeOwnTasks: fields.flagOption(includeOwnTasks),
		/** How often the history is read. */
		checkIntervalMs: fields.durationOption(checkInterval),
	};
}
