import type { IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { readCredential } from '../shared/http/credential';
import { CREDENTIAL_TYPE } from '../shared/http/request';
import { failedItem } from './failedItem';
import { findOperation } from './resources';
import { FailedResult } from './run/itemTask';
import { isToolRun, Run } from './run/run';

/**
 * Runs the chosen operation for all input items. Resolves with the output items, in the order of the input. Throws an
 * n8n error if the run was canceled, or if an item has failed in a run that does not continue after failures.
 */
export async function router(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
	const node = this.getNode();
	// A model needs to read what went wrong and what to do. Some agents hide a thrown error from it. So in a tool run a
	// failure is an output item, unless the user has chosen Stop Workflow.
	const continueOnFail =
		this.continueOnFail() || (isToolRun(this) && node.onError !== 'stopWorkflow');
	// An expression in the credential may resolve to a different account for each item.
	const credentials = this.getInputData().map(async (_, index) => {
		return await this.getCredentials(CREDENTIAL_TYPE, index)
			.then(readCredential)
			.catch((error: unknown) => new FailedResult(error));
	});
	const run = new Run(this, await Promise.all(credentials), continueOnFail);
	const outcomes = await run.processItems((item) => {
		const resource = this.getNodeParameter('resource', 0);
		return findOperation(resource, this.getNodeParameter('operation', 0)).prepare(item);
	});
	const items = outcomes.flatMap((results, index) =>
		results.map((result) =>
			result instanceof FailedResult ? failedItem(this, index, result, run.redact) : result,
		),
	);
	return [items];
}
