import type { MediaKind } from './contract';

/** What can go wrong, as facts. `n8n/messages.ts` is the only place that puts them into words. */
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
	| 'noAddress'
	| 'downloadFailed'
	| 'streamLost'
	| 'noWebSocket'
	| 'noSocket'
	| 'noHistory'
	| 'selfTrigger'
	| 'timedOut'
	| 'canceled';

/** What the service means by a refusal or a failure (parsing/errorTable.ts). */
export type Meaning =
	| 'throttled'
	| 'quota'
	| 'credit'
	| 'token'
	| 'not_allowed'
	| 'moderation'
	| 'voice'
	| 'unavailable';

export interface FailureFacts {
	/** What the service means, where its answer tells. */
	means?: Meaning;
	/** Display name of the parameter or credential field at fault. */
	field?: string;
	/** It is a field of the credential. */
	isInCredential?: boolean;
	/** The items at fault, from 0, when bad input ends a run, and how many items there are. */
	items?: number[];
	itemCount?: number;
	/** What the service (or the check) says, readable, without mark-up. */
	text?: string;
	/** HTTP status. */
	status?: number;
	/** The host that was asked, without path or query. */
	host?: string;
	retryAfterMs?: number;
	limitMs?: number;
	/** The most that is allowed. */
	limit?: number;
	/** A create call may have been accepted (and charged) without an answer. */
	mayBeCharged?: boolean;
	/** What was asked for. */
	makes?: MediaKind;
	transient?: boolean;
	taskId?: string;
	/** Which part of a speech this is about, as in `3 of 12`. */
	part?: string;
	/** The (paid) tasks of all parts of a speech, in order, as far as there are any. */
	taskIds?: string[];
	/** Its parts, from 1, that may have been accepted without an answer, besides the one this is about. */
	indeterminateParts?: number[];
	/** Identifiers of a (paid) generation under way, as far as they are known. */
	ids?: string[];
	/** Its host refuses the address, or does not know it: it may have expired. */
	isRefused?: boolean;
	/** Address of a finished (paid) file that could not be fetched. */
	fileUrl?: string;
	/** Addresses of the other files of the same request, which are paid as well. */
	otherFiles?: string[];
	lastKnownStatus?: string;
	/** So many in flight were not too many, where more were. */
	notTooMany?: number;
	/** History entries that may be the lost result. */
	candidates?: Array<{ id: string; createdAt?: string }>;
}

/** A failure below the n8n layer: a kind and facts, no wording, no n8n. */
export class Failure extends Error {
	constructor(
		readonly kind: FailureKind,
		readonly facts: FailureFacts = {},
	) {
		super(kind);
	}

	/** The same failure with more facts; what is already known stays. */
	withDefaults(facts: FailureFacts): Failure {
		return new Failure(this.kind, { ...facts, ...this.facts });
	}
}

/** A bad parameter: `field` is its display name, `text` what is wrong with it. */
export function invalidInput(field: string, text: string): Failure {
	return new Failure('invalidInput', { field, text });
}

/** True for a failure of one of these kinds. */
export const isFailure = (error: unknown, ...kinds: FailureKind[]): error is Failure =>
	error instanceof Failure && kinds.includes(error.kind);

/** The same error; a failure with more facts, of which those it has already stay. */
export const withDefaultFacts = (error: unknown, facts: FailureFacts): unknown =>
	error instanceof Failure ? error.withDefaults(facts) : error;

/** What a failure is for a workflow where the service does not say what it means. */
const KIND_BY_FAILURE = {
	...{ invalidInput: 'input', badImage: 'input', overBudget: 'input', rejected: 'input' },
	...{ invalidVoice: 'input', outOfCredit: 'credit' },
	...{ unreachable: 'unavailable', noResponse: 'unavailable', unavailable: 'unavailable' },
	...{ foreignServer: 'unavailable', rateLimited: 'throttled' },
	...{ tokenRefused: 'token', streamLost: 'indeterminate', indeterminate: 'indeterminate' },
	...{ timedOut: 'timeout', noAddress: 'file', downloadFailed: 'file' },
} as const satisfies Partial<Record<FailureKind, string>>;

/** The `error_kind` of an item that failed, by which workflows decide; saved ones hold these words. */
export function errorKindOf(error: unknown): string {
	if (!(error instanceof Failure)) return 'other';
	const { kind, facts } = error;
	if (facts.mayBeCharged && kind !== 'timedOut') return 'indeterminate';
	// A server error may be any, and the token of what was begun is one of the service's own.
	const isUnsure = kind === 'unavailable' || facts.means === 'token';
	const means = isUnsure ? undefined : facts.means;
	const byFailure: Partial<Record<FailureKind, string>> = KIND_BY_FAILURE;
	return means === 'voice' ? 'input' : (means ?? byFailure[kind] ?? 'other');
}

/** True when the same read may well succeed a moment later (docs/contract.md, “HTTP”). */
export function isTransient(error: unknown): error is Failure {
	return error instanceof Failure && error.facts.transient === true;
}

/** The failure of a first call to an address: a page, or no such path, is another web server's. */
export const toWrongBaseUrl = (error: unknown): unknown =>
	isFailure(error, 'notFound', 'rejected', 'foreignServer') && !error.facts.means
		? new Failure('foreignServer', { status: error.facts.status })
		: error;
