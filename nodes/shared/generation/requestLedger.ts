import { randomUUID } from 'node:crypto';
import { accountOf, allAccounts } from '../account';
import type { GeneratedFile, GenerationRequest } from '../contract';
import type { Credential } from '../http/credential';
import { evictOldest } from '../limits';

/** How long the history is searched for a lost result, in ms, unless the caller of `searchEnd` gives another time. */
const SEARCH_WINDOW_MS = 600_000;
/** The maximum number of requests in a ledger. It is high enough to keep a request while its result is searched for. */
const MAX_LEDGER_REQUESTS = 10_000;

/** The generation requests of an account that this process knows, in the order they were added. */
export class RequestLedger {
	private readonly byKey = new Map<string, GenerationRequest>();

	/**
	 * Adds a request, or replaces the one with the same key. Beyond MAX_LEDGER_REQUESTS, the oldest requests are
	 * evicted.
	 */
	add(request: GenerationRequest): void {
		this.byKey.set(request.key, request);
		evictOldest(this.byKey, MAX_LEDGER_REQUESTS);
	}

	/**
	 * Adds a request from the journal, unless the ledger has it with at least as many files. Its search in the history
	 * starts now, unless it has started before.
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
		const requestsWithPrompt = this.all().filter((other) => other.prompt === prompt);
		// All processes that know the same requests must get the same order, or two could take the same entry.
		return requestsWithPrompt.sort((a, b) => a.sentAt - b.sentAt || (a.key < b.key ? -1 : 1));
	}
}

/** The ledger for speech. It is separate because speech does not appear in the history. */
class SpeechLedger extends RequestLedger {}

/** Creates a request that is about to be sent, with a new key. */
export const newRequest = (
	request: Omit<GenerationRequest, 'key' | 'announcedIds' | 'files'>,
): GenerationRequest => ({ ...request, key: randomUUID(), announcedIds: [], files: [] });

/**
 * Returns when the search in the history for a request ends, in ms since 1970: `searchMs` from now, unless the search
 * has begun before.
 */
export const searchEnd = (
	{ searchUntil }: GenerationRequest,
	searchMs = SEARCH_WINDOW_MS,
): number => searchUntil ?? Date.now() + searchMs;

/** Returns the fields to change in a request when `files` are its final result: it expects no more files. */
export const finalFields = (request: GenerationRequest, files: GeneratedFile[]) => {
	return { requestedCount: files.length, searchUntil: searchEnd(request, 0) };
};

/** The beginning of a prompt. No more is kept of a text once its task is known, because there may be thousands. */
export const promptStart = (prompt = ''): string => prompt.slice(0, 100);

/** All requests for speech, or for videos and images, that this process knows, of all accounts. */
export const allRequests = (isSpeech: boolean): GenerationRequest[] =>
	allAccounts().flatMap((account) => account.get(isSpeech ? SpeechLedger : RequestLedger).all());

/** The ledger of a credential's account in this process, for videos and images. */
export const ledgerOf = (credential: Credential): RequestLedger =>
	accountOf(credential).get(RequestLedger);

/** The ledger of a credential's account in this process, for speech. */
export const speechLedgerOf = (credential: Credential): RequestLedger =>
	accountOf(credential).get(SpeechLedger);
