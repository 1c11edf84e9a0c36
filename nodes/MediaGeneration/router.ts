import type { IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { readNodeCredential } from '../shared/n8n/nodeCredential';
import { failedItem } from './failedItem';
import { findOperation } from './resources';
import { FailedResult } from './run/operation';
import { Run } from './run/run';

/** Runs the chosen operation for all input items, and outputs their results in order. Throws an n8n error. */
export async function router(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
	// An expression in the credential may resolve to a different account for each item.
	const credentials = this.getInputData().map(async (_, index) => {
		return await readNodeCredential(this, index).catch((error: unknown) => new FailedResult(error));
	});
	const run = new Run(this, await Promise.all(credentials));
	const resultsByItem = await run.processItems((item) => {
		const resource = this.getNodeParameter('resource', 0);
		return findOperation(resource, this.getNodeParameter('operation', 0)).prepare(item);
	});
	const items = resultsByItem.flatMap((results, index) =>
		results.map((result) =>
			result instanceof FailedResult ? failedItem(this, index, result, run.redact) : result,
		),
	);
	return [items];
}
