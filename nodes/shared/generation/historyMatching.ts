import { ASPECT_RATIO_ALIASES, ASPECT_RATIOS, MEDIA } from '../contract';
import { asText, hasNoZone, isSameText } from '../parsing/values';
import { apparentKind, topLevelType } from '../parsing/fileType';
import { countFiles, type HistoryEntry } from './historyEntries';
import { identifiersOfRequest, type MediaRequest } from './requestLedger';

/** How long after the search for its result a generation may still finish, in ms. */
export const LATE_RESULT_MS = 20 * 60 * 1000;
/**
 * The tolerance when times of the service are compared with ours, in ms. `created_at` and Date headers are truncated to
 * whole seconds.
 */
const CLOCK_TOLERANCE_MS = 2000;
/** The greatest difference between a zone's time and UTC, in ms. */
const MAX_ZONE_OFFSET_MS = 14 * 3_600_000;
/** An id with at least this many characters is a UUID or the like, or a URL: no service gives it to two things. */
const MIN_UNIQUE_CHARS = 16;

/** Returns the earliest time at which an entry of this request may have been created, in ms since 1970 by our clock. */
export const earliestEntryTime = ({ sentAt }: MediaRequest): number => sentAt - CLOCK_TOLERANCE_MS;

/**
 * Returns a predicate for requests. It is true for a request that could own the same entries as `request`: some of its
 * files are still missing, and its search goes on or ended late enough.
 */
const isCompetingWith =
	(request: MediaRequest) =>
	({ requestedCount, announcedIds, files, searchUntil = Infinity }: MediaRequest): boolean =>
		requestedCount > Math.max(announcedIds.length, files.length) &&
		searchUntil + LATE_RESULT_MS >= earliestEntryTime(request);

/**
 * Returns a predicate for requests. It is true for a request that may have got an entry of `request` under another id
 * and URL: it has a file, and its search had not ended when `request` was sent.
 */
const mayOwnUnrecognizedEntry =
	(request: MediaRequest) =>
	({ files, searchUntil = Infinity }: MediaRequest): boolean =>
		files.length > 0 && searchUntil + CLOCK_TOLERANCE_MS >= earliestEntryTime(request);

/** Returns a predicate for requests: true for those that must be known to tell which entries are `request`'s. */
export const mayShareEntriesWith = (request: MediaRequest) => (other: MediaRequest) =>
	other.prompt === request.prompt &&
	(isCompetingWith(request)(other) || mayOwnUnrecognizedEntry(request)(other));

/**
 * Returns the history entries of a request: first those that an id or a URL identifies, then those that are matched by
 * prompt.
 *
 * - An announced id, or the URL of a file that has arrived, proves that an entry belongs to the request (see
 *   `identifyOwners`).
 * - Another entry with exactly the request's prompt matches only if there is no doubt: no request with other content, or
 *   with an open stream, could own it, it can't be a file that a request has already got under another id and URL, and
 *   such entries have no more files than are missing.
 * - Requests with the same content are interchangeable. They get the entries in the order in which they were sent.
 * - A request with hidden inputs, such as images, matches by id or URL alone, because the same prompt is often used with
 *   many images.
 * - A request that was sent with another token matches by id or URL alone, because that token may belong to another
 *   account. So do the requests that compete with it.
 *
 * @param requests all known requests for generations, `request` included, in the order in which they were sent
 * @param entries one snapshot of the history, oldest first, with times by our clock
 * @param ownAccountKey the `accountKey` of the credential that has read the history
 */
export function matchHistory(
	request: MediaRequest,
	requests: MediaRequest[],
	entries: HistoryEntry[],
	ownAccountKey: string,
): HistoryEntry[] {
	const requestsWithPrompt = requests.filter(({ prompt }) => prompt === request.prompt);
	const ownersByEntry = identifyOwners(entries, requests);
	const entriesOf = (owner: MediaRequest) => entries.filter(isOwnedBy(owner, ownersByEntry));
	const listedFilesOf = (owner: MediaRequest) => entriesOf(owner).flatMap(({ files }) => files);
	// A failed entry may belong to a request of another process: if it counted as the entry of a request here, a retry
	// would pay for this request again.
	const unclaimedEntries = entries.filter(
		(entry) => entry.prompt === request.prompt && !entry.hasFailed && !ownersByEntry.has(entry),
	);
	const couldBeOwn = couldBelongTo(request);
	const possibleEntries = unclaimedEntries.filter(couldBeOwn);

	/** Returns how many of the requested files of `owner` are still missing. The number may be negative. */
	const missingFileCountOf = (owner: MediaRequest) => {
		const ownEntries = entriesOf(owner);
		const { requestedCount, announcedIds, files, failedIds } = owner;
		// A file that has failed is not missing. If it were, a file of another process could take its place.
		const settledCount = Math.max(files.length, listedFilesOf(owner).length) + failedIds.length;
		// An error without an id may be about an announced file, but that is only known once its entry has failed.
		const isUnknownFailed =
			failedIds.includes(null) && !ownEntries.some((entry) => entry.hasFailed);
		const announcedCount = announcedIds.length + (isUnknownFailed ? 1 : 0);
		return requestedCount - Math.max(countFiles(ownEntries), announcedCount, settledCount);
	};
	/**
	 * Each request that could own one of the possible entries, in the order in which they were sent. A request is
	 * repeated for each file that it misses.
	 */
	const claimants = requestsWithPrompt
		.filter(isCompetingWith(request))
		.filter((owner) => possibleEntries.some(couldBelongTo(owner)))
		.flatMap((owner) => Array<MediaRequest>(Math.max(0, missingFileCountOf(owner))).fill(owner));
	/**
	 * Each entry that one of the requests in `claimants` could own, oldest first. An entry is repeated for each of its
	 * files.
	 */
	const claimableEntries = unclaimedEntries
		.filter((entry) => claimants.some((owner) => couldBelongTo(owner)(entry)))
		.flatMap((entry) => Array<HistoryEntry>(countFiles([entry])).fill(entry));
	const isInterchangeable = (owner: MediaRequest) =>
		owner.searchUntil !== undefined &&
		owner.contentDigest === request.contentDigest &&
		owner.accountKey === ownAccountKey;
	/** The requests with a file that no entry shows. */
	const ownersOfUnrecognizedEntries = requestsWithPrompt
		.filter(mayOwnUnrecognizedEntry(request))
		.filter((owner) => listedFilesOf(owner).length < owner.files.length);
	const isOwn = (entry: HistoryEntry) =>
		couldBeOwn(entry) &&
		// The first claimant gets the first entry, and so on. An entry with files for two requests belongs to one of
		// them, but nobody knows to which.
		claimableEntries.every((other, index) => other !== entry || claimants[index] === request) &&
		claimants.every((owner) => isInterchangeable(owner) || !couldBelongTo(owner)(entry)) &&
		!ownersOfUnrecognizedEntries.some((owner) => couldBelongTo(owner)(entry));

	const provenEntries = entriesOf(request);
	if (request.hasHiddenInputs || claimableEntries.length > claimants.length) return provenEntries;
	return [...provenEntries, ...new Set(claimableEntries.filter(isOwn))];
}

/**
 * Returns the entries that may belong to `request`, but also to another request, newest first. An entry without a time
 * or a prompt may belong to any request. `requests` are all that may have claimed one of them, `request` included.
 */
export function candidatesFor(
	request: MediaRequest,
	requests: MediaRequest[],
	entries: HistoryEntry[],
): HistoryEntry[] {
	const ownersByEntry = identifyOwners(entries, requests);
	return (
		entries
			.filter(isCandidateFor(request))
			.filter((entry) => !entry.hasFailed && ownersByEntry.get(entry)?.size !== 1)
			// The service may write a prompt for a request that has none.
			.filter(({ prompt }) => !prompt || !request.prompt || isSameText(prompt, request.prompt))
			.reverse()
	);
}

/**
 * Returns a predicate for history entries: true for one that belongs to `request`. With a proof, it may also belong to
 * others, because a service may answer equal requests with one file.
 */
export const isOwnedBy = (
	request: MediaRequest,
	ownersByEntry: Map<HistoryEntry, Set<MediaRequest>>,
) => {
	const proofs = identifiersOfRequest(request).filter(isProof);
	return (entry: HistoryEntry): boolean => {
		const owners = ownersByEntry.get(entry);
		if (!owners?.has(request)) return false;
		return owners.size === 1 || proofs.some((proof) => entry.identifiers.includes(proof));
	};
};

const isProof = ({ length }: string) => length >= MIN_UNIQUE_CHARS;

/**
 * Returns the owners of each entry that has one, as an id or a URL identifies them. `requests` are all known requests for
 * generations, because they also show what is surely another's.
 *
 * - A UUID or a URL is a proof, because no service gives it to two things.
 * - A shorter id may be the number of something else, because a service may number its jobs, its files, or each kind of
 *   them separately. It counts unless a proof shows another owner, or the entry is surely another's, and not if it shows
 *   more entries than the request asked for.
 *
 * An entry with several owners, without a proof, belongs to one of them, but nobody knows to which.
 */
export function identifyOwners(
	entries: HistoryEntry[],
	requests: MediaRequest[],
): Map<HistoryEntry, Set<MediaRequest>> {
	// The entries are indexed, not the requests, because thousands of requests may be known.
	const entriesByIdentifier = new Map<string, Set<HistoryEntry>>();
	for (const entry of entries) {
		for (const one of entry.identifiers) addTo(entriesByIdentifier, one, entry);
	}
	const ownersByEntry = new Map<HistoryEntry, Set<MediaRequest>>();
	const numberedEntries = new Map<MediaRequest, Set<HistoryEntry>>();
	const prompts = new Set(requests.map(({ prompt }) => prompt));
	for (const request of requests) {
		for (const one of identifiersOfRequest(request)) {
			for (const entry of entriesByIdentifier.get(one) ?? []) {
				if (isProof(one)) addTo(ownersByEntry, entry, request);
				else if (!isSurelyOfAnother(request, entry, prompts))
					addTo(numberedEntries, request, entry);
			}
		}
	}
	const provenEntries = new Set(ownersByEntry.keys());
	for (const [request, numbered] of numberedEntries) {
		const ownEntries = [...numbered].filter((entry) => !provenEntries.has(entry));
		if (ownEntries.filter(({ hasFailed }) => !hasFailed).length > request.requestedCount) continue;
		for (const entry of ownEntries) addTo(ownersByEntry, entry, request);
	}
	return ownersByEntry;
}

function addTo<Key, Value>(sets: Map<Key, Set<Value>>, key: Key, value: Value): void {
	const set = sets.get(key);
	if (set) set.add(value);
	else sets.set(key, new Set([value]));
}

/**
 * True if the kind or the shape of an entry contradicts `request`, and if it has another prompt and is older than the
 * request, or another request was sent with exactly that prompt. Otherwise, the service may have changed the prompt.
 */
function isSurelyOfAnother(
	request: MediaRequest,
	entry: HistoryEntry,
	knownPrompts: Set<string>,
): boolean {
	const { prompt, createdAt } = entry;
	if (!fitsKindAndRatio(request, entry)) return true;
	if (['', request.prompt].includes(prompt) || isSameText(prompt, request.prompt)) return false;
	const isOlder = createdAt < earliestEntryTime(request) - zoneToleranceMs(entry);
	return isOlder || knownPrompts.has(prompt);
}

/**
 * Returns a predicate for history entries. It is true if the time, the kind and the aspect ratio of the entry do not
 * contradict `owner`, and false if the entry has no time. The prompt is not compared.
 */
const couldBelongTo = (owner: MediaRequest) => (entry: HistoryEntry) =>
	isInTime(owner, entry) && fitsKindAndRatio(owner, entry);

/**
 * Returns a predicate for history entries. It is true for an entry to show to the user as the possible result of
 * `owner`. That includes an entry without a time. The prompt is not compared.
 */
const isCandidateFor = (owner: MediaRequest) => (entry: HistoryEntry) => {
	const mayBeInTime =
		Number.isNaN(entry.createdAt) || isInTime(owner, entry, zoneToleranceMs(entry));
	return mayBeInTime && fitsKindAndRatio(owner, entry);
};

/** By how much the time of an entry may be wrong, in ms: without a zone, it may be the local time of anywhere. */
const zoneToleranceMs = ({ record }: HistoryEntry) =>
	hasNoZone(record.created_at) ? MAX_ZONE_OFFSET_MS : 0;

function isInTime(owner: MediaRequest, { createdAt }: HistoryEntry, toleranceMs = 0): boolean {
	const { searchUntil = Infinity } = owner;
	return (
		createdAt >= earliestEntryTime(owner) - toleranceMs &&
		createdAt <= searchUntil + LATE_RESULT_MS + toleranceMs
	);
}

/** Returns false if the kind or the aspect ratio of the entry contradicts `owner`. */
function fitsKindAndRatio(owner: MediaRequest, { record, files }: HistoryEntry): boolean {
	const { aspectRatio, kind } = owner;
	const rawRatio = asText(record.aspect_ratio) ?? '';
	const ratio =
		ASPECT_RATIOS.find((known) => known === rawRatio) ??
		ASPECT_RATIO_ALIASES.get(rawRatio.toLowerCase());
	if (ratio && aspectRatio && ratio !== aspectRatio) return false;
	const entryKind = apparentKind(record, files[0]?.fileUrl) ?? kind;
	// Only the types of the files are compared, because a service may name a kind as this package names another one.
	return topLevelType(MEDIA[entryKind].mimeType) === topLevelType(MEDIA[kind].mimeType);
}
