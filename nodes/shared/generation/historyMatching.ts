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
const LINGERS_MS = 20 * 60 * 1000;
/** `created_at` and Date headers are cut to the second. */
const CLOCK_TOLERANCE_MS = 2000;

/** How far back a request's entries may go, in ms since 1970 by our clock. */
export const sinceOf = ({ sentAt }: SentRequest): number => sentAt - CLOCK_TOLERANCE_MS;

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
	const taken = new Set(others.flatMap(({ told, files }) => [...told, ...marksOf(files)]));
	const free = entries
		.filter((entry) => entry.prompt === request.prompt && !proven.includes(entry))
		// One that failed may be what was told to another as an error.
		.filter((entry) => !isKnown(entry, taken) && !(entry.failed && others.length > 0));
	const mine = free.filter(mayBeOf(request));

	/** Files of which not even an id is known. */
	const lackOf = (owner: SentRequest) => {
		const known = countFiles(entries.filter(isProvenFor(owner)));
		return owner.expected - Math.max(known, owner.told.length, owner.files.length);
	};
	const rivals = others.filter((other) => mine.some(mayBeOf(other)) && lackOf(other) > 0);
	const open = alike.filter((owner) => owner === request || rivals.includes(owner));
	const pool = free.filter((entry) => open.some((owner) => mayBeOf(owner)(entry)));
	const lack = (owners: SentRequest[]) => owners.reduce((sum, owner) => sum + lackOf(owner), 0);
	const isClear =
		!request.withImages &&
		rivals.every((rival) => rival.searchUntil !== undefined && isEqual(rival, request)) &&
		countFiles(pool) <= lack(open);

	const before = lack(open.slice(0, open.indexOf(request)));
	/** One for each file. */
	const places = pool.flatMap((entry) => Array.from({ length: countFiles([entry]) }, () => entry));
	const share = places.slice(before, before + Math.max(0, lackOf(request)));
	const shared = isClear ? mine.filter((entry) => share.includes(entry)) : [];
	const own = [...proven, ...shared];
	return { own, candidates: own.length > 0 ? [] : mine.reverse() };
}

/** Their files are interchangeable. */
const isEqual = (a: SentRequest, b: SentRequest) =>
	a.withImages === b.withImages && a.kind === b.kind && a.aspectRatio === b.aspectRatio;

/** Its id was told to `owner`, or it holds a file that `owner` has. */
function isProvenFor({ told, files }: SentRequest): (entry: HistoryEntry) => boolean {
	const marks = new Set([...told, ...marksOf(files)]);
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
