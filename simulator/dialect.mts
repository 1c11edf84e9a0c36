/**
 * The ways in which deployments of the service differ where the contract (docs/contract.md) is silent.
 * The defaults (`contractDialect`) are what the contract shows.
 */
export interface Dialect {
	/** Where a read response carries the audio address; `nested` is `audio_url: { url }`. */
	audioField: 'audio_url' | 'result' | 'nested';
	/** The audio address is a path on the API's own origin. */
	relativeAudioUrl: boolean;
	/** `string`: digits, a number in the read response. `uuid`: a UUID string in both. */
	taskId: 'string' | 'uuid';
	createIdField: 'task_id' | 'id';
	statusCase: 'lower' | 'UPPER';
	failureWord: 'error' | 'failed' | 'cancelled' | 'canceled';
	failureField: 'error' | 'message' | 'none';
	/** Milliseconds (not paced) for which a completed task has no audio address. */
	addressDelayMs: number;
	callbackBody: 'json' | 'urlencoded';
	voices: 'array' | 'paged';
	voiceTraits: 'flat' | 'labels';
	/** `wrong`: a page of voices or history always claims to be page 1. */
	pageEcho: 'right' | 'wrong';
	history: 'array' | 'paged';
	historyFiles: 'file_url' | 'file_urls';
	historyFiguresAsStrings: boolean;
	/** The id of an item, in completions too. */
	historyIds: 'string' | 'number' | 'none';
	/** Whether items tell when they were made. */
	historyTimes: boolean;
	/** Items are in the history, without a file, as soon as the request for them is accepted. */
	historyMaking: boolean;
	account: 'quota' | 'balance';
	sseStatus: 'quoted' | 'bare' | 'object';
	/** `more`: also sends `uploading_images` and `generating`. */
	sseStatusWords: 'contract' | 'more';
	/** A space after the colon of `event:` and `data:`. */
	sseSpace: boolean;
	sseNewline: '\n' | '\r\n';
	/** A comment line before every event. */
	sseComments: boolean;
	/** Bytes per write of a stream; 0 writes an event at once. */
	sseChunk: number;
	imageEndEvent: string;
	/** `object`: a single item comes without the array around it. */
	completion: 'array' | 'object';
	itemStatus: 'completed' | 'MEDIA_GENERATION_STATUS_SUCCESSFUL';
	/** Generation endpoints answer one JSON body at the end instead of a stream. */
	plainJson: boolean;
	/** Data of the stream's `error` event. */
	errorShape: 'object' | 'message' | 'string' | 'broken';
	/** Body of HTTP errors. */
	errorBody: 'error' | 'message' | 'detail' | 'nested' | 'empty' | 'html';
	/** File addresses are on the API's origin and answer 302 to the file origin. */
	redirectFiles: boolean;
	/**
	 * `open`: files are on the file origin. `private`: on the API's, for its token only. `signed`: on the
	 * API's, which refuses a request for one that also bears the token, with `signedStatus`.
	 */
	apiFiles: 'open' | 'private' | 'signed';
	signedStatus: number;
	/** Seconds by which the service's clock (Date header, created_at) is ahead of the real one. */
	clockSkewSeconds: number;
	refuseShapeB: boolean;
}

/** The dialect of the contract itself; what it leaves open takes the commonest form. */
export const contractDialect: Readonly<Dialect> = {
	audioField: 'audio_url',
	relativeAudioUrl: false,
	taskId: 'string',
	createIdField: 'task_id',
	statusCase: 'lower',
	failureWord: 'error',
	failureField: 'error',
	addressDelayMs: 0,
	callbackBody: 'json',
	voices: 'array',
	voiceTraits: 'flat',
	pageEcho: 'right',
	history: 'array',
	historyFiles: 'file_url',
	historyFiguresAsStrings: false,
	historyIds: 'string',
	historyTimes: true,
	historyMaking: false,
	account: 'quota',
	sseStatus: 'quoted',
	sseStatusWords: 'contract',
	sseSpace: true,
	sseNewline: '\n',
	sseComments: false,
	sseChunk: 0,
	imageEndEvent: 'image_generation_complete',
	completion: 'array',
	itemStatus: 'completed',
	plainJson: false,
	errorShape: 'object',
	errorBody: 'error',
	redirectFiles: false,
	apiFiles: 'open',
	signedStatus: 400,
	clockSkewSeconds: 0,
	refuseShapeB: false,
};
