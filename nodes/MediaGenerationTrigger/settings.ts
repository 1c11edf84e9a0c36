import type { ITriggerFunctions } from 'n8n-workflow';
import { PROGRESS_STEP } from '../shared/n8n/descriptions';
import { NodeParameters } from '../shared/n8n/parameters';

const EVENTS = ['completed', 'failed', 'progress'] as const;

export type TaskEventKind = (typeof EVENTS)[number];

/** What the trigger's parameters say. */
export interface Settings {
	events: ReadonlySet<TaskEventKind>;
	/** Empty: every task of the account. */
	taskIds: ReadonlySet<string>;
	/** Percentage points. */
	progressStep: number;
	download: boolean;
	outputField: string;
	/** Also tasks that executions of this workflow created. */
	includeOwnTasks: boolean;
}

/** Throws a Failure of kind invalidInput that names the field at fault. */
export function readSettings(context: ITriggerFunctions): Settings {
	const fields = new NodeParameters((name, fallback) => context.getNodeParameter(name, fallback));
	return {
		events: new Set(fields.choices('events', 'Trigger On', EVENTS)),
		taskIds: new Set(fields.taskIds()),
		progressStep: fields.numberOption('progressStep', 'Progress Step', PROGRESS_STEP),
		download: fields.downloadOption(),
		outputField: fields.outputField(),
		includeOwnTasks: fields.flagOption('includeOwnTasks', false),
	};
}
