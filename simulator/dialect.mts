/**
 * The ways in which deployments of the service differ where the contract (docs/contract.md) is silent: first
 * what the contract shows, or else the commonest.
 */
const dialects = {
	/** Where a read response carries the audio address; `nested` is `audio_url: { url }`. */
	audioField: ['audio_url', 'result', 'nested'],
	/** The audio address is a path on the API's own origin. */
	relativeAudioUrl: [false, true],
	/** `string`: digits, a number in the read response. `uuid`: a UUID string in both. */
	taskId: ['string', 'uuid'],
	createIdField: ['task_id', 'id'],
	statusCase: ['lower', 'UPPER'],
	failureWord: ['error', 'failed', 'cancelled', 'canceled'],
	failureField: ['error', 'message', 'none'],
	voices: ['array', 'paged'],
	voiceTraits: ['flat', 'labels'],
	/** `wrong`: a page of voices or history always claims to be page 1. */
	pageEcho: ['right', 'wrong'],
	history: ['array', 'paged'],
	/** The address of an item, in completions too. */
	historyFiles: ['file_url', 'file_urls'],
	historyFiguresAsStrings: [false, true],
	/** Items are in the history, without a file, as soon as the request for them is accepted. */
	historyMaking: [false, true],
	account: ['quota', 'balance'],
	sseStatus: ['quoted', 'bare', 'object'],
	/** `more`: also sends `uploading_images` and `generating`. */
	sseStatusWords: ['contract', 'more'],
	/** A space after the colon of `event:` and `data:`. */
	sseSpace: [true, false],
	sseNewline: ['\n', '\r\n'],
	/** A comment line before every event. */
	sseComments: [false, true],
	/** Bytes per write of a stream; 0 writes an event at once. */
	sseChunk: [0, 1],
	imageEndEvent: ['image_generation_complete', 'all_set'],
	/** `object`: a single item comes without the array around it. */
	completion: ['array', 'object'],
	itemStatus: ['completed', 'MEDIA_GENERATION_STATUS_SUCCESSFUL'],
	/** Data of the stream's `error` event. */
	errorShape: ['object', 'message', 'string', 'broken'],
	/** File addresses are on the API's origin and answer 302 to the file origin. */
	redirectFiles: [false, true],
	/**
	 * `open`: files are on the file origin. `private`: on the API's, for its token only. `signed`: on the
	 * API's, which refuses a request for one that also bears the token, with `signedStatus`.
	 */
	apiFiles: ['open', 'private', 'signed'],
	signedStatus: [400, 401, 403],
	/** Seconds by which the service's clock (Date header, created_at) is ahead of the real one. */
	clockSkewSeconds: [0, 3600, -3600],
} as const;

export type Dialect = {
	-readonly [Way in keyof typeof dialects]: (typeof dialects)[Way][number];
};

/** The dialect in which each way is the one that `pick` takes. */
export const dialectOf = (pick: (ways: readonly unknown[], name: string) => unknown) =>
	Object.fromEntries(
		Object.entries(dialects).map(([name, ways]) => [name, pick(ways, name)]),
	) as Dialect;
