import { ASPECT_RATIO_ALIASES, ASPECT_RATIOS, type GenerationRequest } from '../contract';
import { asText } from '../parsing/values';
import { declaredKind } from '../parsing/fileType';
import { identifiersOf } from '../parsing/responses';
import { countFiles, hasOneOf, type HistoryEntry } from './historyEntries';

/** What of the history belongs to a request. */
export interface Match {
	/** Its own entries, the oldest first. */
	matched: HistoryEntry[];
	/** Entries that may be its own or another's, the newest first. */
	candidates: HistoryEntry[];
}

/** How long after the search for it has ended a generation may still finish, in ms. */
export const LATE_RESULT_MS = 20 * 60 * 1000;
/** `created_at` and Date headers are cut to the second. */
const CLOCK_TOLERANCE_MS = 2000;

/** How far back a request's entries may go, in ms since 1970 by our clock. */
export const earliestEntryTime = ({ sentAt }: GenerationRequest): number =>
	sentAt - CLOCK_TOLERANCE_MS;

/** Whether another lacks a file of unknown id, and was not given up long before `request` was sent. */
export const isOpenBeside =
	(request: GenerationRequest) =>
	({ requestedCount, announcedIds, files, searchUntil = Infinity }: GenerationRequest): boolean =>
		requestedCount > Math.max(announcedIds.length, files.length) &&
		searchUntil + LATE_RESULT_MS >= earliestEntryTime(request);

/**
 * What of `entries`, one look into the history, the oldest first, belongs to `request`; `alike` are all
 * that are known with its prompt. An id that was told is proof. Where none was, its own are the entries of
 * exactly its prompt, kind and shape, made since it was sent and taken by nobody, if no other open request
 * can have made one of them; equal requests share, in the order they were sent. With images nothing but an
 * id proves: the same words go with a hundred pictures.
 */
export function matchHistory(
	request: GenerationRequest,
	alike: GenerationRequest[],
	entries: HistoryEntry[],
): Match {
	const proven = entries.filter(matchesById(request));
	const others = alike.filter((other) => other !== request);
	const taken = new Set(others.flatMap(identifiersFor));
	const unclaimed = entries
		.filter((entry) => entry.prompt === request.prompt && !proven.includes(entry))
		// One that failed may be what was told to another as an error.
		.filter((entry) => !hasOneOf(entry, taken) && !(entry.failed && others.length > 0));
	/** The newest first: most others may have made that, too. */
	const possible = unclaimed.filter(couldBelongTo(request)).reverse();

	const byIdentifier = new Map(
		entries.flatMap((entry) => entry.identifiers.map((identifier) => [identifier, entry] as const)),
	);
	const missingFilesOf = (owner: GenerationRequest) => {
		const ownEntries = new Set(
			identifiersFor(owner).flatMap((identifier) => byIdentifier.get(identifier) ?? []),
		);
		return (
			owner.requestedCount -
			Math.max(countFiles([...ownEntries]), owner.announcedIds.length, owner.files.length)
		);
	};
	/** Whoever may have made one of `mine`, once for each file that it lacks, in the order they were sent. */
	const claimants = alike
		.filter((owner) => isOpenBeside(request)(owner) && possible.some(couldBelongTo(owner)))
		.flatMap((owner) => Array<GenerationRequest>(Math.max(0, missingFilesOf(owner))).fill(owner));
	/** What they may have made, once for each file. */
	const claimable = unclaimed
		.filter((entry) => claimants.some((owner) => couldBelongTo(owner)(entry)))
		.flatMap((entry) => Array<HistoryEntry>(countFiles([entry])).fill(entry));
	const isUnambiguous =
		!request.withImages &&
		claimants.every((owner) => owner.searchUntil !== undefined && isEqual(owner, request)) &&
		claimable.length <= claimants.length;

	const allotted = isUnambiguous
		? claimable.filter((_, index) => claimants[index] === request)
		: [];
	const matched = [...proven, ...new Set(allotted.filter((entry) => possible.includes(entry)))];
	return { matched, candidates: matched.length > 0 ? [] : possible };
}

/** Their files are interchangeable. */
const isEqual = (a: GenerationRequest, b: GenerationRequest) =>
	a.withImages === b.withImages && a.kind === b.kind && a.aspectRatio === b.aspectRatio;

/** Ids that were told to a request, and the marks of the files that it has. */
const identifiersFor = ({ announcedIds, files }: GenerationRequest) => [
	...announcedIds,
	...identifiersOf(files),
];

/** Its id was told to `owner`, or it holds a file that `owner` has. */
export function matchesById(owner: GenerationRequest): (entry: HistoryEntry) => boolean {
	const identifiers = new Set(identifiersFor(owner));
	return (entry) => hasOneOf(entry, identifiers);
}

/** It was made while `owner` was under way, and nothing speaks against it. */
const couldBelongTo =
	(owner: GenerationRequest) =>
	({ createdAt, record, files }: HistoryEntry): boolean => {
		const { aspectRatio, kind, searchUntil = Infinity } = owner;
		const isInTime =
			createdAt >= earliestEntryTime(owner) && createdAt <= searchUntil + LATE_RESULT_MS;
		if (!isInTime) return false;
		const rawRatio = asText(record.aspect_ratio) ?? '';
		const ratio =
			ASPECT_RATIOS.find((known) => known === rawRatio) ??
			ASPECT_RATIO_ALIASES.get(rawRatio.toLowerCase());
		if (ratio && aspectRatio && ratio !== aspectRatio) return false;
		return (declaredKind(record, files[0]?.fileUrl ?? 'https://localhost') ?? kind) === kind;
	};
