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
import type { Concurrency } from './concurrency';
import type { ItemTask } from './itemTask';
import type { Report } from './report';

/**
 * What an operation needs to process one input item. Each part of a long speech has a context of its own, made from
 * that of its item (see `runParts`). `stopStarting` aborts when the run is over: after its last item, when n8n cancels
 * it, or when a failure ends the node. For a part, it also aborts when the part's time is up or another part has
 * failed. `abortInFlight` aborts only when n8n cancels the run.
 */
export interface ItemContext extends CallSignals {
	/** Index of the input item, from 0. */
	readonly index: number;
	readonly context: IExecuteFunctions;
	readonly credential: Credential;
	readonly api: Api;
	readonly parameters: NodeParameters;
	readonly concurrency: Concurrency;
	/** Progress, log lines and hints about the item. */
	readonly report: Report;
	/** Makes an output item that n8n links to this input item. The account's token is redacted. */
	output(json: ServiceRecord, binary?: INodeExecutionData['binary']): INodeExecutionData;
}

/** One operation: how n8n shows it, and what it does. */
export interface Operation {
	/** Its entry in the menu. Saved workflows contain `value`, so it never changes. */
	option: INodePropertyOptions & { value: string; action: string };
	fields: INodeProperties[];
	/**
	 * Reads and checks the fields of an item, and returns the task that does the rest. Sends nothing. Throws a Failure
	 * that names the field at fault, or n8n's error about a broken expression. The run calls it once per item, before
	 * it starts any task.
	 */
	prepare(item: ItemContext): ItemTask;
}
