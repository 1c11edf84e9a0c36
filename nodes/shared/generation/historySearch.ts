import type { Api } from '../api/api';
import { remainingMs, monotonicNow, withDeadline } from '../async/deadline';
import { pollUntil, type ReadResult } from '../async/pollUntil';
import type { GeneratedFile } from '../contract';
import { Failure, isFailure, withDefaultFacts } from '../failure';
import { MAX_FILES } from '../limits';
import { asText, asWebUrl, withoutQuery } from '../parsing/values';
import { failureOfAnswer } from '../parsing/errors';
import { identifiersOf } from '../parsing/responses';
import type { HistoryEntry } from './historyEntries';
import {
	candidatesFor,
	mayShareEntriesWith,
	identifyOwners,
	isOwnedBy,
	matchHistory,
	earliestEntryTime,
} from './historyMatching';
import { readHistorySince } from './historyReader';
import { allRequests, ledgerOf, type MediaRequest } from './requestLedger';

/** The usual pause between two reads of the history, in ms. */
const SEARCH_INTERVAL_MS = 10_000;
/** How long the last read of the history may still take after the time `searchUntil`, in ms. */
const LAST_SEARCH_MS = 15_000;
/** The time limit of the search for a renewed URL, in ms. */
const RENEWAL_MS = 60_000;

/**
 * Searches the history for the files of a generation whose stream ended too early. Resolves with the files that the
 * stream has delivered and those that the history has. Throws a Failure if there is no file. In most cases the Failure
 * is `streamFailure`, with the entries that may be the lost result as `candidates`.
 *
 * The search ends at the request's `searchUntil`.
 */
export async function findInHistory(
	api: Api,
	request: MediaRequest,
	streamFailure: Failure,
	signal: AbortSignal,
): Promise<GeneratedFile[]> {
	const { files: receivedFiles, requestedCount, searchUntil = 0 } = request;
	const remainingSearchMs = () => searchUntil - Date.now();
	let foundFiles = receivedFiles;
	/** The entries of the last read, unless one of them is the result. They still count while nothing can be read. */
	let unmatchedEntries: HistoryEntry[] = [];
	/** See `requestsOfOtherTokens`. */
	let otherRequests: MediaRequest[] = [];
	const ledger = ledgerOf(api.credential);

	const searchRepeatedly = async (deadline: AbortSignal) =>
		await pollUntil({
			read: async (readSignal) => await search(readSignal, remainingMs(deadline)),
			signal: deadline,
			pollMs: SEARCH_INTERVAL_MS,
			readFirst: true,
		});
	const limitMs = Math.max(0, remainingSearchMs()) + LAST_SEARCH_MS;
	return await withDeadline(limitMs, signal, searchRepeatedly).catch(async (error: unknown) => {
		// If some of the files are missing, the user still gets the others.
		if (foundFiles.length > 0) return foundFiles;
		if (isFailure(error, 'generationFailed')) throw error;
		// The generation may have been charged even if the history could not be read or the run was canceled.
		if (!isFailure(error, 'timedOut', 'streamLost'))
			throw withDefaultFacts(error, { mayBeCharged: true });
		const requests = [...ledger.generations(), ...otherRequests];
		const candidates = candidatesFor(request, requests, unmatchedEntries).map((entry) => ({
			// A data: URL contains the whole file, so it is not shown.
			id: entry.id ?? asWebUrl(entry.files[0]?.fileUrl ?? '')?.href ?? 'one without an ID',
			createdAt: asText(entry.record.created_at),
		}));
		// `streamFailure` may be about one of several videos. The others may be among the candidates, or there was no
		// time to find them.
		const mayHaveOthers = signal.aborted || candidates.length > 0;
		const failure =
			isFailure(streamFailure, 'generationFailed') && mayHaveOthers
				? new Failure('streamLost', { reason: streamFailure.facts.reason })
				: streamFailure;
		throw failure.withDefaults({ candidates });
	});

	/**
	 * Reads the history once, and looks for the files. `msUntilDeadline` is the time until the deadline, in ms. Throws
	 * a Failure if the search is over or the generation has failed.
	 */
	async function search(
		signal: AbortSignal,
		msUntilDeadline: number,
	): Promise<ReadResult<GeneratedFile[]>> {
		const isLastSearch = Math.min(remainingSearchMs(), msUntilDeadline) < SEARCH_INTERVAL_MS;
		ledger.add(request);
		const ownRequests = ledger.generations();
		const relevantRequests = [request, ...ownRequests.filter(mayShareEntriesWith(request))];
		const since = Math.min(...relevantRequests.map(earliestEntryTime));
		// The last search needs a new snapshot, because no later search would find a result that an older snapshot
		// lacks.
		const minReadAt = isLastSearch ? monotonicNow() - 1000 : undefined;
		const entries = await readHistorySince(api, since, signal, minReadAt).catch(
			(error: unknown) => {
				if (remainingSearchMs() <= 0) throw new Failure('streamLost');
				// A replica of the service that lags behind may respond with 404 for minutes, so the search goes on.
				throw isFailure(error, 'notFound') ? error.withDefaults({ transient: true }) : error;
			},
		);
		otherRequests = requestsOfOtherTokens(request.prompt, ownRequests, entries);
		const requests = [...ownRequests, ...otherRequests];
		const matched = matchHistory(request, requests, entries, api.credential.accountKey);
		const failedEntries = matched.filter((entry) => entry.hasFailed);
		unmatchedEntries = failedEntries.length < matched.length ? [] : entries;
		foundFiles = [...receivedFiles, ...furtherFilesOf(matched, receivedFiles)].slice(0, MAX_FILES);
		const failedCount = Math.max(failedEntries.length, request.failedIds.length);
		if (foundFiles.length + failedCount >= requestedCount) {
			if (foundFiles.length > 0) return { done: true, value: foundFiles };
			const { facts } = failureOfAnswer(api.credential.redact.value(failedEntries[0]!.record));
			throw new Failure('generationFailed', { reason: facts.reason, meaning: facts.meaning });
		}
		if (remainingSearchMs() <= 0) throw new Failure('streamLost');
		// Some time must be left to download the files before the deadline.
		if (foundFiles.length > 0 && msUntilDeadline < SEARCH_INTERVAL_MS)
			return { done: true, value: foundFiles };
		return { done: false };
	}
}

/**
 * Returns the requests with this prompt that were sent with another token of the same account. A file of theirs in the
 * history proves that it is the same account. Their ids don't prove that, because another service may use the same ids.
 */
function requestsOfOtherTokens(
	prompt: string,
	ownRequests: MediaRequest[],
	entries: HistoryEntry[],
): MediaRequest[] {
	const identifiers = new Set(entries.flatMap((entry) => entry.identifiers));
	const ownKeys = new Set(ownRequests.map(({ key }) => key));
	const isListed = (file: GeneratedFile) =>
		identifiers.has(file.fileUrl) || identifiers.has(pathOf(file));
	return allRequests()
		.filter((other) => other.prompt === prompt && other.files.some(isListed))
		.filter(({ key }) => !ownKeys.has(key));
}

/**
 * Returns the files of `entries` that are not among `receivedFiles`. All entries are looked at together, because the id
 * of a job may identify each of them.
 */
function furtherFilesOf(entries: HistoryEntry[], receivedFiles: GeneratedFile[]): GeneratedFile[] {
	// A received file that only an entry without a file identifies is not in the history yet.
	const withFiles = entries.filter((entry) => entry.files.length > 0);
	const files = withFiles.flatMap((entry) => entry.files);
	const identifiers = new Set(withFiles.flatMap((entry) => entry.identifiers));
	const received = receivedFiles.filter((file) =>
		identifiersOf(file).some((identifier) => identifiers.has(identifier)),
	);
	const known = new Set(received.map((file) => sameFileIn(files, received, file)));
	const others = files.filter((file) => !known.has(file));
	// Received files that can't be told apart are among the others. They are assumed to come first.
	return others.slice(others.length - (files.length - received.length));
}

/**
 * Finds the current URL of a file in the history, because signed URLs expire. Resolves with the renewed file, or with
 * `file` itself if it is not surely in the history. Never rejects.
 */
export async function findRenewedFile(
	api: Api,
	request: MediaRequest,
	file: GeneratedFile,
	signal: AbortSignal,
): Promise<GeneratedFile> {
	return await withDeadline(RENEWAL_MS, signal, async (deadline) => {
		const entries = await readHistorySince(api, earliestEntryTime(request), deadline);
		// The ledger has a copy of the request, without the bytes of inline files.
		const requests = ledgerOf(api.credential).generations();
		const others = requests.filter(({ key }) => key !== request.key);
		const ownersByEntry = identifyOwners(entries, [request, ...others]);
		const ownEntries = entries.filter(isOwnedBy(request, ownersByEntry));
		const listedFiles = ownEntries.flatMap(({ files }) => files);
		return sameFileIn(listedFiles, request.files, file) ?? file;
	}).catch(() => file);
}

/**
 * Returns `file`, one of `ownFiles`, as the history lists it among `listedFiles`; undefined if it is not surely there.
 * Its URL may have been signed anew.
 */
function sameFileIn(
	listedFiles: GeneratedFile[],
	ownFiles: GeneratedFile[],
	file: GeneratedFile,
): GeneratedFile | undefined {
	const sameUrl = listedFiles.filter(({ fileUrl }) => fileUrl === file.fileUrl);
	if (sameUrl.length === 1) return sameUrl[0];
	const listedPaths = new Set(listedFiles.map(pathOf));
	const keptPaths = new Set(ownFiles.map(pathOf).filter((path) => listedPaths.has(path)));
	// Files whose path was signed anew can't be told apart by it.
	const keptPathOf = (some: GeneratedFile) => (keptPaths.has(pathOf(some)) ? pathOf(some) : '');
	const hasSamePath = (other: GeneratedFile) => keptPathOf(other) === keptPathOf(file);
	const ownIds = new Set(ownFiles.map(({ id }) => id));
	// A file without an id is none of those that have one.
	const hasSameId = ({ id }: GeneratedFile) =>
		id === file.id || (file.id === undefined && !ownIds.has(id));
	let [received, listed] = [ownFiles.filter(hasSamePath), listedFiles.filter(hasSamePath)];
	// The history may have other ids than the stream.
	if (listed.some(hasSameId))
		[received, listed] = [received.filter(hasSameId), listed.filter(hasSameId)];
	// If the history lacks one of them, their order does not tell which.
	return listed.length < received.length ? undefined : listed[received.indexOf(file)];
}

const pathOf = ({ fileUrl }: GeneratedFile) => withoutQuery(fileUrl);
