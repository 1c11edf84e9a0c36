import type { IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { errorKindOf, Failure } from '../shared/failure';
import { toNodeError } from '../shared/n8n/nodeErrors';
import type { Redactor } from '../shared/parsing/redaction';
import type { FailedResult } from './run/itemTask';

/**
 * Makes the output item that takes the place of a failed result, in a run that continues after failures. Workflows read
 * the fields of its json, such as `error`, `error_kind` and `task_id`. `index` is the index of the input item. `redact`
 * removes the tokens of all accounts.
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
	// A workflow needs to know whether to collect a task, to create it again, or to check the history first.
	// In a speech of several parts, one part may be indeterminate while others have tasks.
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
