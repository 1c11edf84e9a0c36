import type { INodeProperties, ITriggerFunctions } from 'n8n-workflow';
import { downloadField, type NumberField } from '../../shared/n8n/descriptions';
import { NodeParameters } from '../../shared/n8n/parameters';
import {
	EVENTS,
	eventsField,
	fileEvents,
	historyEvents,
	taskEvents,
	taskIdsField,
} from '../../shared/n8n/triggerEvents';

export const downloadFileField = {
	...downloadField,
	displayOptions: { show: { events: fileEvents } },
	description:
		'Whether to download the audio, video or image. n8n does not delete these files along with the execution: if you expect many, turn this off and use the URL, which may expire within an hour.',
} satisfies INodeProperties;

export const checkIntervalField: NumberField = {
	displayName: 'Check Interval',
	name: 'checkInterval',
	type: 'number',
	typeOptions: { minValue: 10, maxValue: 86_400 },
	default: 60,
	// The field is in a collection, so the path begins at the root.
	displayOptions: { show: { '/events': historyEvents } },
	description: 'How often to check for new videos and images, in seconds',
};

export const progressStepField: NumberField = {
	displayName: 'Progress Step',
	name: 'progressStep',
	type: 'number',
	typeOptions: { minValue: 1, maxValue: 100 },
	default: 10,
	displayOptions: { show: { '/events': ['progress'] } },
	description: 'How many percentage points the progress must rise before the next execution starts',
};

const displayNames = Object.fromEntries(EVENTS.map(({ name, value }) => [value, name]));

/** The text below the node on the canvas. It has a table, because an expression cannot read display names. */
export const subtitle = `={{ ((${JSON.stringify(displayNames)})[$parameter.events[0]] ?? "") + ($parameter.events.length > 1 ? " +" + ($parameter.events.length - 1) : "") }}`;

/** The values of the trigger's parameters. */
export type Settings = Readonly<ReturnType<typeof readSettings>>;

/** Reads the trigger's parameters. Throws a Failure of kind invalidInput that names an invalid field. */
export function readSettings(context: ITriggerFunctions) {
	const parameters = new NodeParameters((name, fallback) =>
		context.getNodeParameter(name, fallback),
	);
	const allowed = EVENTS.map(({ value }) => value);
	const events = new Set(parameters.choices(eventsField, allowed));
	return {
		events,
		/** True if at least one of the events is about speech tasks. */
		listensForTasks: taskEvents.some((event) => events.has(event)),
		/** True if at least one of the events is about the history. */
		listensForHistory: historyEvents.some((event) => events.has(event)),
		/** The tasks to listen for; empty to listen for all tasks of the account. */
		taskIds: new Set(parameters.taskIds(taskIdsField)),
		/** The least rise between two progress events, in percentage points. */
		progressStep: parameters.number(progressStepField),
		wantsFile: parameters.wantsFileAt(downloadFileField),
		fileField: parameters.outputField(),
		/** The time between two polls of the history, in ms. */
		checkIntervalMs: parameters.duration(checkIntervalField),
	};
}
