import type { MediaKind } from './contract';

/** What can go wrong. Each kind has its own message in `n8n/messages.ts`. */
export type FailureKind =
	| 'invalidInput'
	| 'badImage'
	| 'overBudget'
	| 'unreachable'
	| 'noResponse'
	| 'foreignServer'
	| 'redirected'
	| 'tokenRefused'
	| 'outOfCredit'
	| 'rateLimited'
	| 'invalidVoice'
	| 'notFound'
	| 'rejected'
	| 'unavailable'
	| 'taskFailed'
	| 'generationFailed'
	| 'indeterminate'
	| 'tooLarge'
	| 'noAudioUrl'
	| 'downloadFailed'
	| 'streamLost'
	| 'noWebSocket'
	| 'noSocket'
	| 'noHistory'
	| 'selfTrigger'
	| 'timedOut'
	| 'canceled';

/** The category of an error that the service reports, such as `quota` (a quota is used up) or `voice` (it is unknown). */
export type Meaning =
	| 'throttled'
	| 'quota'
	| 'credit'
	| 'token'
	| 'not_allowed'
	| 'moderation'
	| 'voice'
	| 'unavailable';

/** Details of a failure. Those that are unknown are missing. */
export interface FailureFacts {
	/** What the answer of the service is about. */
	meaning?: Meaning;
	/** Display name of the parameter or credential field at fault. */
	field?: string;
	/** True if `field` is a field of the credential. */
	isInCredential?: boolean;
	/** The indexes, from 0, of the input items in which the same parameter is empty. */
	itemIndexes?: number[];
	/** How many input items the run has. */
	itemCount?: number;
	/** What the user can do about the bad value of a field, as sentences without the last period. */
	fieldRemedy?: string;
	/** True if the trigger failed, which has no request of the user to send. */
	isTrigger?: boolean;
	/** True if the operation is free of charge, so that the user can simply try it again. */
	isFree?: boolean;
	/** How an earlier attempt has sent the request, if the credential was changed since, and what to enter there again. */
	sentElsewhere?: { how: string; oldSetting: string };
	/**
	 * The reason, in words of the service or of this package. For `unreachable` it is a key of UNREACHABLE in
	 * `n8n/messages.ts`; for `selfTrigger`, the name of a node.
	 */
	text?: string;
	/** The HTTP status of the answer. */
	status?: number;
	/** The host that the request went to; for `redirected`, the origin of the new URL. */
	host?: string;
	/** The pause that the service or the file's host asks for before the next request, in ms. */
	retryAfterMs?: number;
	/** The time limit that was exceeded, in ms. */
	limitMs?: number;
	/** The value of the parameter Max Paid Requests per Execution, which the run would exceed. */
	maxPaidRequests?: number;
	/** True if the service may have accepted and charged a create call whose result is unknown. */
	mayBeCharged?: boolean;
	/** The kind of media that the failure is about. */
	mediaKind?: MediaKind;
	/** True when the same request may succeed a moment later. */
	transient?: boolean;
	/** The id of the speech task that the failure is about. */
	taskId?: string;
	/** The part of a long speech that failed, as in “3 of 12”. */
	part?: string;
	/** The ids of a speech's tasks that can still be collected, in the order of the parts. */
	taskIds?: string[];
	/** The numbers, from 1, of the other parts of the speech that may have been charged without an answer. */
	indeterminateParts?: number[];
	/** The ids that the service has announced for a charged generation. */
	announcedIds?: string[];
	/** True when the file's host refuses the URL or does not know it. */
	isUrlRefused?: boolean;
	/** The URL of a charged file that could not be downloaded. */
	fileUrl?: string;
	/** The URLs of the other charged files of the same request. */
	otherFileUrls?: string[];
	/** The last known status of the task, in words for the user. */
	lastKnownStatus?: string;
	/** How many tasks and streams have been in flight without an overload. More may be too many. */
	safeInFlight?: number;
	/** History entries that may be the lost result; `createdAt` as the service wrote it. */
	candidates?: Array<{ id: string; createdAt?: string }>;
}

/** A failure with its kind and its facts, but without a message to the user. */
export class Failure extends Error {
	constructor(
		readonly kind: FailureKind,
		readonly facts: FailureFacts = {},
	) {
		super(kind);
	}

	/** A copy of this failure with more facts. Facts that it already has win over those in `facts`. */
	withDefaults(facts: FailureFacts): Failure {
		return new Failure(this.kind, { ...facts, ...this.facts });
	}
}

/**
 * The Failure of a bad parameter; `field` is its display name, and `text` says what is wrong, as in “is empty”.
 * `fieldRemedy`: see FailureFacts.
 */
export function invalidInput(field: string, text: string, fieldRemedy?: string): Failure {
	return new Failure('invalidInput', { field, text, fieldRemedy });
}

/** True when `error` is a Failure of one of these kinds. */
export const isFailure = (error: unknown, ...kinds: FailureKind[]): error is Failure =>
	error instanceof Failure && kinds.includes(error.kind);

/** Adds facts to a Failure, as `withDefaults` does. Any other error is returned as it is. */
export const withDefaultFacts = (error: unknown, facts: FailureFacts): unknown =>
	error instanceof Failure ? error.withDefaults(facts) : error;

/** The `error_kind` of a failure, by its kind. */
const ERROR_KIND_BY_FAILURE = {
	...{ invalidInput: 'input', badImage: 'input', overBudget: 'input', rejected: 'input' },
	...{ invalidVoice: 'input', outOfCredit: 'credit' },
	...{ unreachable: 'unavailable', noResponse: 'unavailable', unavailable: 'unavailable' },
	...{ foreignServer: 'unavailable', rateLimited: 'throttled' },
	...{ tokenRefused: 'token', streamLost: 'indeterminate', indeterminate: 'indeterminate' },
	...{ timedOut: 'timeout', noAudioUrl: 'file', downloadFailed: 'file' },
} as const satisfies Partial<Record<FailureKind, string>>;

/**
 * The value of `error_kind` in the output, when something has failed. Saved workflows compare it with fixed words, so
 * these words must not change.
 */
export function errorKindOf(error: unknown): string {
	if (!(error instanceof Failure)) return 'other';
	const { kind, facts } = error;
	if (facts.mayBeCharged && kind !== 'timedOut') return 'indeterminate';
	// With a `fileUrl`, the unreachable host is that of a charged file, not that of the API.
	if (kind === 'unreachable' && facts.fileUrl !== undefined) return 'file';
	// A server error may have any cause, whatever its text says. If a generation fails because of a token, it is a
	// token that the service itself uses, not the user's.
	const hasUnknownCause = kind === 'unavailable' || facts.meaning === 'token';
	const meaning = hasUnknownCause ? undefined : facts.meaning;
	const byFailure: Partial<Record<FailureKind, string>> = ERROR_KIND_BY_FAILURE;
	return meaning === 'voice' ? 'input' : (meaning ?? byFailure[kind] ?? 'other');
}

/** True for a Failure after which the same request may succeed a moment later (docs/contract.md, “HTTP”). */
export function isTransient(error: unknown): error is Failure {
	return error instanceof Failure && error.facts.transient === true;
}

/**
 * Converts a Failure of kind timedOut to one of kind noResponse. Use it for time limits that the user cannot set.
 * Returns any other error as it is.
 */
export const toNoResponse = (error: unknown): unknown =>
	isFailure(error, 'timedOut') ? new Failure('noResponse', { transient: true }) : error;

/**
 * Converts the error of reading the account. A refusal whose meaning is unknown becomes a Failure of kind
 * foreignServer, because the Base URL probably leads to another web server. Returns any other error as it is.
 */
export const toWrongBaseUrl = (error: unknown): unknown =>
	isFailure(error, 'notFound', 'rejected', 'foreignServer') && !error.facts.meaning
		? new Failure('foreignServer', { status: error.facts.status })
		: error;
