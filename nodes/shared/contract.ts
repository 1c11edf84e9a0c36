/** The constants and types of the service's interface. The § numbers are sections of docs/contract.md. */

/** The models for speech (§4.1). The node's default is the first. */
export const MODEL_IDS = [
	'labs_multilingual_v2',
	'labs_turbo_v2_5',
	'labs_flash_v2_5',
	'labs_v3',
] as const;

/** The aspect ratios of videos (§4.5). The node's default is the first. */
export const ASPECT_RATIOS = [
	'VIDEO_ASPECT_RATIO_LANDSCAPE',
	'VIDEO_ASPECT_RATIO_PORTRAIT',
] as const;

/** Other words for the aspect ratios, as users, language models and deployments write them. */
export const ASPECT_RATIO_ALIASES = new Map<string, (typeof ASPECT_RATIOS)[number]>([
	['16:9', ASPECT_RATIOS[0]],
	['9:16', ASPECT_RATIOS[1]],
	['landscape', ASPECT_RATIOS[0]],
	['portrait', ASPECT_RATIOS[1]],
]);

/** The speech settings: their ranges (§8) and defaults (§4.1). */
export const SPEECH_SETTINGS = {
	stability: { min: 0, max: 1, default: 0.75 },
	similarity: { min: 0, max: 1, default: 0.5 },
	style: { min: 0, max: 1, default: 0 },
	speed: { min: 0.7, max: 1.2, default: 1 },
} as const;

/** How many videos one request may ask for (§8), and how many the node asks for by default. */
export const NUMBER_OF_VIDEOS = { min: 1, max: 4, default: 1 } as const;

/** The path of the account (§4.10). */
export const ACCOUNT_PATH = '/v1/video/me';

/**
 * Patterns for the names of the events that report a result or a failure (§6.1). The beginning of a name differs
 * between deployments.
 */
export const TERMINAL_EVENTS = {
	complete: /_complete$/,
	failed: /^error$|_(?:error|failed)$/i,
} as const;

/** The `type` of WebSocket messages about speech tasks (§6.2). */
export const TASK_MESSAGE = 'labs_status_updated';

/** A JSON object that the service sends or receives. It may have fields that the contract does not name. */
export type ServiceRecord = Record<string, unknown>;

/** The states of a speech task (§3). An unknown status word counts as `processing` (see also `apparentEnd`). */
export type TaskState = 'pending' | 'processing' | 'completed' | 'error';

/** A speech task (§2.1), as `readSpeechTask` understands it. */
export interface SpeechTask {
	state: TaskState;
	/** The final state that an unknown status word seems to mean. */
	apparentEnd?: 'completed' | 'error';
	/** The status word of the service, in lower case. `error` replaces the usual words for failure. */
	status: string;
	/** The absolute URL of the audio file, once there is one. */
	audioUrl?: string;
	/** The absolute URL of the subtitles, if there are any. */
	subtitleUrl?: string;
	/** The progress in percent, 0 to 100. */
	percentage?: number;
	/** Why the task has failed or seems to have failed, if the service says why. */
	message?: string;
	/** The JSON of the task, as the service sent it. */
	raw: ServiceRecord;
}

/** One generated video or image (§2.3). */
export interface GeneratedFile {
	id?: string;
	/** The absolute URL of the file. */
	fileUrl: string;
	/** The JSON of the file, as the service sent it; `{}` if the service sent only a URL. */
	raw: ServiceRecord;
}

/**
 * The kinds of media.
 *
 * - `mimeType`: the usual type of a file.
 * - `timeoutSeconds`: the default of the parameter Timeout.
 * - `usualDuration`: how long a generation usually takes, in words for users.
 * - `plural`: the word for several results.
 * - `inputs`: what users can change after a failure.
 */
export const MEDIA = {
	speech: {
		...{ mimeType: 'audio/mpeg', timeoutSeconds: 3600, usualDuration: 'seconds to a few minutes' },
		...{ plural: 'speech', inputs: 'text, voice or model' },
	},
	video: {
		...{ mimeType: 'video/mp4', timeoutSeconds: 1800, usualDuration: 'a few minutes' },
		...{ plural: 'videos', inputs: 'prompt or any images' },
	},
	image: {
		...{ mimeType: 'image/png', timeoutSeconds: 900, usualDuration: 'seconds to a few minutes' },
		...{ plural: 'images', inputs: 'prompt' },
	},
} as const;

export type MediaKind = keyof typeof MEDIA;

/** The type of a file; `extension` without a dot. */
export interface FileType {
	mimeType: string;
	extension: string;
}

/**
 * An operation that is charged. `resource` and `operation` are the parameter values that select it in saved workflows.
 */
export interface PaidOperation {
	resource: string;
	operation: string;
	kind: MediaKind;
	path: string;
}

/** The operation that converts a text to speech (§4.1). */
export const SPEAK = {
	resource: 'speech',
	operation: 'speak',
	kind: 'speech',
	path: '/v1/labs/task',
} as const;

/** The operations that the service answers with an event stream (§4.5–4.8). */
export const GENERATIONS = {
	textToVideo: {
		...{ resource: 'video', operation: 'textToVideo', kind: 'video' },
		...{ path: '/v1/video/text-to-video' },
	},
	ingredientsToVideo: {
		...{ resource: 'video', operation: 'ingredientsToVideo', kind: 'video' },
		...{ path: '/v1/video/ingredients-to-video' },
	},
	framesToVideo: {
		...{ resource: 'video', operation: 'framesToVideo', kind: 'video' },
		...{ path: '/v1/video/frames-to-video' },
	},
	image: {
		...{ resource: 'image', operation: 'create', kind: 'image' },
		...{ path: '/v1/video/create-image' },
	},
} as const satisfies Record<string, PaidOperation>;

/** The operations that create speech tasks. */
export const SPEECH_OPERATIONS = [SPEAK] as const satisfies readonly PaidOperation[];

export type SpeechOperation = (typeof SPEECH_OPERATIONS)[number];

/** All operations that are charged. */
export const PAID_OPERATIONS: readonly PaidOperation[] = [
	...SPEECH_OPERATIONS,
	...Object.values(GENERATIONS),
];

export type Generation = (typeof GENERATIONS)[keyof typeof GENERATIONS];

/**
 * A request for media, and what is known about its result. The journal stores requests for videos and images, so that a
 * retry collects the result and no second request is charged.
 */
export interface GenerationRequest {
	/** A UUID that identifies the request. */
	key: string;
	/** The `accountKey` of the credential; undefined for speech. */
	accountKey?: string;
	/** The prompt without surrounding white space; '' if there is none. */
	prompt: string;
	kind: MediaKind;
	aspectRatio?: string;
	/**
	 * A digest of the path and the fields of the request, without the number of files and without images; '' for
	 * speech.
	 */
	contentDigest: string;
	/**
	 * How many files the request asked for. Once it is clear that no further file will come, it is the number of files
	 * that have come.
	 */
	requestedCount: number;
	/** True if images are part of the request, so that the prompt does not identify the result. */
	withImages: boolean;
	/** Workflow ids: `id` of the sub-workflow that sent the request, `calledBy` of the workflow that called it. */
	creator?: { id: string; calledBy: string };
	/** When the last attempt to send the request began, in ms since 1970 by our clock; 0 before the first. */
	sentAt: number;
	/** The ids that the service has announced for the files. For speech, the id of the task. */
	announcedIds: string[];
	/** The files that are finished. */
	files: GeneratedFile[];
	/** Why the missing files have failed, in the service's words. */
	reason?: string;
	/** True if one of several files has failed, and the service has not said which. */
	hasUnattributedFailure?: boolean;
	/** Until when the history is searched for missing files, in ms since 1970; undefined while the stream is open. */
	searchUntil?: number;
}
