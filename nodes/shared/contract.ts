/** What the service's contract fixes; § numbers are sections of docs/contract.md. */

/** §4.1; the default is the first. */
export const MODEL_IDS = [
	'labs_multilingual_v2',
	'labs_turbo_v2_5',
	'labs_flash_v2_5',
	'labs_v3',
] as const;

/** §4.5; the default is the first. */
export const ASPECT_RATIOS = [
	'VIDEO_ASPECT_RATIO_LANDSCAPE',
	'VIDEO_ASPECT_RATIO_PORTRAIT',
] as const;

/** What a table, a model or a history would rather say. */
export const ASPECT_RATIO_ALIASES = new Map<string, (typeof ASPECT_RATIOS)[number]>([
	['16:9', ASPECT_RATIOS[0]],
	['9:16', ASPECT_RATIOS[1]],
	['landscape', ASPECT_RATIOS[0]],
	['portrait', ASPECT_RATIOS[1]],
]);

/** §8: ranges of the speech settings; §4.1: defaults. */
export const SPEECH_SETTINGS = {
	stability: { min: 0, max: 1, default: 0.75 },
	similarity: { min: 0, max: 1, default: 0.5 },
	style: { min: 0, max: 1, default: 0 },
	speed: { min: 0.7, max: 1.2, default: 1 },
} as const;

/** §8: the range; §4.5: the default. */
export const NUMBER_OF_VIDEOS = { min: 1, max: 4, default: 1 } as const;

/** §4.10; read by the credential's test as well, which can't use the calls of `api/`. */
export const ACCOUNT_PATH = '/v1/video/me';

/** §6.1: the names of events that end a stream; those of deployments have the same endings. */
export const TERMINAL_EVENTS = {
	complete: /_complete$/,
	failed: /^error$|_(?:error|failed)$/i,
} as const;

/** §6.2: the type of the messages about speech tasks. */
export const TASK_MESSAGE = 'labs_status_updated';

/** A record as the service sends it; fields beyond the contract are passed through. */
export type ServiceRecord = Record<string, unknown>;

/** §3; any unknown word means: not finished yet. */
export type TaskState = 'pending' | 'processing' | 'completed' | 'error';

/** §2.1, read tolerantly. */
export interface SpeechTask {
	state: TaskState;
	/** The end that a status outside the contract says: it counts once it is found for long enough. */
	seems?: 'completed' | 'error';
	/** The service's status word, in its own words if the contract has none. */
	status: string;
	/** Absolute address of the audio file, once there is one. */
	audioUrl?: string;
	/** Absolute address of its subtitles, where the service makes any. */
	subtitleUrl?: string;
	/** 0 to 100. */
	percentage?: number;
	/** Why the task failed, when the service says so. */
	message?: string;
	/** Everything the service sent. */
	raw: ServiceRecord;
}

/** §2.3, one element of a completion event or of the history. */
export interface GeneratedFile {
	id?: string;
	/** Absolute address of the file. */
	fileUrl: string;
	raw: ServiceRecord;
}

/**
 * The kinds of media, and what is said of each: the type of a file that does not show its own, the default
 * of `Timeout` in seconds, and how long it usually takes. A new kind needs a row here, and no other list.
 */
export const MEDIA = {
	speech: { mimeType: 'audio/mpeg', timeoutSeconds: 3600, takes: 'seconds to minutes' },
	video: { mimeType: 'video/mp4', timeoutSeconds: 1800, takes: 'minutes, longer under load' },
	image: { mimeType: 'image/png', timeoutSeconds: 900, takes: 'seconds to minutes' },
} as const;

export type MediaKind = keyof typeof MEDIA;

export interface FileType {
	mimeType: string;
	extension: string;
}

/** An operation that is charged, by what saved workflows hold of it, and the kind of media that it makes. */
export interface PaidOperation {
	resource: string;
	operation: string;
	makes: MediaKind;
}

/** §4.1: the operation that creates speech tasks. */
export const SPEAK = { resource: 'speech', operation: 'speak', makes: 'speech' } as const;

/**
 * §4.5–4.8: the operations with an event stream. `withImages`: images are part of the request, so that its
 * prompt alone says little.
 */
export const GENERATIONS = {
	textToVideo: {
		...{ resource: 'video', operation: 'textToVideo', makes: 'video' },
		...{ path: '/v1/video/text-to-video', withImages: false },
	},
	ingredientsToVideo: {
		...{ resource: 'video', operation: 'ingredientsToVideo', makes: 'video' },
		...{ path: '/v1/video/ingredients-to-video', withImages: true },
	},
	framesToVideo: {
		...{ resource: 'video', operation: 'framesToVideo', makes: 'video' },
		...{ path: '/v1/video/frames-to-video', withImages: true },
	},
	image: {
		...{ resource: 'image', operation: 'create', makes: 'image' },
		...{ path: '/v1/video/create-image', withImages: false },
	},
} as const satisfies Record<string, PaidOperation & { path: string; withImages: boolean }>;

/** The operations that create speech tasks. */
export const SPEECH_OPERATIONS: readonly PaidOperation[] = [SPEAK];

/** All operations that are charged. */
export const PAID_OPERATIONS: readonly PaidOperation[] = [
	...SPEECH_OPERATIONS,
	...Object.values(GENERATIONS),
];

export type Generation = (typeof GENERATIONS)[keyof typeof GENERATIONS];

/** A request for videos or images, from its create call on. It is kept with the execution for a retry. */
export interface GenerationRequest {
	/** Unique, also among the requests of other processes. */
	key: string;
	/** Trimmed; '' if none. */
	prompt: string;
	kind: MediaKind;
	aspectRatio?: string;
	/** Files asked for; once the service has ended it, those that it has made. */
	requestedCount: number;
	/** Images are part of it: its prompt alone says little. */
	withImages: boolean;
	/** The workflow that sent it, if another has called that. */
	creator?: { id: string; calledBy: string };
	/** When it went out, in ms since 1970 by our clock. */
	sentAt: number;
	/** Ids of its files that the service has told. */
	announcedIds: string[];
	/** Those that have come. */
	files: GeneratedFile[];
	/** Why others have failed, as the service says. */
	reason?: string;
	/** Until when the history is searched for the others, in ms since 1970; none while its stream goes on. */
	searchUntil?: number;
}
