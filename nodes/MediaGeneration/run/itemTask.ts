import type { INodeExecutionData } from 'n8n-workflow';
import { Failure, isFailure } from '../../shared/failure';
import type { JournalEntry } from '../paid/journal';

/** Takes the place of an output item that could not be made. `error` is the reason. */
export class FailedResult {
	constructor(readonly error: unknown) {}
}

/** One output item, or the reason why it is missing. An input item may have several results. */
export type ItemResult = INodeExecutionData | FailedResult;

/**
 * Does the work of an operation for one item, whose fields are valid. It is a BillableTask if the operation is charged,
 * otherwise a function. Rejects if the item has failed as a whole.
 */
export type ItemTask = (() => Promise<ItemResult[]>) | BillableTask;

/** An item task with create calls, which are charged. */
export interface BillableTask {
	/** One key per create call of the item. A retry collects the results of calls with the same keys. */
	callKeys: string[];
	/** Runs the task. `entries` has the journal's entry of each call, in the order of `callKeys`. */
	run(entries: JournalEntry[]): Promise<ItemResult[]>;
}

/**
 * If `error` is about an empty parameter, returns it with the indexes of all items in which this parameter is empty.
 * Returns any other error as it is. `resultsByItem` has the results of all items, by index.
 */
export function withIndexesOfEmptyField(error: unknown, resultsByItem: ItemResult[][]): unknown {
	if (!isFailure(error, 'invalidInput') || error.facts.reason !== 'is empty') return error;
	const { field, reason, isInCredential } = error.facts;
	if (isInCredential) return error;
	const itemIndexes = resultsByItem.flatMap(([result], index) => {
		if (!(result instanceof FailedResult) || !isFailure(result.error, 'invalidInput')) return [];
		const { facts } = result.error;
		return facts.field === field && facts.reason === reason ? [index] : [];
	});
	return error.withDefaults({ itemIndexes, itemCount: resultsByItem.length });
}

/**
 * Resolves with the output item of `promise`. If that rejects with a Failure, resolves with a FailedResult, so that the
 * item's other results are not lost. Rejects with any other error.
 */
export const toItemResult = async (promise: Promise<INodeExecutionData>): Promise<ItemResult> =>
	await promise.catch((error: unknown) => {
		if (!(error instanceof Failure)) throw error;
		return new FailedResult(error);
	});
