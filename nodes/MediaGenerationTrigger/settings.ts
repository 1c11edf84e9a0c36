import type { ITriggerFunctions } from 'n8n-workflow';
import { CHECK_INTERVAL_SECONDS, PROGRESS_STEP } from '../shared/n8n/descriptions';
import { NodeParameters } from '../shared/n8n/parameters';

const TASK_EVENTS = ['completed', 'failed', 'progress'] as const;
const EVENTS = [...TASK_EVENTS, 'generated'] as const;

/** What happens to a speech task. */
export type TaskEventKind = (typeof TASK_EVENTS)[number];

/** What the trigger's parameters say. */
export interface Settings {
	events: ReadonlySet<(typeof EVENTS)[number]>;
	/** Whether one of them is an event of speech tasks. */
	ofTasks: boolean;
	/** Empty: every task of the account. */
	taskIds: ReadonlySet<string>;
	/** Percentage points. */
	progressStep: number;
	download: boolean;
	outputField: string;
	/** Also what executions of this workflow created. */
	includeOwnTasks: boolean;
	/** How often the history is read. */
	checkIntervalMs: number;
}

/** Throws a Failure of kind invalidInput that names the field at fault. */
export function readSettings(context: ITriggerFunctions): Settings {
	const fields = new NodeParameters((name, fallback) => context.getNodeParameter(name, fallback));
	const events = new Set(fields.choices('events', 'Trigger On', EVENTS));
	return {
		events,
		ofTasks: TASK_EVENTS.some((event) => events.has(event)),
		taskIds: new Set(fields.taskIds()),
		progressStep: fields.numberOption('progressStep', 'Progress Step', PROGRESS_STEP),
		download: fields.downloadOption(),
		outputField: fields.outputField(),
		includeOwnTasks: fields.flagOption('includeOwnTasks', false),
		checkIntervalMs: fields.durationOption(
			'checkInterval',
			'Check Interval',
			CHECK_INTERVAL_SECONDS,
		),
	};
}
