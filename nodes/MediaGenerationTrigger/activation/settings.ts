import type { INodeProperties, ITriggerFunctions } from 'n8n-workflow';
import { downloadOffByDefault, type NumberField } from '../../shared/n8n/descriptions';
import { NodeParameters } from '../../shared/n8n/parameters';

/** All that may start an execution; saved workflows hold `value`. */
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

export const triggerOn: INodeProperties = {
	displayName: 'Trigger On',
	name: 'events',
	type: 'multiOptions',
	required: true,
	options: [...EVENTS],
	default: ['completed'],
};

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

export const checkInterval: NumberField = {
	displayName: 'Check Interval',
	name: 'checkInterval',
	type: 'number',
	typeOptions: { minValue: 10, maxValue: 86_400 },
	default: 60,
	displayOptions: { show: { '/events': ['generated'] } },
	description: 'Seconds between two checks for new videos and images',
};

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

/** The text below the node on the canvas. An expression knows no display names, so it brings its own. */
export const subtitle = `={{ $parameter.events.map((event) => (${JSON.stringify(
	Object.fromEntries(EVENTS.map(({ name, value }) => [value, name])),
)})[event]).join(", ") }}`;

/** What happens to a speech task. */
export type TaskEventKind = Exclude<(typeof EVENTS)[number]['value'], 'generated'>;

/** What the trigger's parameters say. */
export type Settings = Readonly<ReturnType<typeof readSettings>>;

/** Throws a Failure of kind invalidInput that names the field at fault. */
export function readSettings(context: ITriggerFunctions) {
	const fields = new NodeParameters((name, fallback) => context.getNodeParameter(name, fallback));
	const { name, displayName } = triggerOn;
	const allowed = EVENTS.map(({ value }) => value);
	const events = new Set(fields.choices(name, displayName, allowed));
	return {
		events,
		/** Whether one of them is an event of speech tasks. */
		ofTasks: [...events].some((event) => event !== 'generated'),
		/** Empty: every task of the account. */
		taskIds: new Set(fields.taskIds(taskIds.name, taskIds.displayName)),
		/** Percentage points. */
		progressStep: fields.numberOption(progressStep),
		download: fields.wantsFile(downloadOffByDefault),
		outputField: fields.outputField(),
		/** How often the history is read. */
		checkIntervalMs: fields.durationOption(checkInterval),
	};
}
