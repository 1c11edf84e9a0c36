/**
 * How deployments of the service differ in points that the contract (docs/contract.md) leaves open. The first value of
 * each row is the default: the one that the contract shows, or else the most common one.
 */
const dialectValues = {
	/** The field with the audio URL in the answer to a read; `nested` is `audio_url: { url }`. */
	audioField: ['audio_url', 'result', 'nested'],
	/** True: the audio URL is sent as a path on the API's origin. */
	relativeAudioUrl: [false, true],
	/**
	 * The type of the task's id. `string`: a string of digits in the answer to the create call, but a number when the
	 * task is read. `uuid`: a UUID string in both.
	 */
	taskId: ['string', 'uuid'],
	/** The field with the task's id in the answer to the create call. */
	createIdField: ['task_id', 'id'],
	/** Whether status words are sent in lower or upper case. */
	statusCase: ['lower', 'UPPER'],
	/** The status word of a task that has failed. */
	failureWord: ['error', 'failed', 'cancelled', 'canceled'],
	/** The field with the reason of a task that has failed. */
	failureField: ['error', 'message', 'none'],
	/** A page of voices is an array, or a record with the array and the paging fields. */
	voices: ['array', 'paged'],
	/** The traits of a voice are fields of the voice itself, or of a record `labels`. */
	voiceTraits: ['flat', 'labels'],
	/** The page number in a page of voices or history. `wrong`: it is always 1. */
	pageEcho: ['right', 'wrong'],
	/** A page of the history is an array, or a record with the array and the paging fields. */
	history: ['array', 'paged'],
	/** The field with the URL of a file, in the history and in completion events. */
	historyFiles: ['file_url', 'file_urls'],
	/** True: the paging fields of the history are strings. */
	historyNumbersAsStrings: [false, true],
	/**
	 * True: an item enters the history without a file as soon as its request is accepted. False: once it is finished.
	 */
	historyShowsInProgress: [false, true],
	/** Which fields tell the account's remaining credits. */
	account: ['quota', 'balance'],
	/** The data of a status event: a quoted word, a bare word, or `{ status }`. */
	sseStatus: ['quoted', 'bare', 'object'],
	/** The words in status events. `more`: also `uploading_images` and `generating`. */
	sseStatusWords: ['contract', 'more'],
	/** True: a space follows the colon of `event:` and `data:`. */
	sseSpace: [true, false],
	/** The line break in event streams. */
	sseNewline: ['\n', '\r\n'],
	/** True: a comment line is sent before every event. */
	sseComments: [false, true],
	/** How many bytes of an event stream are written at a time. 0: a whole event at a time. */
	sseChunk: [0, 1],
	/** The name of the completion event for images. */
	imageEndEvent: ['image_generation_complete', 'all_set'],
	/** `object`: a completion event with a single item has no array around it. */
	completion: ['array', 'object'],
	/** The status word of a finished item. */
	itemStatus: ['completed', 'MEDIA_GENERATION_STATUS_SUCCESSFUL'],
	/** Whether an item says of what kind it is. */
	itemType: ['shown', 'none'],
	/**
	 * The data of an `error` event. `object`: a record with the fields `code` and `error`. `message`: a record with the
	 * field `message`. `string`: a JSON string. `broken`: JSON that ends in the middle.
	 */
	errorShape: ['object', 'message', 'string', 'broken'],
	/** True: URLs of files are on the API's origin, which redirects to the file origin with 302. */
	redirectFiles: [false, true],
	/**
	 * Where files are. `open`: on the file origin. `private`: on the API's origin, and a download needs the token.
	 * `signed`: on the API's origin, which refuses a download with the token by `signedStatus`.
	 */
	apiFiles: ['open', 'private', 'signed'],
	/** The HTTP status with which a signed URL refuses a request that has the token. */
	signedStatus: [400, 401, 403],
	/** How many seconds the service's clock (in the Date header and in `created_at`) is ahead of the real one. */
	clockSkewSeconds: [0, 3600, -3600],
} as const;

/** A dialect: one value for each difference between deployments. */
export type Dialect = {
	-readonly [Name in keyof typeof dialectValues]: (typeof dialectValues)[Name][number];
};

/** Builds a dialect. `pick` chooses one of the values for each difference between deployments. */
export const dialectOf = (pick: (values: readonly unknown[], name: string) => unknown) =>
	Object.fromEntries(
		Object.entries(dialectValues).map(([name, values]) => [name, pick(values, name)]),
	) as Dialect;
