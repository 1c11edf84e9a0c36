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
import type { ConcurrencyLimiter } from './concurrency';
import type { ItemTask } from './itemTask';
import type { Report } from './report';

/** What an operation needs to process one input item, or one part of a long speech. */
export interface ItemContext extends CallSignals {
	/** Index of the input item, from 0. */
	readonly index: number;
	readonly context: IExecuteFunctions;
	readonly credential: Credential;
	readonly api: Api;
	readonly parameters: NodeParameters;
	readonly concurrency: ConcurrencyLimiter;
	readonly report: Report;
	/** Makes an output item that n8n links to this input item. The account's token is redacted. */
	output(json: ServiceRecord, binary?: INodeExecutionData['binary']): INodeExecutionData;
}

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
