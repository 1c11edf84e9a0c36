import { randomUUID } from 'node:crypto';
import { accountOf, allAccounts } from '../account';
import type { GeneratedFile, MediaRequest } from '../contract';
import type { Credential } from '../http/credential';
import { evictOldest } from '../limits';
import { identifiersOf } from '../parsing/responses';
import { hasAnyIdentifier, type HistoryEntry } from './historyEntries';

/** How long the history is searched for a lost result, in ms, unless the caller of `searchEnd` sets another time. */
const SEARCH_WINDOW_MS = 600_000;
/**
 * The maximum number of requests in a ledger. It is so high that a request stays while its result is searched for, also
 * beside thousands of texts that are spoken meanwhile.
 */
const MAX_LEDGER_REQUESTS = 20_000;

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

	/** Notes in each request whose stream has ended whether the history shows it. Call it with the entries of each poll. */
	onHistoryRead(entries: HistoryEntry[]): void {
		for (const request of this.byKey.values()) {
			if (request.searchUntil === undefined || request.isListed) continue;
			const identifiers = new Set(identifiersOfRequest(request));
			request.isListed = entries.some((entry) => hasAnyIdentifier(entry, identifiers));
		}
	}

	/** Returns all requests, in the order in which they were added. */
	all = (): MediaRequest[] => [...this.byKey.values()];

	/**
	 * Returns all requests for generations with the prompt of `request`, itself included, in the order in which they were
	 * sent.
	 */
	findByPrompt({ prompt }: MediaRequest): MediaRequest[] {
		const requestsWithPrompt = this.all().filter(
			(other) => other.kind !== 'speech' && other.prompt === prompt,
		);
		// All processes that know the same requests must sort them in the same way, or two of them could take the same
		// entry.
		return requestsWithPrompt.sort((a, b) => a.sentAt - b.sentAt || (a.key < b.key ? -1 : 1));
	}
}

/** Makes the record of a request that is about to be sent, with a new key. */
export const newRequest = (
	request: Omit<MediaRequest, 'key' | 'announcedIds' | 'files'>,
): MediaRequest => ({ ...request, key: randomUUID(), announcedIds: [], files: [] });

/**
 * Returns when the search in the history for a request ends, in ms since 1970: the request's `searchUntil` if it is
 * set, otherwise `searchMs` milliseconds from now.
 */
export const searchEnd = ({ searchUntil }: MediaRequest, searchMs = SEARCH_WINDOW_MS): number =>
	searchUntil ?? Date.now() + searchMs;

/** Returns the announced ids of a request, and the ids and URLs of the files that have arrived. */
export const identifiersOfRequest = ({ announcedIds, files }: MediaRequest): string[] => [
	...announcedIds,
	...identifiersOf(files),
];

/** Returns the fields that change in a request when `files` are its final result, and no more files are expected. */
export const finalFields = (
	request: MediaRequest,
	files: GeneratedFile[],
): Partial<MediaRequest> => ({
	requestedCount: files.length,
	searchUntil: searchEnd(request, 0),
});

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
