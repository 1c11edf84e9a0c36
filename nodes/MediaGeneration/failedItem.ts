import type { IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { errorKindOf, Failure } from '../shared/failure';
import { toNodeError } from '../shared/n8n/nodeErrors';
import type { Redactor } from '../shared/parsing/redaction';
import type { FailedResult } from './run/itemTask';

/**
 * Makes the output item that takes the place of a failed result, in a run that continues after failures. Saved
 * workflows read the fields of its json, such as `error`, `error_kind` and `task_id`, so their names never change.
 * `index` is the index of the input item. `redact` removes the tokens of all accounts.
 */
export function failedItem(
	context: IExecuteFunctions,
	index: number,
	{ error: cause }: FailedResult,
	redact?: Redactor,
): INodeExecutionData {
	const node = context.getNode();
	const hasErrorOutput = node.onError === 'continueErrorOutput';
	const error = toNodeError(cause, { node, redact });
	// At the error output, n8n merges this json over that of the input item. An input item often has a
	// `description` of its own, which must stay.
	const hasOwnDescription =
		hasErrorOutput && context.getInputData()[index]!.json.description !== undefined;
	const { kind, facts = {} }: Partial<Failure> = cause instanceof Failure ? cause : {};
	const { taskIds, indeterminateParts = [], fileUrl } = facts;
	const taskId = facts.taskId ?? taskIds?.[0];
	// `maybe_paid` tells a workflow that a call may have been charged, and that no task of that call is known. The
	// workflow should not simply send the call again. In a speech of several parts, some parts may have tasks while
	// others may have been charged without one.
	const isIndeterminate =
		(facts.mayBeCharged || kind === 'streamLost') && facts.taskId === undefined;
	const mayBePaid = isIndeterminate || indeterminateParts.length > 0;
	const json = {
		error: error.message,
		error_kind: errorKindOf(cause),
		...(error.description && !hasOwnDescription ? { description: error.description } : {}),
		...(taskId === undefined ? {} : { task_id: taskId }),
		...(taskIds?.length ? { task_ids: taskIds } : {}),
		...(fileUrl === undefined ? {} : { file_url: fileUrl }),
		...(kind === 'taskFailed' ? { status: 'error' } : {}),
		...(mayBePaid ? { maybe_paid: true } : {}),
	};
	const item = { json: redact?.value(json) ?? json, pairedItem: { item: index } };
	if (!hasErrorOutput) return item;
	// n8n sends an item to the error output if it has a property `error` beside `json`. If that property is enumerable,
	// n8n also reduces the json to the error message. So the property is not enumerable, and the json survives.
	return Object.defineProperty(item, 'error', { value: error, enumerable: false });
}
