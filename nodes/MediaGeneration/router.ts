import type { IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { withDefaultFacts } from '../shared/failure';
import { readCredential } from '../shared/http/credential';
import { CREDENTIAL_TYPE } from '../shared/http/request';
import { failedItem } from './failedItem';
import { findOperation } from './resources';
import { FailedResult, type ItemTask } from './run/itemTask';
import { isToolRun, Run } from './run/run';

/** Runs the chosen operation for every input item. */
export async function router(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
	const node = this.getNode();
	// A model is told what went wrong and what to do; some agents don't pass on a thrown error.
	const continueOnFail =
		this.continueOnFail() || (isToolRun(this) && node.onError !== 'stopWorkflow');
	// An expression in the credential may resolve to another account for each item.
	const credentials = this.getInputData().map(async (_, index) => {
		return await this.getCredentials(CREDENTIAL_TYPE, index)
			.then(readCredential)
			// It is no field of the item, to be told together with the same of other items.
			.catch((error: unknown) => new FailedResult(withDefaultFacts(error, { items: [] })));
	});
	const run = new Run(this, await Promise.all(credentials), continueOnFail);
	const outcomes = await run.all(readJobs(this, run));
	run.throwIfEnded();
	const items = outcomes.flatMap((parts, index) =>
		parts.map((part) =>
			part instanceof FailedResult ? failedItem(this, index, part, run.redact) : part,
		),
	);
	return [items];
}

/** Reads the fields of all items before anything is sent for one of them. */
function readJobs(context: IExecuteFunctions, run: Run): Array<ItemTask | FailedResult> {
	return context.getInputData().map((_, index) => {
		try {
			const resource = context.getNodeParameter('resource', 0);
			const operation = findOperation(resource, context.getNodeParameter('operation', 0));
			return operation.prepare(run.contextFor(index));
		} catch (error) {
			return new FailedResult(error);
		}
	});
}
