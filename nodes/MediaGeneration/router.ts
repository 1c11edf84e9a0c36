import type { IExecuteFunctions, INode, INodeExecutionData, NodeError } from 'n8n-workflow';
import { withoutToken } from '../shared/parsing/redaction';
import { isOverload } from '../shared/parsing/failures';
import { Failure } from '../shared/failure';
import { CONCURRENCY } from '../shared/n8n/descriptions';
import { toNodeError } from '../shared/n8n/nodeErrors';
import { forEachConcurrently } from './concurrency';
import { findOperation } from './resources';
import { isToolRun, Item, Run, type Job, type Made } from './run';

/** What became of one input item: what was made, or why nothing could be. */
type Outcome = { made: Made[] } | { error: unknown };

const settled = async (work: Job): Promise<Outcome> =>
	await work().then(
		(made) => ({ made }),
		(error: unknown) => ({ error }),
	);

/** The failure of one file, naming the others of its item: paid for, and lost with the node. */
function withOtherFiles(failure: Failure, made: Made[]): Failure {
	const addresses = made.map((part) =>
		part instanceof Failure ? part.facts.fileUrl : String(part.json.file_url),
	);
	const otherFiles = addresses.filter((url) => url !== undefined && url !== failure.facts.fileUrl);
	return failure.with({ otherFiles: otherFiles as string[] });
}

/**
 * Marks an item as failed. n8n sends items with an `error` to the error output, but then reduces the
 * json of those that still have it to the message; hidden from its copy, the `task_id` survives.
 */
function asFailed(item: INodeExecutionData, error: NodeError): INodeExecutionData {
	return Object.defineProperty(item, 'error', { value: error, enumerable: false });
}

/** So many ids of a canceled run are logged. */
const MOST_LOGGED = 100;

/** The error of a canceled run. n8n may have closed the execution before it gets there: it is logged, too. */
function canceledError(run: Run, node: INode): NodeError {
	const { apiToken } = run.credential;
	const error = toNodeError(new Failure('canceled'), { node, apiToken, note: run.paid.words() });
	const paid = run.paid.words(undefined, MOST_LOGGED);
	if (paid !== undefined) {
		const text = `Media Generation: ${error.message}. ${paid}`;
		run.context.logger.warn(withoutToken(text, apiToken));
	}
	return error;
}

/**
 * Runs the chosen operation for every input item: the only loop over items and the only place where
 * failures end up. All items' fields are checked before anything is sent for any of them.
 */
export async function router(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
	const node = this.getNode();
	const count = this.getInputData().length;
	const isTool = isToolRun(this);
	// A model is told what went wrong and what to do; of a thrown error some agents pass on nothing.
	const goesOn = this.continueOnFail() || (isTool && node.onError !== 'stopWorkflow');
	const outcomes = new Array<Outcome | undefined>(count);
	let run: Run | undefined;
	let apiToken = '';
	let firstFailed: { index: number; error: unknown } | undefined;

	const fail = (index: number, error: unknown) => {
		if (goesOn || run?.canceled.aborted) return;
		firstFailed ??= { index, error };
		run?.stop();
	};

	try {
		const resource = this.getNodeParameter('resource', 0);
		const started = await Run.start(this);
		run = started;
		apiToken = started.credential.apiToken;
		const operation = findOperation(resource, this.getNodeParameter('operation', 0));
		let concurrency: number | undefined;
		const jobs: Array<Job | undefined> = [];
		for (let index = 0; index < count; index++) {
			try {
				const item = new Item(started, index);
				// Of the first item that can tell: one whose options can't be resolved fails alone.
				concurrency ??= item.parameters.numberOption('concurrency', 'Concurrency', CONCURRENCY);
				jobs[index] = operation(item);
			} catch (error) {
				outcomes[index] = { error };
				fail(index, error);
			}
		}
		if (firstFailed === undefined) {
			started.spending.reserve();
			started.concurrency.configure(concurrency ?? 0);
			await forEachConcurrently(count, started.concurrency, async (index) => {
				const job = jobs[index];
				if (!job || started.stopped.aborted) return false;
				const began = Date.now();
				const outcome = await settled(job);
				outcomes[index] = outcome;
				if ('error' in outcome) {
					if (isOverload(outcome.error)) started.concurrency.refused(began);
					fail(index, outcome.error);
					return false;
				}
				const missing = outcome.made.find((part) => part instanceof Failure);
				if (missing) fail(index, withOtherFiles(missing, outcome.made));
				return missing === undefined;
			});
		}
	} catch (error) {
		// Nothing was sent: the credential or the operation is at fault, the same for all items.
		outcomes.fill({ error });
		fail(0, error);
	}

	run?.end();
	// A cancel is no failed item: it must not be swallowed by "continue on fail".
	if (run?.canceled.aborted) throw canceledError(run, node);
	run?.showHints();
	if (firstFailed) {
		const { index: itemIndex, error } = firstFailed;
		const note = run?.paid.words(itemIndex);
		throw toNodeError(error, { node, itemIndex, apiToken, note });
	}

	const failedItem = (index: number, cause: unknown): INodeExecutionData => {
		// A model calls for one thing at a time, and knows no item numbers.
		const itemIndex = isTool ? undefined : index;
		const error = toNodeError(cause, { node, itemIndex, apiToken });
		const { taskId, fileUrl } = cause instanceof Failure ? cause.facts : {};
		const json = {
			error: error.message,
			...(error.description ? { description: error.description } : {}),
			...(taskId === undefined ? {} : { task_id: withoutToken(taskId, apiToken) }),
			...(fileUrl === undefined ? {} : { file_url: withoutToken(fileUrl, apiToken) }),
		};
		const item = { json, pairedItem: { item: index } };
		return node.onError === 'continueErrorOutput' ? asFailed(item, error) : item;
	};
	let complete = true;
	const output: INodeExecutionData[] = [];
	for (const [index, outcome] of outcomes.entries()) {
		const parts = outcome && 'made' in outcome ? outcome.made : [outcome?.error];
		for (const part of parts) {
			const isMade = outcome && 'made' in outcome && !(part instanceof Failure);
			// Under Retry On Fail n8n runs the node again for an `error` in the output, made or not.
			complete &&= isMade === true && !(part as INodeExecutionData).json.error;
			output.push(isMade ? (part as INodeExecutionData) : failedItem(index, part));
		}
	}
	if (complete) run?.resume.clear();
	return [output];
}
