import type { MediaKind } from './contract';

/**
 * What can go wrong: each kind of Failure, with the value of the output field `error_kind` unless a fact decides it (see
 * `errorKindOf`). Each kind has its own message in `n8n/messages.ts`. The kinds that need an explanation:
 *
 * - `crashed`: n8n crashed in an earlier attempt, and has lost what that attempt paid for.
 * - `overBudget`: the run would send more paid requests than the user allows.
 * - `unreachable`: no connection could be opened.
 * - `noResponse`: the connection was lost, or the response took too long.
 * - `foreignServer`: the response does not come from the API.
 * - `throttled`: the service refused the request for rate, load or quota.
 * - `rejected`: the service refused the request for a reason that no other kind covers.
 * - `indeterminate`: an earlier attempt sent the request. It is unknown whether the service accepted it, or only the
 *   earlier credential can collect its result.
 * - `noAudioUrl`: the task is completed, but has no URL of its audio.
 * - `streamLost`: the result of a generation did not arrive.
 * - `webSocketUnsupported`: this version of Node.js has no WebSocket.
 * - `webSocketBlocked`: the WebSocket cannot be opened, although the service accepts the token.
 * - `selfTrigger`: a trigger's workflow would start itself again and again.
 */
const ERROR_KINDS = {
	invalidInput: 'input',
	badImage: 'input',
	crashed: 'indeterminate',
	overBudget: 'input',
	unreachable: 'unavailable',
	noResponse: 'unavailable',
	foreignServer: 'unavailable',
	redirected: 'other',
	tokenRefused: 'token',
	outOfCredit: 'credit',
	throttled: 'throttled',
	invalidVoice: 'input',
	notFound: 'other',
	rejected: 'input',
	unavailable: 'unavailable',
	taskFailed: 'other',
	generationFailed: 'other',
	indeterminate: 'indeterminate',
	tooLarge: 'other',
	noAudioUrl: 'file',
	downloadFailed: 'file',
	streamLost: 'indeterminate',
	webSocketUnsupported: 'other',
	webSocketBlocked: 'other',
	selfTrigger: 'other',
	timedOut: 'timeout',
	canceled: 'other',
};

/** A kind of Failure. */
export type FailureKind = keyof typeof ERROR_KINDS;

/**
 * What prevents a connection to a host:
 *
 * - `refused`: the host refused the connection.
 * - `unknownHost`: there is no host of this name.
 * - `host`: the host cannot be looked up now, or cannot be reached.
 * - `certificate`: n8n does not trust the host's certificate.
 * - `blocked`: the security settings of this n8n instance forbid the host.
 */
export type UnreachableCause = 'refused' | 'unknownHost' | 'host' | 'certificate' | 'blocked';

/** What an error of the service is about: `voice` if the account has no such voice, `length` if a text is too long. */
export type ErrorMeaning =
	| 'throttled'
	| 'quota'
	| 'credit'
	| 'token'
	| 'not_allowed'
	| 'moderation'
	| 'voice'
	| 'length'
	| 'unavailable';

/** Details of a failure. Those that are unknown are missing. */
export interface FailureFacts {
	meaning?: ErrorMeaning;
	/** Display name of the parameter or credential field at fault. */
	field?: string;
	isInCredential?: boolean;
	/** The indexes, from 0, of all input items that have the same fault, which was found before anything was sent. */
	itemIndexes?: number[];
	/** How many items the run has. */
	itemCount?: number;
	/** The bad value of a field, as messages show it, such as `"abc"`. */
	badValue?: string;
	/** What the user can do about the bad value of a field, as sentences without the last period. */
	fieldRemedy?: string;
	/** True for a failure of the trigger node, whose message must not mention a request of the user. */
	isTrigger?: boolean;
	/** True if the operation is free of charge, so that the user can simply try it again. */
	isFree?: boolean;
	/**
	 * Set if the credential was changed after an earlier attempt had sent the request: how that attempt sent it, as in
	 * “with another token, as task 7”.
	 */
	sentElsewhere?: string;
	/** The reason, in words of the service or of this package. */
	reason?: string;
	/** Why no connection was possible, for the kind `unreachable`. */
	unreachableCause?: UnreachableCause;
	/** The name of the node that would start the trigger again, for the kind `selfTrigger`. */
	nodeName?: string;
	/** The HTTP status of the response. */
	status?: number;
	/** The host that the request went to; for `redirected`, the origin of the new URL. */
	host?: string;
	/** The pause that the service or the file's host demands before the next request, in ms. */
	retryAfterMs?: number;
	/** The time limit that was exceeded, in ms. */
	limitMs?: number;
	/** The value of the parameter Max Paid Requests, which the run would exceed. */
	maxPaidRequests?: number;
	/** True if the service may have accepted and charged a create call whose result is unknown. */
	mayBeCharged?: boolean;
	/** The kind of media that the failed operation creates. For `selfTrigger`, see `nodeName`. */
	mediaKind?: MediaKind;
	/** True when the same request may succeed a moment later. */
	transient?: boolean;
	/** True for a call by a model if the same call looks for the result again, and is not charged. */
	repeatCollects?: boolean;
	/** The id of the speech task that the failure is about. */
	taskId?: string;
	/** The part of a long speech that failed, as in “3 of 12”. */
	part?: string;
	/** The ids of a speech's tasks that can still be collected, in the order of the parts. */
	taskIds?: string[];
	/** True if `taskIds` lacks a part of the speech, so that their audio is not that of the whole text. */
	isIncomplete?: boolean;
	/** The numbers, from 1, of the other parts of the speech that may have been charged without a response. */
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
	/**
	 * History entries that may be the lost result. `id` is the URL, or says that there is no id, if the entry has none.
	 * `createdAt` is the service's text.
	 */
	candidates?: Array<{ id: string; createdAt?: string }>;
}

/** An error with the kind and the facts of a failure. The message to the user is made from them later (`wordingOf`). */
export class Failure extends Error {
	constructor(
		readonly kind: FailureKind,
		readonly facts: FailureFacts = {},
	) {
		super(kind);
	}

	/** Returns a copy of this failure with more facts. Facts that it already has win over those in `facts`. */
	withDefaults(facts: FailureFacts): Failure {
		const known = Object.entries(this.facts).filter(([, value]) => value !== undefined);
		return new Failure(this.kind, { ...facts, ...Object.fromEntries(known) });
	}
}

/** Makes the Failure for a bad parameter. `field`: its display name. `reason`: what is wrong, as in “is empty”. */
export function invalidInput(
	field: string,
	reason: string,
	fieldRemedy?: string,
	badValue?: string,
): Failure {
	return new Failure('invalidInput', { field, reason, fieldRemedy, badValue });
}

/** True when `error` is a Failure of one of these kinds. */
export const isFailure = (error: unknown, ...kinds: FailureKind[]): error is Failure =>
	error instanceof Failure && kinds.includes(error.kind);

/** Returns a Failure as it is. Any other error, whose text may contain a secret, becomes a Failure without facts. */
export const toFailure = (error: unknown, kind: FailureKind = 'noResponse'): Failure =>
	error instanceof Failure ? error : new Failure(kind);

/** Returns a Failure with more facts; those that it has already stay. Any other error is returned as it is. */
export const withDefaultFacts = (error: unknown, facts: FailureFacts): unknown =>
	error instanceof Failure ? error.withDefaults(facts) : error;

/** Returns a function for `catch` of a promise: it throws what `withDefaultFacts` returns. */
export const throwWithFacts =
	(facts: FailureFacts) =>
	(error: unknown): never => {
		throw withDefaultFacts(error, facts);
	};

/** Returns the value of the output field `error_kind`. Saved workflows compare it, so its words must not change. */
export function errorKindOf(error: unknown): string {
	if (!(error instanceof Failure)) return 'other';
	const { kind, facts } = error;
	if (facts.mayBeCharged && kind !== 'timedOut') return 'indeterminate';
	// With a `fileUrl`, the unreachable host is that of a charged file, not that of the API.
	if (kind === 'unreachable' && facts.fileUrl !== undefined) return 'file';
	// A server error may have any cause, whatever its text says. If a generation fails because of a token, that token
	// is one that the service itself uses, not the user's. In both cases the meaning is ignored.
	const hasUnknownCause = kind === 'unavailable' || facts.meaning === 'token';
	const meaning = hasUnknownCause ? undefined : facts.meaning;
	if (meaning === 'voice' || meaning === 'length') return 'input';
	return meaning ?? ERROR_KINDS[kind];
}

/** True for a Failure after which the same request may succeed a moment later (docs/contract.md, “HTTP”). */
export function isTransient(error: unknown): error is Failure {
	return error instanceof Failure && error.facts.transient === true;
}

/** Turns a Failure of kind timedOut into noResponse, for limits that users can't change; other errors stay. */
export const toNoResponse = (error: unknown): unknown =>
	isFailure(error, 'timedOut') ? new Failure('noResponse', { transient: true }) : error;

/**
 * Converts the error of a request that reads the account. A refusal whose meaning is unknown becomes a Failure of kind
 * foreignServer, because the Base URL probably leads to another web server. Returns any other error as it is.
 */
export const toWrongBaseUrl = (error: unknown): unknown =>
	isFailure(error, 'notFound', 'rejected', 'foreignServer') && !error.facts.meaning
		? new Failure('foreignServer', { status: error.facts.status })
		: error;
