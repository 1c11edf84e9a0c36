import type { IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import type { Api } from '../../shared/api/api';
import type { CallSignals } from '../../shared/async/callSignals';
import type { ServiceRecord } from '../../shared/contract';
import type { Credential } from '../../shared/http/credential';
import type { NodeParameters } from '../../shared/n8n/parameters';
import type { ConcurrencyLimiter } from './concurrency';
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
