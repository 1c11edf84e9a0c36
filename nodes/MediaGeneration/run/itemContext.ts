import type {
	IExecuteFunctions,
	INodeExecutionData,
	INodeProperties,
	INodePropertyOptions,
} from 'n8n-workflow';
import type { Api } from '../../shared/api/api';
import type { ServiceRecord } from '../../shared/contract';
import type { Credential } from '../../shared/http/credential';
import type { NodeParameters } from '../../shared/n8n/parameters';
import type { Payments } from '../paid/payments';
import type { Concurrency } from './concurrency';
import type { ItemTask } from './itemTask';
import type { Report } from './report';

/** What an operation gets of one input item. */
export interface ItemContext {
	/** Of the item, from 0. */
	readonly index: number;
	readonly context: IExecuteFunctions;
	readonly credential: Credential;
	readonly api: Api;
	readonly parameters: NodeParameters;
	/** Aborts when the run ends: n8n cancels it, or another item's failure ends the node. */
	readonly signal: AbortSignal;
	/** Aborts only when n8n cancels: the answer to a create call under way says what was paid for. */
	readonly canceled: AbortSignal;
	readonly concurrency: Concurrency;
	/** What a person is told of the item. */
	readonly report: Report;
	/** What the item pays for. */
	readonly payments: Payments;
	/** One output item that belongs to this input item. */
	output(json: ServiceRecord, binary?: INodeExecutionData['binary']): INodeExecutionData;
}

/** One operation: how n8n offers it, and what it does. */
export interface Operation {
	/** Its entry in the menu; saved workflows hold `value`. */
	option: INodePropertyOptions & { value: string; action: string };
	fields: INodeProperties[];
	/** Reads and checks the fields of an item, and returns its work. */
	prepare(item: ItemContext): ItemTask;
}
