import type { INodeParameters, INodeProperties } from 'n8n-workflow';
import { textsIn } from './parameters';

/** The events that can start an execution. Saved workflows contain `value`, so it must not change. */
export const EVENTS = [
	{
		name: 'Speech Completed',
		value: 'completed',
		description: 'When the audio of a speech task is ready',
	},
	{
		name: 'Speech Failed',
		value: 'failed',
		description:
			'When a speech task fails. With Video or Image Created, also when a video or image fails.',
	},
	{
		name: 'Speech Progress',
		value: 'progress',
		description: 'Each time the progress has risen by Progress Step. Starts many executions.',
	},
	{
		name: 'Video or Image Created',
		value: 'generated',
		description:
			"When a new video or image appears in the account's history, no matter how it was created",
	},
] as const;

/** The events about new entries in the history. */
const HISTORY_EVENTS = ['generated'] as const;
type HistoryEventKind = (typeof HISTORY_EVENTS)[number];

/** The events about speech tasks. If `generated` is selected as well, `failed` is also about the history. */
export type TaskEventKind = Exclude<(typeof EVENTS)[number]['value'], HistoryEventKind>;
/** All events about speech tasks, as the field Trigger On has them. */
export const taskEvents = EVENTS.map(({ value }) => value).filter(
	(value): value is TaskEventKind => !HISTORY_EVENTS.includes(value as HistoryEventKind),
);

export const eventsField: INodeProperties = {
	displayName: 'Trigger On',
	name: 'events',
	type: 'multiOptions',
	required: true,
	options: [...EVENTS],
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
	const reportedEvents: string[] = isSpeech ? taskEvents : [...HISTORY_EVENTS];
	return (
		isExpression(events) ||
		textsIn(events, eventsField.displayName).some((event) => reportedEvents.includes(event))
	);
}

/** True if the value of a stored parameter is an expression. */
export const isExpression = (value: unknown): value is string =>
	typeof value === 'string' && value.startsWith('=');
