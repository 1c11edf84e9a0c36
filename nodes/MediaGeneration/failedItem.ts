import type { IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { errorKindOf, Failure } from '../shared/failure';
import { toNodeError } from '../shared/n8n/nodeErrors';
import type { Redactor } from '../shared/parsing/redaction';
import { toOutputRecord } from '../shared/parsing/outputRecord';
import type { FailedResult } from './run/operation';

/** Makes the output item of a failed result. Saved workflows read its fields: their names must not change. */
export function failedItem(
	context: IExecuteFunctions,
	index: number,
	{ error: cause }: FailedResult,
	redact: Redactor,
): INodeExecutionData {
	const node = context.getNode();
	const hasErrorOutput = node.onError === 'continueErrorOutput';
	const error = toNodeError(cause, { node, redact });
	// At the error output, n8n merges this JSON into the input item, and would overwrite its `description`.
	const hasOwnDescription =
		hasErrorOutput && context.getInputData()[index]!.json?.description !== undefined;
	const descriptionField = hasOwnDescription ? 'error_description' : 'description';
	const { kind, facts = {} }: Partial<Failure> = cause instanceof Failure ? cause : {};
	const { taskIds, isIncomplete, indeterminateParts = [], fileUrl } = facts;
	const taskId = facts.taskId ?? taskIds?.[0];
	// `maybe_paid` warns a workflow not to send the call again: it may be charged, although no task is known.
	const isIndeterminate =
		(facts.mayBeCharged || kind === 'streamLost' || kind === 'crashed') &&
		facts.taskId === undefined;
	const mayBePaid = isIndeterminate || indeterminateParts.length > 0;
	const hasTaskIds = taskIds !== undefined && taskIds.length > 0;
	const json = toOutputRecord({
		error: error.message,
		error_kind: errorKindOf(cause),
		[descriptionField]: error.description || undefined,
		task_id: taskId,
		task_ids: hasTaskIds ? taskIds : undefined,
		// Without this field, a workflow that collects the tasks would take their audio for that of the whole text.
		incomplete: (hasTaskIds && isIncomplete) || undefined,
		file_url: fileUrl,
		status: kind === 'taskFailed' ? 'error' : undefined,
		maybe_paid: mayBePaid || undefined,
	}) as INodeExecutionData['json'];
	const item = { json: redact.value(json), pairedItem: { item: index } };
	if (!hasErrorOutput) return item;
	// n8n sends an item with an `error` to the error output. If it were enumerable, n8n would also replace the JSON.
	return Object.defineProperty(item, 'error', { value: error, enumerable: false });
}
