import type { IExecuteFunctions, INodeExecutionData, NodeError } from 'n8n-workflow';
import { Failure } from '../service/failure';
import { toNodeError } from '../service/nodeErrors';
import { Fields } from './fields';
import { forEachLimited } from './limiter';
import { operations } from './operations';
import { Item, Run, type Job } from './run';

type Outcome = { items: INodeExecutionData[] } | { error: unknown };

const settled = async (work: () => Promise<INodeExecutionData[]>): Promise<Outcome> =>
	await work().then(
		(items) => ({ items }),
		(error: unknown) => ({ error }),
	);

/** What the user may do about the other items when one ends the node. */
function noteOnOthers(run: Run, failed: number): string | undefined {
	const others = [...run.tasks].filter(([index]) => index !== failed).sort(([a], [b]) => a - b);
	if (others.length === 0) return undefined;
	const list = others.map(([index, taskId]) => `item ${index}: ${taskId}`).join(', ');
	return `Other items of this run have paid tasks (${list}): Retry collects them without paying again, and so does Speech → Wait.`;
}

/**
 * Runs the chosen operation for every input item: the only loop over items and the only place where
 * failures end up. All items' fields are checked before anything is sent for any of them.
 */
export async function router(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
	const node = this.getNode();
	const count = this.getInputData().length;
	const goesOn = this.continueOnFail();
	const outcomes = new Array<Outcome | undefined>(count);
	let run: Run | undefined;
	let apiToken = '';
	let firstFailed: number | undefined;

	const fail = (index: number, error: unknown) => {
		outcomes[index] = { error };
		if (goesOn || run?.canceled.aborted) return;
		firstFailed ??= index;
		run?.stop();
	};

	try {
		const resource = this.getNodeParameter('resource', 0);
		const operation = operations[`${resource}:${this.getNodeParameter('operation', 0)}`];
		const limits = { min: 0, max: 100, whole: true };
		const started = await Run.start(this);
		run = started;
		apiToken = started.address.apiToken;
		started.limiter.configure(
			new Fields(this, 0).numberOption('concurrency', 'Concurrency', 0, limits),
		);

		const jobs: Array<Job | undefined> = [];
		for (let index = 0; index < count; index++) {
			try {
				jobs[index] = operation(new Item(started, index));
			} catch (error) {
				fail(index, error);
			}
		}
		if (firstFailed === undefined) {
			await forEachLimited(count, started.limiter, async (index) => {
				const job = jobs[index];
				if (!job || started.stopped.aborted) return;
				const outcome = await settled(job);
				outcomes[index] = outcome;
				if ('error' in outcome) fail(index, outcome.error);
			});
		}
	} catch (error) {
		// Nothing was sent: the credential or the operation is at fault, the same for all items.
		for (let index = 0; index < count; index++) fail(index, error);
		firstFailed ??= goesOn ? undefined : 0;
	}

	// A cancel is no failed item: it must not be swallowed by "continue on fail".
	if (run?.canceled.aborted) throw toNodeError(new Failure('canceled'), { node });
	run?.showHints();
	if (firstFailed !== undefined) {
		const failed = outcomes[firstFailed] as { error: unknown };
		const note = run && noteOnOthers(run, firstFailed);
		throw toNodeError(failed.error, { node, itemIndex: firstFailed, apiToken, note });
	}

	const output = outcomes.flatMap((outcome, index): INodeExecutionData[] => {
		if (outcome && 'items' in outcome) return outcome.items;
		const cause = outcome?.error ?? new Failure('canceled');
		const error = toNodeError(cause, { node, itemIndex: index, apiToken });
		const facts = cause instanceof Failure ? cause.facts : {};
		const json = {
			error: error.message,
			...(error.description ? { description: error.description } : {}),
			...(facts.taskId === undefined ? {} : { task_id: facts.taskId }),
			...(facts.fileUrl === undefined ? {} : { file_url: facts.fileUrl }),
		};
		const item = { json, pairedItem: { item: index } };
		return [node.onError === 'continueErrorOutput' ? asFailed(item, error) : item];
	});
	if (outcomes.every((outcome) => outcome && 'items' in outcome)) run?.memory.clear();
	return [output];
}

/**
 * Marks an item as failed. n8n sends items with an `error` to the error output, but then reduces the
 * json of those that still have it to the message; hidden from its copy, the `task_id` survives.
 */
function asFailed(item: INodeExecutionData, error: NodeError): INodeExecutionData {
	return Object.defineProperty(item, 'error', { value: error, enumerable: false });
}
