import { ASPECT_RATIO_ALIASES, ASPECT_RATIOS, type SentRequest } from '../contract';
import { asText } from '../parsing/coerce';
import { kindSaid } from '../parsing/fileType';
import { marksOf } from '../parsing/responses';
import { countFiles, isKnown, type HistoryEntry } from './historyEntries';

/** What of the history belongs to a request. */
export interface Match {
	/** Its own entries, the oldest first. */
	own: HistoryEntry[];
	/** Entries that may be its own or another's, the newest first. */
	candidates: HistoryEntry[];
}

/** How long after the search for it has ended a generation may still finish, in ms. */
export const LINGERS_MS = 20 * 60 * 1000;
/** `created_at` and Date headers are cut to the second. */
const CLOCK_TOLERANCE_MS = 2000;

/** How far back a request's entries may go, in ms since 1970 by our clock. */
export const sinceOf = ({ sentAt }: SentRequest): number => sentAt - CLOCK_TOLERANCE_MS;

/** Whether another lacks a file of unknown id, and was not given up long before `request` was sent. */
export const isOpenBeside =
	(request: SentRequest) =>
	({ expected, told, files, searchUntil = Infinity }: SentRequest): boolean =>
		expected > Math.max(told.length, files.length) && searchUntil + LINGERS_MS >= sinceOf(request);

/**
 * What of `entries`, one look into the history, the oldest first, belongs to `request`; `alike` are all
 * that are known with its prompt. An id that was told is proof. Where none was, its own are the entries of
 * exactly its prompt, kind and shape, made since it was sent and taken by nobody, if no other open request
 * can have made one of them; equal requests share, in the order they were sent. With images nothing but an
 * id proves: the same words go with a hundred pictures.
 */
export function matchHistory(
	request: SentRequest,
	alike: SentRequest[],
	entries: HistoryEntry[],
): Match {
	const proven = entries.filter(isProvenFor(request));
	const others = alike.filter((other) => other !== request);
	const taken = new Set(others.flatMap(marksFor));
	const free = entries
		.filter((entry) => entry.prompt === request.prompt && !proven.includes(entry))
		// One that failed may be what was told to another as an error.
		.filter((entry) => !isKnown(entry, taken) && !(entry.failed && others.length > 0));
	/** The newest first: most others may have made that, too. */
	const mine = free.filter(mayBeOf(request)).reverse();

	const marked = new Map(
		entries.flatMap((entry) => entry.marks.map((mark) => [mark, entry] as const)),
	);
	const lackOf = (owner: SentRequest) => {
		const own = new Set(marksFor(owner).flatMap((mark) => marked.get(mark) ?? []));
		return owner.expected - Math.max(countFiles([...own]), owner.told.length, owner.files.length);
	};
	/** Whoever may have made one of `mine`, once for each file that it lacks, in the order they were sent. */
	const open = alike
		.filter((owner) => isOpenBeside(request)(owner) && mine.some(mayBeOf(owner)))
		.flatMap((owner) => Array<SentRequest>(Math.max(0, lackOf(owner))).fill(owner));
	/** What they may have made, once for each file. */
	const pool = free
		.filter((entry) => open.some((owner) => mayBeOf(owner)(entry)))
		.flatMap((entry) => Array<HistoryEntry>(countFiles([entry])).fill(entry));
	const isClear =
		!request.withImages &&
		open.every((owner) => owner.searchUntil !== undefined && isEqual(owner, request)) &&
		pool.length <= open.length;

	const share = isClear ? pool.filter((_, index) => open[index] === request) : [];
	const own = [...proven, ...new Set(share.filter((entry) => mine.includes(entry)))];
	return { own, candidates: own.length > 0 ? [] : mine };
}

/** Their files are interchangeable. */
const isEqual = (a: SentRequest, b: SentRequest) =>
	a.withImages === b.withImages && a.kind === b.kind && a.aspectRatio === b.aspectRatio;

/** Ids that were told to a request, and the marks of the files that it has. */
const marksFor = ({ told, files }: SentRequest) => [...told, ...marksOf(files)];

/** Its id was told to `owner`, or it holds a file that `owner` has. */
export function isProvenFor(owner: SentRequest): (entry: HistoryEntry) => boolean {
	const marks = new Set(marksFor(owner));
	return (entry) => isKnown(entry, marks);
}

/** It was made while `owner` was under way, and nothing speaks against it. */
const mayBeOf =
	(owner: SentRequest) =>
	({ createdAt, record, files }: HistoryEntry): boolean => {
		const { aspectRatio, kind, searchUntil = Infinity } = owner;
		const isInTime = createdAt >= sinceOf(owner) && createdAt <= searchUntil + LINGERS_MS;
		if (!isInTime) return false;
		const said = asText(record.aspect_ratio) ?? '';
		const ratio =
			ASPECT_RATIOS.find((known) => known === said) ?? ASPECT_RATIO_ALIASES.get(said.toLowerCase());
		if (ratio && aspectRatio && ratio !== aspectRatio) return false;
		return (kindSaid(record, files[0]?.fileUrl ?? 'https://localhost') ?? kind) === kind;
	};
