import { randomUUID } from 'node:crypto';
import { accountOf } from '../account';
import type { GenerationRequest } from '../contract';
import type { Credential } from '../http/credential';
import { evictOldest } from '../limits';

/** How long the history is searched for the result after the stream was lost, in ms. */
const SEARCH_WINDOW_MS = 600_000;
/**
 * The most requests in a ledger. During a search fewer than that are added, so the request that is searched for stays
 * in the ledger.
 */
const MAX_REQUESTS = 10_000;

/**
 * The generation requests of an account that this process knows, in the order they were added. Matching needs it to
 * see which other request could own a history entry. `requestsOf` finds the ledger for videos and images,
 * `speechRequestsOf` the one for speech.
 */
export class RequestLedger {
	private readonly byKey = new Map<string, GenerationRequest>();

	/** Adds a request. The oldest ones are evicted beyond 10,000. */
	add(request: GenerationRequest): void {
		this.byKey.set(request.key, request);
		evictOldest(this.byKey, MAX_REQUESTS);
	}

	/**
	 * Adds a request from the journal that an earlier attempt, perhaps in another process, has sent. Its search in the
	 * history starts now. Nothing is done if the ledger already knows at least as many of its files.
	 */
	restore(request: GenerationRequest): void {
		const existing = this.byKey.get(request.key);
		if (existing && existing.files.length >= request.files.length) return;
		request.searchUntil = searchEnd(request);
		this.add(request);
	}

	/** Removes a request that the service has surely not accepted. */
	remove({ key }: GenerationRequest): void {
		this.byKey.delete(key);
	}

	/** All requests, in the order they were added. */
	all = (): GenerationRequest[] => [...this.byKey.values()];

	/** All requests with the prompt of `request`, itself included, in the order they were sent. */
	withPrompt({ prompt }: GenerationRequest): GenerationRequest[] {
		const samePrompt = this.all().filter((other) => other.prompt === prompt);
		// All processes that know the same requests must get the same order, or two could take the same entry.
		return samePrompt.sort((a, b) => a.sentAt - b.sentAt || (a.key < b.key ? -1 : 1));
	}
}

/** The requests for speech. They are kept apart because speech never appears in the history. */
class SpeechRequests extends RequestLedger {}

/** Creates a request that is about to be sent, with a new key. */
export const newRequest = (
	request: Omit<GenerationRequest, 'key' | 'announcedIds' | 'files'>,
): GenerationRequest => ({ ...request, key: randomUUID(), announcedIds: [], files: [] });

/**
 * Returns until when the history is searched for a request whose stream has ended, in ms since 1970: for `searchMs`
 * from now on, unless its search has begun before.
 */
export const searchEnd = (
	{ searchUntil }: GenerationRequest,
	searchMs = SEARCH_WINDOW_MS,
): number => searchUntil ?? Date.now() + searchMs;

/**
 * Returns the changed fields of a request that gets no more files: the files that have arrived are its whole result.
 */
export const endOf = (request: GenerationRequest, { length }: unknown[]) => {
	return { requestedCount: length, searchUntil: searchEnd(request, 0) };
};

/** The ledger of a credential's account in this process, for videos and images. */
export const requestsOf = (credential: Credential): RequestLedger =>
	accountOf(credential).get(RequestLedger);

/** The ledger of a credential's account in this process, for speech. */
export const speechRequestsOf = (credential: Credential): RequestLedger =>
	accountOf(credential).get(SpeechRequests);
