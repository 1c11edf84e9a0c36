import { randomUUID } from 'node:crypto';
import { accountOf, allAccounts } from '../account';
import type { GeneratedFile, MediaKind } from '../contract';
import type { Credential } from '../http/credential';
import { evictOldest } from '../limits';
import { identifiersOf } from '../parsing/responses';

/** How long the history is searched for a lost result, in ms, unless the caller of `searchEnd` sets another time. */
const SEARCH_WINDOW_MS = 600_000;
/**
 * The maximum number of requests in a ledger. It is so high that a request stays while its result is searched for, also
 * beside thousands of texts that are spoken meanwhile.
 */
const MAX_LEDGER_REQUESTS = 20_000;

/**
 * A create call for media, and what is known about its result. The journal stores the requests for generations, so that
 * a retry collects the result instead of paying for a second request.
 */
export interface MediaRequest {
	/** A UUID that identifies the request in the ledger. It is not the idempotency key. */
	key: string;
	/** The `accountKey` of the credential that sent the request. */
	accountKey: string;
	/** The prompt without surrounding white space; '' if there is none. */
	prompt: string;
	kind: MediaKind;
	aspectRatio?: string;
	/**
	 * A digest of the path and the fields of the request, except the number of files and any images; '' for speech.
	 * Requests without hidden inputs that have the same digest are interchangeable: each of their files fits all of them.
	 */
	contentDigest: string;
	/** How many files the request asked for; once no further file will come, how many have come. */
	requestedCount: number;
	/**
	 * How many files a trigger may still attribute to the request; undefined before the request has files (ledger only).
	 * At first, it is the number that was asked for, because the service may list missing files later.
	 */
	attributableCount?: number;
	/** Ids of entries that a trigger attributed by the prompt (ledger only). They do not prove whose the files are. */
	attributedIds?: string[];
	/** The result of `identifiersOfRequest`, once the ids and files are final (ledger only). */
	identifiers?: string[];
	/**
	 * Whether the history has shown an id or a URL of the request; undefined until a trigger has read the history after
	 * the end of the request (ledger only).
	 */
	isListed?: boolean;
	/** True if the request has inputs that the history does not show, such as images: its prompt identifies nothing. */
	hasHiddenInputs: boolean;
	/**
	 * The id of the workflow that sent the request. For a sub-workflow, `calledBy` is the id of the workflow that
	 * called it. For an error workflow, `id` and `calledBy` are both the id of the workflow that failed. `triggers` has
	 * the keys of the triggers of this package that have led to the execution: the one that has started it, the one that
	 * has started the execution which created what that event was about, and so on.
	 */
	creator: { id: string; calledBy?: string; triggers?: string[] };
	/** When the last attempt began, in ms since 1970 by our clock. */
	sentAt: number;
	/** The ids that the service has announced for the files. For speech, the id of the task. */
	announcedIds: string[];
	/** The files that are finished. */
	files: GeneratedFile[];
	/** Why the missing files have failed, in the service's words. */
	reason?: string;
	/** The ids of the files that have failed; null for one whose id is unknown. */
	failedIds: Array<string | null>;
	/**
	 * Until when the history is searched for missing files, in ms since 1970; undefined while the stream is open. For
	 * speech: when the create call failed; undefined if it has not failed.
	 */
	searchUntil?: number;
}

/**
 * Returns true if the result of a request can be recognized in the history. If the request has hidden inputs,
 * only an announced id identifies it there.
 */
export const isFindable = ({
	hasHiddenInputs,
	announcedIds,
	requestedCount,
}: MediaRequest): boolean => !hasHiddenInputs || announcedIds.length >= requestedCount;

/** The requests of an account that this process knows, for generations and for speech, in the order they were added. */
export class RequestLedger {
	private readonly byKey = new Map<string, MediaRequest>();

	/**
	 * Adds a request, or replaces the one with the same key. If there are then more than MAX_LEDGER_REQUESTS, the
	 * oldest are removed.
	 */
	add(request: MediaRequest): void {
		this.byKey.set(request.key, request);
		evictOldest(this.byKey, MAX_LEDGER_REQUESTS);
	}

	/**
	 * Adds a request whose ids and files are final. Its identifiers are computed once, because thousands of requests are
	 * compared with each snapshot of the history.
	 */
	addFinished(request: MediaRequest): void {
		this.add({ ...request, identifiers: identifiersOfRequest(request) });
	}

	/**
	 * Adds a request from the journal, unless the ledger has it with at least as many files. Sets its `searchUntil`, so
	 * its search in the history starts now, unless it has started before.
	 */
	restore(request: MediaRequest): void {
		const existing = this.byKey.get(request.key);
		if (existing && existing.files.length >= request.files.length) return;
		request.searchUntil = searchEnd(request);
		this.add(request);
	}

	/** Removes a request. Call it only when the service has surely not accepted the request. */
	remove({ key }: MediaRequest): void {
		this.byKey.delete(key);
	}

	/** Returns all requests, in the order in which they were added. */
	all = (): MediaRequest[] => [...this.byKey.values()];

	/**
	 * Returns all requests for generations, in the order in which they were sent. All processes that know the same
	 * requests must sort them in the same way, or two of them could take the same entry.
	 */
	generations = (): MediaRequest[] =>
		this.all()
			.filter(({ kind }) => kind !== 'speech')
			.sort((a, b) => a.sentAt - b.sentAt || (a.key < b.key ? -1 : 1));
}

/** Makes the record of a request that is about to be sent, with a new key. */
export const newRequest = (
	request: Omit<MediaRequest, 'key' | 'announcedIds' | 'files' | 'failedIds'>,
): MediaRequest => ({ ...request, key: randomUUID(), announcedIds: [], files: [], failedIds: [] });

/**
 * Returns when the search in the history for a request ends, in ms since 1970: the request's `searchUntil` if it is
 * set, otherwise `searchMs` milliseconds from now.
 */
export const searchEnd = ({ searchUntil }: MediaRequest, searchMs = SEARCH_WINDOW_MS): number =>
	searchUntil ?? Date.now() + searchMs;

/** Returns the announced ids of a request, and the ids and URLs of the files that have arrived. */
export const identifiersOfRequest = (request: MediaRequest): string[] =>
	request.identifiers ?? [...request.announcedIds, ...request.files.flatMap(identifiersOf)];

/** Returns the fields that change in a request when `files` are its final result, and no more files are expected. */
export const finalFields = (
	request: MediaRequest,
	files: GeneratedFile[],
): Partial<MediaRequest> => ({ requestedCount: files.length, searchUntil: searchEnd(request, 0) });

/**
 * Returns the beginning of a prompt. The ledger keeps no more of a text once its speech task is known, because it may
 * hold thousands of long texts.
 */
export const promptStart = (prompt = ''): string => prompt.slice(0, 100);

/** Returns all requests that this process knows, of all accounts. */
export const allRequests = (): MediaRequest[] =>
	allAccounts().flatMap((account) => account.get(RequestLedger).all());

/** Returns the ledger of a credential's account in this process. */
export const ledgerOf = (credential: Credential): RequestLedger =>
	accountOf(credential).get(RequestLedger);
