import {
	ASPECT_RATIO_ALIASES,
	ASPECT_RATIOS,
	type GeneratedFile,
	type SentRequest,
} from '../contract';
import { countFiles, isKnown, type HistoryEntry } from './historyEntries';
import { asText } from '../parsing/coerce';
import { kindSaid } from '../parsing/fileType';

/** A request of this process, until some time after it is over. */
export interface Claim {
	request: SentRequest;
	/** `lost`: only the history can tell more; `over`: it has all that it will get. */
	state: 'streaming' | 'lost' | 'over';
	/** Entries made later are not its own, in ms since 1970 by our clock. */
	until: number;
	/** When nobody waited for it any more, in ms since 1970. */
	closedAt?: number;
	/** The files that it has, and how they are recognised. */
	files: GeneratedFile[];
	marks: ReadonlySet<string>;
}

/** What of the history belongs to a request. */
export interface Verdict {
	/** Its own entries, the oldest first. */
	own: HistoryEntry[];
	/** Entries that may be its own or another's, in the order in which a person will see them. */
	candidates: HistoryEntry[];
	/** False while an id was told whose entry is not there: what only the prompt speaks for can wait. */
	isCertain: boolean;
	/** No later look can tell more. */
	isHopeless: boolean;
}

/** How long the prompt alone proves nothing where images are part of the request, in ms. */
const IMAGES_MS = 300_000;
/** `created_at` and Date headers are cut to the second. */
const CLOCK_TOLERANCE_MS = 2000;

/** How far back a request's entries may go, in ms since 1970 by the service's clock. */
export const sinceOf = ({ sentAt, clockOffsetMs }: SentRequest, offsetMs: number): number =>
	sentAt + (clockOffsetMs ?? offsetMs) - CLOCK_TOLERANCE_MS;

/**
 * What of `all`, the entries of one look, the oldest first, belongs to `claim`, one of the account's
 * `claims`. An id that was told is proof. Else its own are the entries of exactly its prompt, kind and
 * shape, made since it was sent and taken by nobody, if they are no more than it lacks, and no other open
 * request can have made one of them; equal requests share, in the order they were sent. `now` is in ms
 * since 1970 by the service's clock.
 */
export function matchHistory(
	claim: Claim,
	all: HistoryEntry[],
	claims: Claim[],
	now: number,
): Verdict {
	const { request, files, marks } = claim;
	const proven = all.filter(isProvenFor(claim));
	const provenOnly = { own: proven, candidates: [], isCertain: true, isHopeless: false };
	if (request.expected <= countFiles(proven)) return provenOnly;

	const others = claims.filter((other) => other !== claim);
	const taken = new Set(others.flatMap((other) => [...other.request.told, ...other.marks]));
	const isTheirs = (entry: HistoryEntry) =>
		isKnown(entry, taken) || (entry.failed && others.some((other) => hasFailedAs(other)(entry)));
	const free = all
		.filter((entry) => entry.prompt === promptOf(claim) && !isProvenFor(claim)(entry))
		.filter((entry) => !isTheirs(entry));
	const mine = free.filter(mayBeOf(claim));
	if (mine.length === 0) return provenOnly;

	// The open requests that may have made one of these, and all that they may have made.
	const lackOf = (owner: Claim) =>
		owner.request.expected - countFiles(all.filter(isProvenFor(owner)));
	const isRival = (other: Claim) =>
		other.state !== 'over' && lackOf(other) > 0 && mine.some(mayBeOf(other));
	const rivals = others.filter((other) => promptOf(other) === promptOf(claim)).filter(isRival);
	const open = claims.filter((owner) => owner === claim || rivals.includes(owner));
	const pool = free.filter((entry) => open.some((owner) => mayBeOf(owner)(entry)));
	const surplus = countFiles(pool) - open.reduce((sum, owner) => sum + lackOf(owner), 0);
	const areEqual = rivals.every((rival) => isEqual(rival.request, request));
	const areLost = rivals.every(({ state }) => state === 'lost');
	const isCertain = request.told.every((told) => all.some(({ id }) => id === told));
	// The same words go with a hundred pictures.
	const isTooSoon = request.withImages && (!isCertain || now < sinceOf(request, 0) + IMAGES_MS);
	// If its files are here under other names, these entries may be no further ones.
	const areNamed = countFiles(all.filter((entry) => isKnown(entry, marks))) >= files.length;
	const isClear = areEqual && areLost && surplus <= 0 && areNamed && !isTooSoon;
	const share = isClear ? shareOf(claim, open, pool, lackOf) : [];
	return {
		own: all.filter((entry) => proven.includes(entry) || share.includes(entry)),
		candidates: share.length > 0 ? [] : mine.sort((a, b) => a.place - b.place),
		isCertain,
		isHopeless: areLost && isCertain && (areEqual ? surplus > 0 : surplus >= 0),
	};
}

const promptOf = ({ request }: Claim) => request.prompt.trim();

/** Their files are interchangeable. */
const isEqual = (a: SentRequest, b: SentRequest) =>
	!a.withImages && !b.withImages && a.kind === b.kind && a.aspectRatio === b.aspectRatio;

/** An event told its id to `owner`, or it holds a file that `owner` has. */
const isProvenFor =
	({ request, marks }: Claim) =>
	(entry: HistoryEntry) =>
		request.told.includes(entry.id ?? '') || isKnown(entry, marks);

/** `other` is known to have failed, which a failed entry tells of. */
const hasFailedAs = (other: Claim) => (entry: HistoryEntry) =>
	other.state === 'over' &&
	other.files.length === 0 &&
	entry.prompt === promptOf(other) &&
	mayBeOf(other)(entry);

/** It was made while `owner` was under way, and nothing speaks against it. */
const mayBeOf =
	({ request, until }: Claim) =>
	({ createdAt, record, files }: HistoryEntry): boolean => {
		const { clockOffsetMs = 0, aspectRatio, kind } = request;
		const latest = until + clockOffsetMs + CLOCK_TOLERANCE_MS;
		if (!(createdAt >= sinceOf(request, 0) && createdAt <= latest)) return false;
		const said = asText(record.aspect_ratio) ?? '';
		const ratio =
			ASPECT_RATIOS.find((known) => known === said) ?? ASPECT_RATIO_ALIASES.get(said.toLowerCase());
		if (ratio && aspectRatio && ratio !== aspectRatio) return false;
		return (kindSaid(record, files[0]?.fileUrl ?? 'https://localhost') ?? kind) === kind;
	};

/**
 * What of `pool` is `claim`'s when each of the open requests in turn gets what it lacks, first those that
 * somebody waits for.
 */
function shareOf(
	claim: Claim,
	open: Claim[],
	pool: HistoryEntry[],
	lackOf: (owner: Claim) => number,
): HistoryEntry[] {
	const left = new Set(pool);
	const isWaitedFor = ({ closedAt }: Claim) => closedAt === undefined;
	const inTurn = [...open.filter(isWaitedFor), ...open.filter((owner) => !isWaitedFor(owner))];
	for (const owner of inTurn) {
		const share: HistoryEntry[] = [];
		for (const entry of [...left].filter(mayBeOf(owner))) {
			if (countFiles(share) < lackOf(owner)) share.push(entry);
		}
		if (owner === claim) return share;
		for (const entry of share) left.delete(entry);
	}
	return [];
}
