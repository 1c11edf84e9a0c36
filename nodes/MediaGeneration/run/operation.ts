import type {
	IExecuteFunctions,
	INodeExecutionData,
	INodeProperties,
	INodePropertyOptions,
} from 'n8n-workflow';
import type { Api } from '../../shared/api/api';
import type { CallSignals } from '../../shared/async/callSignals';
import type { ServiceRecord } from '../../shared/contract';
import type { Credential } from '../../shared/http/credential';
import type { NodeParameters } from '../../shared/n8n/parameters';
import type { RequestCreator } from '../../shared/n8n/requestCreator';
import type { JournalEntry } from '../paid/journal';
import type { ConcurrencyLimiter } from './concurrency';
import type { Report } from './report';

/** One operation: how n8n shows it, and what it does. */
export interface Operation {
	/** The operation's entry in n8n's menu. Saved workflows contain `value`, so it must not change. */
	option: INodePropertyOptions & { value: string; action: string };
	fields: INodeProperties[];
	/**
	 * Reads and checks the fields of an item without sending anything, and returns the task that does the rest. Throws
	 * a Failure if a field is invalid, or n8n's error if an expression cannot be resolved.
	 */
	prepare(item: ItemContext): ItemTask;
}

/** What an operation needs to process one input item, or one part of a long speech. */
export interface ItemContext extends CallSignals {
	/** Index of the input item, from 0. */
	readonly index: number;
	readonly context: IExecuteFunctions;
	/** What has led to the run. */
	readonly creator: RequestCreator;
	readonly credential: Credential;
	readonly api: Api;
	readonly parameters: NodeParameters;
	readonly concurrency: ConcurrencyLimiter;
	readonly report: Report;
	/** Makes an output item that n8n links to this input item. The account's token is redacted. */
	output(json: ServiceRecord, binary?: INodeExecutionData['binary']): INodeExecutionData;
}

/**
 * Does the work of an operation for one item, whose fields are valid. It is a BillableTask if the operation is charged,
 * otherwise a function. Rejects if the item has failed as a whole.
 */
export type ItemTask = (() => Promise<ItemResult[]>) | BillableTask;

/** An item task with create calls, which are charged. */
export interface BillableTask {
	/**
	 * One key per create call of the item, each different from the others: of calls with the same key, only one is sent.
	 * A retry collects the results of calls with the same keys.
	 */
	callKeys: string[];
	/** Runs the task. `entries` has the journal's entry of each call, in the order of `callKeys`. */
	run(entries: JournalEntry[]): Promise<ItemResult[]>;
}

/** Takes the place of an output item that could not be made. `error` is the reason. */
export class FailedResult {
	constructor(readonly error: unknown) {}
}

/** One output item, or the reason why it is missing. An input item may have several results. */
export type ItemResult = INodeExecutionData | FailedResult;

/**
 * Resolves with the output item of `promise`. If that rejects, resolves with a FailedResult, so that the item's other
 * results are not lost.
 */
export const toItemResult = async (promise: Promise<INodeExecutionData>): Promise<ItemResult> =>
	await promise.catch((error: unknown) => new FailedResult(error));
