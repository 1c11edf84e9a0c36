import type { IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { CONCURRENCY } from '../shared/n8n/descriptions';
import { toNodeError } from '../shared/n8n/nodeErrors';
import { Item } from './item';
import { failedItem, toItem } from './outputItems';
import { findOperation } from './resources';
import { NotMade, type Job } from './made';
import { isToolRun, Run } from './run';

/** Runs the chosen operation for every input item. */
export async function router(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
	const node = this.getNode();
	// A model is told what went wrong and what to do; some agents don't pass on a thrown error.
	const goesOn = this.continueOnFail() || (isToolRun(this) && node.onError !== 'stopWorkflow');
	const run = await Run.start(this, goesOn).catch((error: unknown) => new NotMade(error));
	if (run instanceof NotMade) {
		if (!goesOn) throw toNodeError(run.error, { node, itemIndex: 0 });
		return [this.getInputData().map((_, index) => failedItem(this, index, run))];
	}
	const outcomes = await run.all(readJobs(run));
	run.throwIfEnded();
	const output = outcomes.flatMap((parts, index) => parts.map((part) => toItem(run, index, part)));
	// With Retry On Fail, n8n runs the node again for any `error` in the output.
	if (output.every(({ json }) => !json.error)) run.resume.clear();
	return [output];
}

/** Reads the fields of all items before anything is sent for one of them. */
function readJobs(run: Run): Array<Job | NotMade> {
	const { context } = run;
	const input = context.getInputData();
	try {
		const operation = findOperation(
			context.getNodeParameter('resource', 0),
			context.getNodeParameter('operation', 0),
		);
		let concurrency: number | undefined;
		const jobs = input.map((_, index) => {
			try {
				const item = new Item(run, index);
				// The first item whose options can be resolved decides; one whose options can't be fails alone.
				concurrency ??= item.parameters.numberOption('concurrency', 'Concurrency', CONCURRENCY);
				return operation(item);
			} catch (error) {
				return new NotMade(error);
			}
		});
		run.concurrency.configure(concurrency ?? 0);
		const refused = run.spending.reserve();
		return jobs.map((job, index) => {
			const failure = refused.get(index);
			return failure ? new NotMade(failure) : job;
		});
	} catch (error) {
		return input.map(() => new NotMade(error));
	}
}
