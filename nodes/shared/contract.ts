/** The constants and types of the service's interface. The § numbers refer to sections of docs/contract.md. */

/** The models for speech (§4.1). The first one is the node's default. */
export const MODEL_IDS = [
	'labs_multilingual_v2',
	'labs_turbo_v2_5',
	'labs_flash_v2_5',
	'labs_v3',
] as const;

/** The aspect ratios of videos (§4.5). The first one is the node's default. */
export const ASPECT_RATIOS = [
	'VIDEO_ASPECT_RATIO_LANDSCAPE',
	'VIDEO_ASPECT_RATIO_PORTRAIT',
] as const;

/** Other spellings of the aspect ratios, in lower case, as users, language models and deployments write them. */
export const ASPECT_RATIO_ALIASES = new Map<string, (typeof ASPECT_RATIOS)[number]>([
	['16:9', ASPECT_RATIOS[0]],
	['9:16', ASPECT_RATIOS[1]],
	['landscape', ASPECT_RATIOS[0]],
	['portrait', ASPECT_RATIOS[1]],
]);

/** The ranges (§8) and defaults (§4.1) of the speech settings. */
export const SPEECH_SETTINGS = {
	stability: { min: 0, max: 1, default: 0.75 },
	similarity: { min: 0, max: 1, default: 0.5 },
	style: { min: 0, max: 1, default: 0 },
	speed: { min: 0.7, max: 1.2, default: 1 },
} as const;

/** How many videos one request may ask for (§8), and how many the node asks for by default. */
export const NUMBER_OF_VIDEOS = { min: 1, max: 4, default: 1 } as const;

/** The paths of the calls that are free. One that ends with a slash is followed by an ID. */
export const FREE_PATHS = {
	/** §4.2, §4.3 */
	task: '/v1/labs/task/',
	/** §4.4 */
	voices: '/v1/labs/voices',
	/** §4.9 */
	history: '/v1/video/histories',
	/** §4.10 */
	account: '/v1/video/me',
} as const;

type WithId<Path extends string> = Path extends `${string}/` ? `${Path}${string}` : Path;
/** The path of a call that is free, with its ID, if it has one. */
export type FreePath = WithId<(typeof FREE_PATHS)[keyof typeof FREE_PATHS]>;

/** Matches the names of events that report a result (§6.1) by their ends; their beginnings differ. */
export const COMPLETION_EVENT = /_complete$/;

/** The `type` of WebSocket messages about speech tasks (§6.2). */
export const TASK_MESSAGE_TYPE = 'labs_status_updated';

/** A JSON object that the service sends or receives. It may have fields that the contract does not name. */
export type ServiceRecord = Record<string, unknown>;

/** A speech task (§2.1), as parsed by `readSpeechTask`. */
export interface SpeechTask {
	/** How the task has ended, or seems to have ended; undefined if it is in progress. */
	end?: 'completed' | 'error';
	/** True if the status is a usual word for that end; an unknown one only seems to mean it. */
	isEndCertain: boolean;
	/** The service's status word, in lower case. The usual words for failure are replaced by `error`. */
	status: string;
	/** The absolute URL of the audio file, once there is one. */
	audioUrl?: string;
	/** The absolute URL of the subtitles, if there are any. */
	subtitleUrl?: string;
	/** The progress in percent, 0 to 100. */
	percentage?: number;
	/** Why the task has failed, or seems to have failed, in the service's words; undefined if it gives no reason. */
	reason?: string;
	/** The JSON object of the task, as the service sent it. */
	raw: ServiceRecord;
}

/** One file of a generation (§2.3). */
export interface GeneratedFile {
	id?: string;
	/** The absolute URL of the file. */
	fileUrl: string;
	/** The JSON object of the file, as the service sent it; `{}` if the service sent only a URL. */
	raw: ServiceRecord;
}

/**
 * What the node needs to know about each kind of media.
 *
 * - `mimeType`: the usual MIME type of a file.
 * - `timeoutSeconds`: the default of the parameter Timeout, in seconds.
 * - `usualDuration`: how long a generation usually takes, in words for users.
 * - `plural`: the noun for several results, in words for users. It is also the key of a list of files in a response.
 * - `inputs`: what users can change after a failure, in words for users.
 */
export const MEDIA = {
	speech: {
		mimeType: 'audio/mpeg',
		timeoutSeconds: 3600,
		usualDuration: 'seconds to minutes',
		plural: 'speech',
		inputs: 'text, voice or model',
	},
	video: {
		mimeType: 'video/mp4',
		timeoutSeconds: 1800,
		usualDuration: 'a few minutes',
		plural: 'videos',
		inputs: 'prompt or any images',
	},
	image: {
		mimeType: 'image/png',
		timeoutSeconds: 900,
		usualDuration: 'seconds to minutes',
		plural: 'images',
		inputs: 'prompt',
	},
} as const;

export type MediaKind = keyof typeof MEDIA;

/** An operation whose requests are charged. `resource` and `operation` select it in saved workflows. */
export interface PaidOperation<Kind extends MediaKind = MediaKind> {
	resource: string;
	operation: string;
	kind: Kind;
	path: string;
}

/** The operation that converts a text to speech (§4.1). */
export const SPEAK = {
	resource: 'speech',
	operation: 'speak',
	kind: 'speech',
	path: '/v1/labs/task',
} as const;

/**
 * Operations whose response is an event stream (§6.1), and whose result the history (§4.9) lists. None is of kind speech:
 * by the kind, the trigger decides whether it detects the result in the history or as a task, and refuses to start itself.
 */
export const GENERATIONS = {
	textToVideo: {
		resource: 'video',
		operation: 'textToVideo',
		kind: 'video',
		path: '/v1/video/text-to-video',
	},
	ingredientsToVideo: {
		resource: 'video',
		operation: 'ingredientsToVideo',
		kind: 'video',
		path: '/v1/video/ingredients-to-video',
	},
	framesToVideo: {
		resource: 'video',
		operation: 'framesToVideo',
		kind: 'video',
		path: '/v1/video/frames-to-video',
	},
	image: {
		resource: 'image',
		operation: 'create',
		kind: 'image',
		path: '/v1/video/create-image',
	},
} as const satisfies Record<string, PaidOperation<Exclude<MediaKind, 'speech'>>>;

/** The kinds of media that appear in the history. */
export const GENERATED_KINDS = [...new Set(Object.values(GENERATIONS).map(({ kind }) => kind))];

/** The operations that create speech tasks. */
export const PAID_SPEECH_OPERATIONS = [SPEAK] as const satisfies ReadonlyArray<
	PaidOperation<'speech'>
>;

/** A row of PAID_SPEECH_OPERATIONS. */
export type PaidSpeechOperation = (typeof PAID_SPEECH_OPERATIONS)[number];

/** All operations that are charged. */
export const PAID_OPERATIONS: readonly PaidOperation[] = [
	...PAID_SPEECH_OPERATIONS,
	...Object.values(GENERATIONS),
];

/** A row of GENERATIONS. */
export type GenerationOperation = (typeof GENERATIONS)[keyof typeof GENERATIONS];
