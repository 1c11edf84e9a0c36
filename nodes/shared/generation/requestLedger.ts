import { randomUUID } from 'node:crypto';
import { accountOf } from '../account';
import type { GenerationRequest } from '../contract';
import type { Credential } from '../http/credential';
import { evictOldest } from '../limits';

/** How long the history is searched for what a lost stream was to tell, in ms. */
const SEARCH_WINDOW_MS = 600_000;
/** More than can be under way while one is searched for, or than wait to be made. */
const MAX_REQUESTS = 10_000;

/** The requests for videos and images of an account in this process, in the order they were sent. */
export class RequestLedger {
	private readonly byKey = new Map<string, GenerationRequest>();

	add(request: GenerationRequest): void {
		this.byKey.set(request.key, request);
		evictOldest(this.byKey, MAX_REQUESTS);
	}

	/** What an earlier attempt, perhaps in another process, has sent, and what it got. */
	restore(request: GenerationRequest): void {
		const held = this.byKey.get(request.key);
		if (held && held.files.length >= request.files.length) return;
		startSearch(request);
		this.add(request);
	}

	/** The service has surely not accepted it. */
	remove({ key }: GenerationRequest): void {
		this.byKey.delete(key);
	}

	all = (): GenerationRequest[] => [...this.byKey.values()];

	/** Those with the prompt of `request`, itself among them, in the order they were sent. */
	withPrompt({ prompt }: GenerationRequest): GenerationRequest[] {
		const alike = this.all().filter((other) => other.prompt === prompt);
		// Processes that know the same requests have to come to the same order.
		return alike.sort((a, b) => a.sentAt - b.sentAt || (a.key < b.key ? -1 : 1));
	}
}

/** Those for speech, which never appears in the history. */
class SpeechRequests extends RequestLedger {}

/** A request that is about to go out. */
export const newRequest = (
	request: Omit<GenerationRequest, 'key' | 'announcedIds' | 'files'>,
): GenerationRequest => ({ ...request, key: randomUUID(), announcedIds: [], files: [] });

/** The stream is gone: the history is searched for so many ms from now on. */
export function startSearch(request: GenerationRequest, searchMs = SEARCH_WINDOW_MS): void {
	request.searchUntil ??= Date.now() + searchMs;
}

/** Nothing comes any more of what it has not got. */
export function endRequest(request: GenerationRequest): void {
	request.requestedCount = request.files.length;
	startSearch(request, 0);
}

/** The requests of an account in this process. */
export const requestsOf = (credential: Credential): RequestLedger =>
	accountOf(credential).get(RequestLedger);

/** Those for speech. */
export const speechRequestsOf = (credential: Credential): RequestLedger =>
	accountOf(credential).get(SpeechRequests);
