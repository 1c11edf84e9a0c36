import type { INodeProperties } from 'n8n-workflow';

/** Fields that several operations share, so that a value survives a switch between them. */

export const outputField: INodeProperties = {
	displayName: 'Put Output File in Field',
	name: 'outputField',
	type: 'string',
	default: 'data',
	placeholder: 'e.g. data',
	hint: 'The name of the output binary field to put the file in',
};

export const concurrency: INodeProperties = {
	displayName: 'Concurrency',
	name: 'concurrency',
	type: 'number',
	typeOptions: { minValue: 0, maxValue: 500, numberPrecision: 0 },
	default: 0,
	description:
		'How many input items are in work at once; their order is kept. 0 adapts by itself: 10 in the beginning, more as the service accepts them, fewer when it refuses.',
};

export const pollInterval: INodeProperties = {
	displayName: 'Poll Interval',
	name: 'pollInterval',
	type: 'number',
	typeOptions: { minValue: 1, maxValue: 3600 },
	default: 5,
	description:
		'Seconds without news of a task before its status is looked up. While the WebSocket is open, the pause doubles with each lookup up to 30 s, since the service reports by itself.',
};

/** `Timeout`, with the operation's own default in seconds. */
export const timeout = (seconds: number): INodeProperties => ({
	displayName: 'Timeout',
	name: 'timeout',
	type: 'number',
	typeOptions: { minValue: 1 },
	default: seconds,
	description:
		'Seconds that the node waits for one generation, from the request to the file. What is made later is not lost, and the message tells how to collect it.',
});

export const download: INodeProperties = {
	displayName: 'Download File',
	name: 'download',
	type: 'boolean',
	default: true,
	description: 'Whether to put the file itself into the output, not only its address',
};

/** `Download File` where the address alone is what is usually wanted. */
export const downloadIfAsked: INodeProperties = { ...download, default: false };

export const taskId: INodeProperties = {
	displayName: 'Task ID',
	name: 'taskId',
	type: 'string',
	required: true,
	default: '',
	placeholder: 'e.g. 184467',
	description: 'The ID that Speech → Speak puts out as <code>task_id</code>',
};

/** The "Options" collection of an operation. */
export const options = (...fields: INodeProperties[]): INodeProperties => ({
	displayName: 'Options',
	name: 'options',
	type: 'collection',
	placeholder: 'Add option',
	default: {},
	options: fields,
});

/** `Return All` and `Limit` of a "Get Many" operation. */
export const returnAllAndLimit: INodeProperties[] = [
	{
		displayName: 'Return All',
		name: 'returnAll',
		type: 'boolean',
		default: false,
		description: 'Whether to return all results or only up to a given limit',
	},
	{
		displayName: 'Limit',
		name: 'limit',
		type: 'number',
		typeOptions: { minValue: 1 },
		default: 50,
		displayOptions: { show: { returnAll: [false] } },
		description: 'Max number of results to return',
	},
];

export const idleTimeout: INodeProperties = {
	displayName: 'Idle Timeout',
	name: 'idleTimeout',
	type: 'number',
	typeOptions: { minValue: 1 },
	default: 300,
	description:
		'Seconds of silence after which the connection to the service counts as lost. The result is then looked for in the history; it is not asked for a second time.',
};

/** A prompt that may be left out, with an example and what it is for. */
export const optionalPrompt = (placeholder: string, description: string): INodeProperties => ({
	displayName: 'Prompt',
	name: 'prompt',
	type: 'string',
	typeOptions: { rows: 4 },
	default: '',
	placeholder,
	description,
});

/** A prompt that is needed. */
export const prompt = (placeholder: string, description: string): INodeProperties => ({
	...optionalPrompt(placeholder, description),
	required: true,
});
