import type { IDisplayOptions, INodeProperties, INodePropertyTypeOptions } from 'n8n-workflow';
import { MEDIA, type MediaKind } from '../contract';

/* Fields that several operations share. */

/** A field for a number. It always has a default and a minimum. */
export interface NumberField extends INodeProperties {
	typeOptions: INodePropertyTypeOptions & { minValue: number };
	default: number;
}

/** A field for true or false. It always has a default. */
export interface SwitchField extends INodeProperties {
	default: boolean;
}

/** Hides a field in tools for AI agents, because a language model cannot handle files. */
export const NOT_FOR_TOOLS = { hide: { '@tool': [true] } } satisfies IDisplayOptions;

export const outputField: INodeProperties = {
	displayName: 'Put Output File in Field',
	name: 'outputField',
	type: 'string',
	default: 'data',
	displayOptions: NOT_FOR_TOOLS,
	hint: 'The name of the output binary field to put the file in',
};

export const concurrencyField: NumberField = {
	displayName: 'Concurrency',
	name: 'concurrency',
	type: 'number',
	typeOptions: { minValue: 0, maxValue: 500, numberPrecision: 0 },
	default: 0,
	description:
		'How many items to process at once. 0 adjusts automatically: the node starts with 10, adds more while the service accepts requests, and slows down when it refuses any. The output keeps the order of the items.',
};

export const maxPaidField: NumberField = {
	displayName: 'Max Paid Requests',
	name: 'maxPaidPerExecution',
	type: 'number',
	typeOptions: { minValue: 0, maxValue: 1_000_000, numberPrecision: 0 },
	default: 0,
	description:
		'The maximum number of paid requests that this node may send in one execution, including loops, Retry On Fail and calls by an AI Agent node. Each call of a sub-workflow is an execution of its own. A request for several files counts as one. A run that would need more is refused before anything is sent. 0 means no limit.',
};

export const pollIntervalField: NumberField = {
	displayName: 'Poll Interval',
	name: 'pollInterval',
	type: 'number',
	typeOptions: { minValue: 1, maxValue: 3600 },
	default: 5,
	description:
		'How many seconds without progress before the node asks the service for the status of the task. While the WebSocket is open, the interval doubles after each check, up to 30 s.',
};

/** The maximum of Timeout and Idle Timeout, in seconds: one week. */
const MAX_SECONDS = 604_800;

/** Makes the field Timeout, in seconds. Its default depends on the kind of media. */
export const timeoutField = (kind: MediaKind): NumberField => {
	// n8n's lint accepts only a literal or a plain variable as the default of a field.
	const defaultSeconds = MEDIA[kind].timeoutSeconds;
	return {
		displayName: 'Timeout',
		name: 'timeout',
		type: 'number',
		typeOptions: { minValue: 1, maxValue: MAX_SECONDS },
		default: defaultSeconds,
		description:
			'How many seconds to wait for one result, including the download. A result that comes later is not lost: the message says how to get it.',
	};
};

export const downloadField = {
	displayName: 'Download File',
	name: 'download',
	type: 'boolean',
	default: true,
	displayOptions: NOT_FOR_TOOLS,
	description:
		'Whether to download the file. If off, you get only its URL, which may expire within an hour.',
} satisfies INodeProperties;

/** Download File, but off by default. It is for operations of which most users need only the URL. */
export const downloadOffField = { ...downloadField, default: false } satisfies INodeProperties;

/** The name of the binary field that receives the subtitles. */
export const SUBTITLES_BINARY_FIELD = 'subtitles';

export const subtitlesField = {
	displayName: 'Download Subtitles',
	name: 'subtitles',
	type: 'boolean',
	default: false,
	displayOptions: NOT_FOR_TOOLS,
	description:
		'Whether to also download the subtitles, if there are any, into the binary field "subtitles"',
} satisfies INodeProperties;

export const taskIdField: INodeProperties = {
	displayName: 'Task ID',
	name: 'taskId',
	type: 'string',
	required: true,
	default: '',
	placeholder: 'e.g. 184467',
	description: 'The task_id from the output of Speech → Text to Speech',
};

/** Makes the collection Options. Its fields are sorted by name, as n8n's guidelines require. */
export const optionsField = (...fields: INodeProperties[]): INodeProperties => ({
	displayName: 'Options',
	name: 'options',
	type: 'collection',
	placeholder: 'Add option',
	default: {},
	options: [...fields].sort((a, b) => a.displayName.localeCompare(b.displayName)),
});

export const returnAllField = {
	displayName: 'Return All',
	name: 'returnAll',
	type: 'boolean',
	default: false,
	description: 'Whether to return all results or only up to a given limit',
} satisfies INodeProperties;

export const limitField: NumberField = {
	displayName: 'Limit',
	name: 'limit',
	type: 'number',
	typeOptions: { minValue: 1, numberPrecision: 0 },
	default: 50,
	displayOptions: { show: { returnAll: [false] } },
	description: 'Max number of results to return',
};

export const idleTimeoutField: NumberField = {
	displayName: 'Idle Timeout',
	name: 'idleTimeout',
	type: 'number',
	typeOptions: { minValue: 1, maxValue: MAX_SECONDS },
	default: 300,
	description:
		'How many seconds without a message from the service before the connection counts as lost. The node then searches the history for the result instead of requesting it again.',
};

/** Makes the field Prompt of an operation. */
export const promptField = (
	placeholder: string,
	description: string,
	required = true,
): INodeProperties => ({
	displayName: 'Prompt',
	name: 'prompt',
	type: 'string',
	typeOptions: { rows: 4 },
	required,
	default: '',
	placeholder,
	description,
});

/** Makes the field for the input images of a video. */
export const inputImagesField = (displayName: string, description: string): INodeProperties => ({
	displayName,
	name: 'binaryPropertyName',
	type: 'string',
	// Tells n8n that this field holds names of the input's binary fields.
	typeOptions: { binaryDataProperty: true },
	required: true,
	default: 'data',
	placeholder: 'e.g. data, https://example.com/cat.png',
	description: `${description}. Images in several items? Each item becomes a separate, charged video. For one video from all of them, first add an Aggregate node with All Item Data and Include Binaries, then enter {{ Object.keys($binary).join(', ') }} here as an expression.`,
	hint: 'Input binary fields or https:// URLs, separated by commas. Only those listed here are used.',
});

/** The field Prompt of the video operations that require a prompt. */
export const videoPromptField = promptField(
	'e.g. A paper boat sails down a rainy street',
	'Describe the video: scene, movement, style',
);
