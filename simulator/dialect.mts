/**
 * The ways in which deployments of the service differ where the contract (docs/contract.md) is silent.
 * Each has its default here: what the contract shows, or else the commonest form.
 */
export const contractDialect = {
	/** Where a read response carries the audio address; `nested` is `audio_url: { url }`. */
	audioField: 'audio_url' as 'audio_url' | 'result' | 'nested',
	/** The audio address is a path on the API's own origin. */
	relativeAudioUrl: false,
	/** `string`: digits, a number in the read response. `uuid`: a UUID string in both. */
	taskId: 'string' as 'string' | 'uuid',
	createIdField: 'task_id' as 'task_id' | 'id',
	statusCase: 'lower' as 'lower' | 'UPPER',
	failureWord: 'error' as 'error' | 'failed' | 'cancelled' | 'canceled',
	failureField: 'error' as 'error' | 'message' | 'none',
	voices: 'array' as 'array' | 'paged',
	voiceTraits: 'flat' as 'flat' | 'labels',
	/** `wrong`: a page of voices or history always claims to be page 1. */
	pageEcho: 'right' as 'right' | 'wrong',
	history: 'array' as 'array' | 'paged',
	/** The address of an item, in completions too. */
	historyFiles: 'file_url' as 'file_url' | 'file_urls',
	historyFiguresAsStrings: false,
	/** Items are in the history, without a file, as soon as the request for them is accepted. */
	historyMaking: false,
	account: 'quota' as 'quota' | 'balance',
	sseStatus: 'quoted' as 'quoted' | 'bare' | 'object',
	/** `more`: also sends `uploading_images` and `generating`. */
	sseStatusWords: 'contract' as 'contract' | 'more',
	/** A space after the colon of `event:` and `data:`. */
	sseSpace: true,
	sseNewline: '\n' as '\n' | '\r\n',
	/** A comment line before every event. */
	sseComments: false,
	/** Bytes per write of a stream; 0 writes an event at once. */
	sseChunk: 0,
	imageEndEvent: 'image_generation_complete',
	/** `object`: a single item comes without the array around it. */
	completion: 'array' as 'array' | 'object',
	itemStatus: 'completed' as 'completed' | 'MEDIA_GENERATION_STATUS_SUCCESSFUL',
	/** Data of the stream's `error` event. */
	errorShape: 'object' as 'object' | 'message' | 'string' | 'broken',
	/** File addresses are on the API's origin and answer 302 to the file origin. */
	redirectFiles: false,
	/**
	 * `open`: files are on the file origin. `private`: on the API's, for its token only. `signed`: on the
	 * API's, which refuses a request for one that also bears the token, with `signedStatus`.
	 */
	apiFiles: 'open' as 'open' | 'private' | 'signed',
	signedStatus: 400,
	/** Seconds by which the service's clock (Date header, created_at) is ahead of the real one. */
	clockSkewSeconds: 0,
};

export type Dialect = typeof contractDialect;
