import type { IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { errorKindOf, Failure } from '../shared/failure';
import { toNodeError } from '../shared/n8n/nodeErrors';
import type { Redactor } from '../shared/parsing/redaction';
import type { FailedResult } from './run/itemTask';

/** The item that "continue on fail" puts in place of one that could not be made. */
export function failedItem(
	context: IExecuteFunctions,
	index: number,
	{ error: cause }: FailedResult,
	redact?: Redactor,
): INodeExecutionData {
	const node = context.getNode();
	const hasErrorOutput = node.onError === 'continueErrorOutput';
	const error = toNodeError(cause, { node, redact });
	// n8n lays this over the columns of the row, of which `description` is often one.
	const isTaken = hasErrorOutput && context.getInputData()[index]!.json.description !== undefined;
	const { kind, facts = {} }: Partial<Failure> = cause instanceof Failure ? cause : {};
	const { taskIds, indeterminateParts = [], fileUrl } = facts;
	const taskId = facts.taskId ?? taskIds?.[0];
	// A workflow that keeps a list has to tell a task to collect from one to create again. In a speech of
	// several parts, one may be doubtful while others have tasks.
	const isDoubtful = (facts.mayBeCharged || kind === 'streamLost') && facts.taskId === undefined;
	const hasDoubtful = isDoubtful || indeterminateParts.length > 0;
	const json = {
		error: error.message,
		error_kind: errorKindOf(cause),
		...(error.description && !isTaken ? { description: error.description } : {}),
		...(taskId === undefined ? {} : { task_id: taskId }),
		...(taskIds?.length ? { task_ids: taskIds } : {}),
		...(fileUrl === undefined ? {} : { file_url: fileUrl }),
		...(kind === 'taskFailed' ? { status: 'error' } : {}),
		...(hasDoubtful ? { maybe_paid: true } : {}),
	};
	const item = { json: redact?.value(json) ?? json, pairedItem: { item: index } };
	if (!hasErrorOutput) return item;
	// n8n sends items with an `error` to the error output, but reduces their json to the message if it
	// finds the `error` there, too. Hidden from n8n's copy, the rest of the json survives.
	return Object.defineProperty(item, 'error', { value: error, enumerable: false });
}
