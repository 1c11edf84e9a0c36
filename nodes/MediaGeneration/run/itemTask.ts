import type { INodeExecutionData } from 'n8n-workflow';
import { Failure } from '../../shared/failure';
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

/** Returns a text that two errors share if they are about the same fault, whatever the bad values are. */
const faultOf = (error: unknown): string =>
	error instanceof Failure
		? JSON.stringify([error.kind, { ...error.facts, badValue: undefined }])
		: String(error);

/** Returns the indexes of all items that have failed like `error`. `resultsByItem` has the results of all items. */
export function indexesOfSameFault(error: unknown, resultsByItem: ItemResult[][]): number[] {
	const fault = faultOf(error);
	return resultsByItem.flatMap(([result], index) =>
		result instanceof FailedResult && faultOf(result.error) === fault ? [index] : [],
	);
}

/**
 * Resolves with the output item of `promise`. If that rejects, resolves with a FailedResult, so that the item's other
 * results are not lost.
 */
export const toItemResult = async (promise: Promise<INodeExecutionData>): Promise<ItemResult> =>
	await promise.catch((error: unknown) => new FailedResult(error));
