import type { IDisplayOptions, INodeProperties } from 'n8n-workflow';
import { MEDIA, type MediaKind } from '../media';

/**
 * Fields that several operations share, so that a value survives a switch between them, with the
 * defaults and ranges that the code reads.
 */

/** What the node does when nothing is chosen. */
export const FIRST_RESOURCE = 'speech';
export const FIRST_SPEECH_OPERATION = 'speak';

export const OUTPUT_FIELD = 'data';
export const INPUT_FIELD = 'data';

/* n8n's lint wants the default of a field to be a plain name. */
const CONCURRENCY_DEFAULT = 0;
const MAX_PAID_DEFAULT = 0;
const POLL_DEFAULT_SECONDS = 5;
const IDLE_DEFAULT_SECONDS = 300;
const CHECK_DEFAULT_SECONDS = 60;

/** 0 adapts by itself. */
export const CONCURRENCY = { min: 0, max: 500, default: CONCURRENCY_DEFAULT, whole: true } as const;

export const POLL_INTERVAL_SECONDS = { min: 1, max: 3600, default: POLL_DEFAULT_SECONDS } as const;

/** How often a trigger reads the history. */
export const CHECK_INTERVAL_SECONDS = {
	min: 10,
	max: 86_400,
	default: CHECK_DEFAULT_SECONDS,
} as const;

const LONGEST_WAIT_SECONDS = 7 * 86_400;

export const IDLE_TIMEOUT_SECONDS = {
	min: 1,
	max: LONGEST_WAIT_SECONDS,
	default: IDLE_DEFAULT_SECONDS,
} as const;

export const timeoutSeconds = (made: MediaKind) => ({
	min: 1,
	max: LONGEST_WAIT_SECONDS,
	default: MEDIA[made].timeoutSeconds,
});

/** Percentage points. */
export const PROGRESS_STEP = { min: 1, max: 100, default: 10 } as const;

/** A model can neither get nor give files. */
export const NOT_FOR_TOOLS = { hide: { '@tool': [true] } } satisfies IDisplayOptions;

export const outputField: INodeProperties = {
	displayName: 'Put Output File in Field',
	name: 'outputField',
	type: 'string',
	default: OUTPUT_FIELD,
	displayOptions: NOT_FOR_TOOLS,
	placeholder: 'e.g. data',
	hint: 'The name of the output binary field to put the file in',
};

export const concurrency: INodeProperties = {
	displayName: 'Concurrency',
	name: 'concurrency',
	type: 'number',
	typeOptions: {
		minValue: CONCURRENCY.min,
		maxValue: CONCURRENCY.max,
		numberPrecision: 0,
	},
	default: CONCURRENCY_DEFAULT,
	description:
		'How many items to process at once. 0 adjusts automatically: it starts with 10, goes up while the service accepts them, and down when it refuses. The output keeps the order of the items.',
};

/** `options.maxPaidPerExecution`; 0 = no limit. */
export const MAX_PAID = { min: 0, max: 1_000_000, default: MAX_PAID_DEFAULT, whole: true } as const;

export const maxPaid: INodeProperties = {
	displayName: 'Max Paid Requests per Execution',
	name: 'maxPaidPerExecution',
	type: 'number',
	typeOptions: { minValue: MAX_PAID.min, maxValue: MAX_PAID.max, numberPrecision: 0 },
	default: MAX_PAID_DEFAULT,
	description:
		'How many paid requests this node may send in one execution, counting loops, retries and the calls of an agent. A run that would need more is refused before anything is sent. 0 means no limit.',
};

export const pollInterval: INodeProperties = {
	displayName: 'Poll Interval',
	name: 'pollInterval',
	type: 'number',
	typeOptions: { minValue: POLL_INTERVAL_SECONDS.min, maxValue: POLL_INTERVAL_SECONDS.max },
	default: POLL_DEFAULT_SECONDS,
	description:
		'Seconds without news of a task before its status is looked up. While the WebSocket is open, the interval doubles with each lookup, up to 30 s, since the service reports progress itself.',
};

/** `Timeout` for one kind of media. */
export const timeout = (made: MediaKind): INodeProperties => {
	const { min, default: seconds } = timeoutSeconds(made);
	return {
		displayName: 'Timeout',
		name: 'timeout',
		type: 'number',
		typeOptions: { minValue: min },
		default: seconds,
		description:
			'Seconds to wait for one generation, from the request to the file. A result that comes later is not lost: the error message says how to collect it.',
	};
};

export const download = {
	displayName: 'Download File',
	name: 'download',
	type: 'boolean',
	default: true,
	displayOptions: NOT_FOR_TOOLS,
	description: 'Whether to put the file itself into the output, not only its URL',
} satisfies INodeProperties;

/** `Download File` where the address alone is usually enough. */
export const downloadIfAsked = { ...download, default: false } satisfies INodeProperties;

/** The binary field of subtitles. */
export const SUBTITLES_FIELD = 'subtitles';

export const subtitles = {
	displayName: 'Download Subtitles',
	name: 'subtitles',
	type: 'boolean',
	default: false,
	displayOptions: NOT_FOR_TOOLS,
	description:
		'Whether to put the subtitles into the output as well, in the field <code>subtitles</code>, where the service has made any',
} satisfies INodeProperties;

export const taskId: INodeProperties = {
	displayName: 'Task ID',
	name: 'taskId',
	type: 'string',
	required: true,
	default: '',
	placeholder: 'e.g. 184467',
	description: 'The ID of the task, which Speech → Speak returns as <code>task_id</code>',
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

export const returnAll = {
	displayName: 'Return All',
	name: 'returnAll',
	type: 'boolean',
	default: false,
	description: 'Whether to return all results or only up to a given limit',
} satisfies INodeProperties;

const limit = {
	displayName: 'Limit',
	name: 'limit',
	type: 'number',
	typeOptions: { minValue: 1 },
	default: 50,
	displayOptions: { show: { returnAll: [false] } },
	description: 'Max number of results to return',
} satisfies INodeProperties;

export const LIMIT = {
	min: limit.typeOptions.minValue,
	max: 1e9,
	default: limit.default,
	whole: true,
};

/** `Return All` and `Limit` of a "Get Many" operation. */
export const returnAllAndLimit: INodeProperties[] = [returnAll, limit];

export const idleTimeout: INodeProperties = {
	displayName: 'Idle Timeout',
	name: 'idleTimeout',
	type: 'number',
	typeOptions: { minValue: IDLE_TIMEOUT_SECONDS.min },
	default: IDLE_DEFAULT_SECONDS,
	description:
		'Seconds of silence after which the connection to the service counts as lost. The result is then looked up in the history; it is not requested a second time.',
};

/** An optional prompt, with an example and a description. */
export const optionalPrompt = (placeholder: string, description: string): INodeProperties => ({
	displayName: 'Prompt',
	name: 'prompt',
	type: 'string',
	typeOptions: { rows: 4 },
	default: '',
	placeholder,
	description,
});

/** A required prompt. */
export const prompt = (placeholder: string, description: string): INodeProperties => ({
	...optionalPrompt(placeholder, description),
	required: true,
});

/** Input images of a video. */
export const inputImages = (displayName: string, description: string): INodeProperties => ({
	displayName,
	name: 'binaryPropertyName',
	type: 'string',
	required: true,
	default: INPUT_FIELD,
	placeholder: 'e.g. data, data2',
	description,
	hint: 'The input binary fields that hold the images, separated by commas. Images in several items become one item with an Aggregate node (Include Binaries on).',
});

/** What two of the video operations need. */
export const videoPrompt = prompt(
	'e.g. A paper boat sails down a rainy street',
	'What the video should show',
);

export const useSpeakerBoost = {
	displayName: 'Use Speaker Boost',
	name: 'useSpeakerBoost',
	type: 'boolean',
	default: true,
	description: 'Whether to make the speech sound more like the original speaker',
} satisfies INodeProperties;
