import { accountOf } from '../account';
import type { SentRequest } from '../contract';
import type { Credential } from '../http/credential';
import { dropOldest } from '../limits';

/** How long the history is searched for what a lost stream was to tell, in ms. */
const SEARCH_MS = 600_000;
/** More than can be under way while one is searched for, or than wait to be made. */
const MAX_REMEMBERED = 10_000;

/** The requests for videos and images of an account in this process, in the order they were sent. */
export class SentRequests {
	private readonly byKey = new Map<string, SentRequest>();

	remember(request: SentRequest): void {
		this.byKey.set(request.key, request);
		dropOldest(this.byKey, MAX_REMEMBERED);
	}

	/** What an earlier attempt, perhaps in another process, has sent, and what it got. */
	recall(request: SentRequest): void {
		const held = this.byKey.get(request.key);
		if (held && held.files.length >= request.files.length) return;
		markLost(request);
		this.remember(request);
	}

	/** The service has surely not accepted it. */
	drop({ key }: SentRequest): void {
		this.byKey.delete(key);
	}

	all = (): SentRequest[] => [...this.byKey.values()];

	/** Those with the prompt of `request`, itself among them, in the order they were sent. */
	alike({ prompt }: SentRequest): SentRequest[] {
		const alike = this.all().filter((other) => other.prompt === prompt);
		// Processes that know the same requests have to come to the same order.
		return alike.sort((a, b) => a.sentAt - b.sentAt || (a.key < b.key ? -1 : 1));
	}
}

/** Those for speech, which never appears in the history. */
class SpeechRequests extends SentRequests {}

/** Only the history can tell more of it, within so many ms. */
export function markLost(request: SentRequest, searchMs = SEARCH_MS): void {
	request.searchUntil ??= Date.now() + searchMs;
}

/** Nothing comes any more of what it has not got. */
export function markEnded(request: SentRequest): void {
	request.expected = request.files.length;
	markLost(request, 0);
}

/** The requests of an account in this process. */
export const requestsOf = (credential: Credential): SentRequests =>
	accountOf(credential).shared(SentRequests);

/** Those for speech. */
export const speechRequestsOf = (credential: Credential): SentRequests =>
	accountOf(credential).shared(SpeechRequests);
