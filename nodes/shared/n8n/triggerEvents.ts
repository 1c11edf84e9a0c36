import type { INodeParameters, INodeProperties, INodePropertyOptions } from 'n8n-workflow';
import { textsIn } from './parameters';

/** An event that can start an execution. */
interface EventRow extends INodePropertyOptions {
	/** Saved workflows contain it, so it must not change. */
	value: string;
	/** Where it is detected. A node that creates speech tasks, or entries of the history, must not follow the trigger. */
	source: 'tasks' | 'history';
	/** True if its item can have a file. */
	hasFile: boolean;
}

/** The events that can start an execution. If `generated` is selected, `failed` is also about the history. */
export const EVENTS = [
	{
		name: 'Speech Completed',
		value: 'completed',
		description: 'When the audio of a speech task is ready',
		source: 'tasks',
		hasFile: true,
	},
	{
		name: 'Speech Failed',
		value: 'failed',
		description:
			'When a speech task fails. With Video or Image Created, also when a video or image fails.',
		source: 'tasks',
		hasFile: false,
	},
	{
		name: 'Speech Progress',
		value: 'progress',
		description: 'Each time the progress has risen by Progress Step. Starts many executions.',
		source: 'tasks',
		hasFile: false,
	},
	{
		name: 'Video or Image Created',
		value: 'generated',
		description:
			"When a new video or image appears in the account's history, no matter how it was created",
		source: 'history',
		hasFile: true,
	},
] as const satisfies readonly EventRow[];

/** The `value` of an event. */
export type EventKind = (typeof EVENTS)[number]['value'];

/** Returns the events for which `isIncluded` returns true, as the field Trigger On has them. */
const eventsWhere = (isIncluded: (row: EventRow) => boolean): EventKind[] =>
	EVENTS.filter(isIncluded).map(({ value }) => value);
/** The events about speech tasks. */
export const taskEvents = eventsWhere(({ source }) => source === 'tasks');
/** The events about entries in the history. */
export const historyEvents = eventsWhere(({ source }) => source === 'history');
/** The events whose item can have a file. */
export const fileEvents = eventsWhere(({ hasFile }) => hasFile);

export const eventsField: INodeProperties = {
	displayName: 'Trigger On',
	name: 'events',
	type: 'multiOptions',
	required: true,
	options: EVENTS.map(({ name, value, description }) => ({ name, value, description })),
	default: ['completed'],
};

export const taskIdsField: INodeProperties = {
	displayName: 'Task IDs',
	name: 'taskIds',
	type: 'string',
	default: '',
	displayOptions: { show: { events: taskEvents } },
	placeholder: 'e.g. 184467, 184468',
	description: 'The IDs of speech tasks, separated by commas, spaces or line breaks',
	hint: 'Leave empty to listen for all speech tasks of the account',
};

/**
 * True if a trigger with these stored parameters may report any speech task of the account (if `isSpeech`), or any
 * entry of the history (if not). A missing parameter has its default value, because n8n does not store default values.
 * An expression may give any events, and no task IDs.
 */
export function mayReport(stored: INodeParameters, isSpeech: boolean): boolean {
	const events = stored[eventsField.name] ?? eventsField.default;
	const ids = stored[taskIdsField.name] ?? taskIdsField.default;
	const listsTasks = !isExpression(ids) && textsIn(ids, taskIdsField.displayName).length > 0;
	if (isSpeech && listsTasks) return false;
	const reportedEvents: string[] = isSpeech ? taskEvents : historyEvents;
	return (
		isExpression(events) ||
		textsIn(events, eventsField.displayName).some((event) => reportedEvents.includes(event))
	);
}

/** True if the value of a stored parameter is an expression. */
export const isExpression = (value: unknown): value is string =>
	typeof value === 'string' && value.startsWith('=');
