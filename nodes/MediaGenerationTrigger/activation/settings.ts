import type { INodeProperties, ITriggerFunctions } from 'n8n-workflow';
import { downloadIfAsked, type NumberField } from '../../shared/n8n/descriptions';
import { NodeParameters } from '../../shared/n8n/parameters';

/** The events that can start an execution. Saved workflows contain `value`, so it never changes. */
const EVENTS = [
	{
		name: 'Task Completed',
		value: 'completed',
		description: 'When the speech is ready, once per task',
	},
	{
		name: 'Task Failed',
		value: 'failed',
		description: 'When the service could not generate the speech, once per task',
	},
	{
		name: 'Task Progress',
		value: 'progress',
		description: 'When the percentage has risen; each step starts an execution',
	},
	{
		name: 'Video or Image Made',
		value: 'generated',
		description: 'When a new one appears in the history, whoever made it, once each',
	},
] as const;

/** The field with the events to listen for. */
export const triggerOn: INodeProperties = {
	displayName: 'Trigger On',
	name: 'events',
	type: 'multiOptions',
	required: true,
	options: [...EVENTS],
	default: ['completed'],
};

/** The field with the speech tasks to listen for. */
export const taskIds: INodeProperties = {
	displayName: 'Task IDs',
	name: 'taskIds',
	type: 'string',
	default: '',
	displayOptions: { show: { events: ['completed', 'failed', 'progress'] } },
	placeholder: 'e.g. 184467, 184468',
	description:
		'The speech tasks to listen for, separated by commas, blanks or lines. Leave empty for every task of the account.',
};

/** The option with the time between two reads of the history, in seconds. */
export const checkInterval: NumberField = {
	displayName: 'Check Interval',
	name: 'checkInterval',
	type: 'number',
	typeOptions: { minValue: 10, maxValue: 86_400 },
	default: 60,
	displayOptions: { show: { '/events': ['generated'] } },
	description: 'Seconds between two checks for new videos and images',
};

/** The option with the least rise between two progress events, in percentage points. */
export const progressStep: NumberField = {
	displayName: 'Progress Step',
	name: 'progressStep',
	type: 'number',
	typeOptions: { minValue: 1, maxValue: 100 },
	default: 10,
	displayOptions: { show: { '/events': ['progress'] } },
	description:
		'By how many percentage points the progress must rise before the workflow starts again',
};

/**
 * The text below the node on the canvas. It is an expression, and expressions cannot read display names, so it
 * contains a table of them.
 */
export const subtitle = `={{ $parameter.events.map((event) => (${JSON.stringify(
	Object.fromEntries(EVENTS.map(({ name, value }) => [value, name])),
)})[event]).join(", ") }}`;

/** The events of speech tasks. */
export type TaskEventKind = Exclude<(typeof EVENTS)[number]['value'], 'generated'>;

/** The values of the trigger's parameters. */
export type Settings = Readonly<ReturnType<typeof readSettings>>;

/** Reads the trigger's parameters. Throws a Failure of kind invalidInput that names an invalid field. */
export function readSettings(context: ITriggerFunctions) {
	const fields = new NodeParameters((name, fallback) => context.getNodeParameter(name, fallback));
	const { name, displayName } = triggerOn;
	const allowed = EVENTS.map(({ value }) => value);
	const events = new Set(fields.choices(name, displayName, allowed));
	return {
		events,
		/** True if at least one of the events is about speech tasks. */
		ofTasks: [...events].some((event) => event !== 'generated'),
		/** The tasks to listen for. Empty: all tasks of the account. */
		taskIds: new Set(fields.taskIds(taskIds.name, taskIds.displayName)),
		/** Least rise between two progress events, in percentage points. */
		progressStep: fields.numberOption(progressStep),
		download: fields.wantsFile(downloadIfAsked),
		outputField: fields.outputField(),
		/** Time between two reads of the history. */
		checkIntervalMs: fields.durationOption(checkInterval),
	};
}
