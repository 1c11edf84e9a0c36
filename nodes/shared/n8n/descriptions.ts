import type { IDisplayOptions, INodeProperties, INodePropertyTypeOptions } from 'n8n-workflow';
import { MEDIA, type MediaKind } from '../contract';

/*
 * The fields that several operations share. Because they have the same name, a value stays when the user switches to
 * another operation. The code reads defaults and ranges from these fields.
 */

/**
 * A field for a number. n8n's editor and `NodeParameters` enforce its range. The default counts if the field is
 * not set.
 */
export interface NumberField extends INodeProperties {
	typeOptions: INodePropertyTypeOptions & { minValue: number };
	default: number;
}

/** A switch. The default counts if it is not set. */
export interface SwitchField extends INodeProperties {
	default: boolean;
}

/** Hides a field in tools for AI agents. A language model can neither receive nor pass on files. */
export const NOT_FOR_TOOLS = { hide: { '@tool': [true] } } satisfies IDisplayOptions;

/** The name of the binary field that receives the file. */
export const outputField: INodeProperties = {
	displayName: 'Put Output File in Field',
	name: 'outputField',
	type: 'string',
	default: 'data',
	displayOptions: NOT_FOR_TOOLS,
	placeholder: 'e.g. data',
	hint: 'The name of the output binary field to put the file in',
};

/** How many items are processed at once. */
export const concurrency: NumberField = {
	displayName: 'Concurrency',
	name: 'concurrency',
	type: 'number',
	typeOptions: { minValue: 0, maxValue: 500, numberPrecision: 0 },
	default: 0,
	description:
		'How many items to process at once. 0 adjusts automatically: it starts with 10, goes up while the service accepts them, and down when it refuses. The output keeps the order of the items.',
};

/** The most billable requests in one execution. */
export const maxPaid: NumberField = {
	displayName: 'Max Paid Requests per Execution',
	name: 'maxPaidPerExecution',
	type: 'number',
	typeOptions: { minValue: 0, maxValue: 1_000_000, numberPrecision: 0 },
	default: 0,
	description:
		'How many paid requests this node may send in one execution, counting loops, retries and the calls of an agent. A run that would need more is refused before anything is sent. 0 means no limit.',
};

/** How long a task may be silent until it is read, in seconds. */
export const pollInterval: NumberField = {
	displayName: 'Poll Interval',
	name: 'pollInterval',
	type: 'number',
	typeOptions: { minValue: 1, maxValue: 3600 },
	default: 5,
	description:
		'Seconds without news of a task before its status is looked up. While the WebSocket is open, the interval doubles with each lookup, up to 30 s, since the service reports progress itself.',
};

/** The longest duration of a field, in seconds: one week. */
const MAX_SECONDS = 604_800;

/** The field Timeout, in seconds, with the default of a kind of media. */
export const timeout = (kind: MediaKind): NumberField => {
	// n8n's lint accepts only a plain name as the default of a field.
	const byDefault = MEDIA[kind].timeoutSeconds;
	return {
		displayName: 'Timeout',
		name: 'timeout',
		type: 'number',
		typeOptions: { minValue: 1, maxValue: MAX_SECONDS },
		default: byDefault,
		description:
			'Seconds to wait for one generation, from the request to the file. A result that comes later is not lost: the message says how to collect it.',
	};
};

/** Whether the file is downloaded. */
export const download = {
	displayName: 'Download File',
	name: 'download',
	type: 'boolean',
	default: true,
	displayOptions: NOT_FOR_TOOLS,
	description: 'Whether to put the file itself into the output, not only its URL',
} satisfies INodeProperties;

/** The same switch, off by default, for operations where the URL alone is usually enough. */
export const downloadOffByDefault = { ...download, default: false } satisfies INodeProperties;

/** The name of the binary field that receives the subtitles. */
export const SUBTITLES_FIELD = 'subtitles';

/** Whether the subtitles are downloaded. */
export const subtitles = {
	displayName: 'Download Subtitles',
	name: 'subtitles',
	type: 'boolean',
	default: false,
	displayOptions: NOT_FOR_TOOLS,
	description:
		'Whether to put the subtitles into the output as well, in the field subtitles, where the service has made any',
} satisfies INodeProperties;

/** The id of a speech task. */
export const taskId: INodeProperties = {
	displayName: 'Task ID',
	name: 'taskId',
	type: 'string',
	required: true,
	default: '',
	placeholder: 'e.g. 184467',
	description: 'The ID of the task: task_id in the output of Speech → Speak',
};

/** The collection Options of an operation. */
export const options = (...fields: INodeProperties[]): INodeProperties => ({
	displayName: 'Options',
	name: 'options',
	type: 'collection',
	placeholder: 'Add option',
	default: {},
	options: fields,
});

/** Whether all records are returned, instead of at most `limit`. */
export const returnAll = {
	displayName: 'Return All',
	name: 'returnAll',
	type: 'boolean',
	default: false,
	description: 'Whether to return all results or only up to a given limit',
} satisfies INodeProperties;

/** The most records to return. */
export const limit: NumberField = {
	displayName: 'Limit',
	name: 'limit',
	type: 'number',
	typeOptions: { minValue: 1, numberPrecision: 0 },
	default: 50,
	displayOptions: { show: { returnAll: [false] } },
	description: 'Max number of results to return',
};

/** How long a stream may be silent until it counts as lost, in seconds. */
export const idleTimeout: NumberField = {
	displayName: 'Idle Timeout',
	name: 'idleTimeout',
	type: 'number',
	typeOptions: { minValue: 1, maxValue: MAX_SECONDS },
	default: 300,
	description:
		'Seconds without a message from the service after which the connection counts as lost. The result is then looked up in the history; it is not requested a second time.',
};

/** The field Prompt. `placeholder` is an example. */
export const prompt = (
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

/** The field for the input images of a video. */
export const inputImages = (displayName: string, description: string): INodeProperties => ({
	displayName,
	name: 'binaryPropertyName',
	type: 'string',
	// With this set, n8n 2.41 explains the field to the user. It offers no list of the input's files.
	typeOptions: { binaryDataProperty: true },
	required: true,
	default: 'data',
	placeholder: 'e.g. data, https://example.com/cat.png',
	description,
	hint: 'Input fields or https:// addresses, separated by commas. For several items, put Aggregate before (Include Binaries on).',
	builderHint: {
		propertyHint:
			"Each item becomes a video of its own. For one video of several images put them into one item: n8n-nodes-base.aggregate with aggregate: 'aggregateAllItemData' and options.includeBinaries, then expr(\"{{ Object.keys($binary).join(', ') }}\") here",
	},
});

/** The field Prompt of the operations that require one for a video. */
export const videoPrompt = prompt(
	'e.g. A paper boat sails down a rainy street',
	'What the video should show',
);

/** Whether the speech is made more like the original speaker. */
export const useSpeakerBoost = {
	displayName: 'Use Speaker Boost',
	name: 'useSpeakerBoost',
	type: 'boolean',
	default: true,
	description: 'Whether to make the speech sound more like the original speaker',
} satisfies INodeProperties;
