import { ASPECT_RATIO_ALIASES, ASPECT_RATIOS, type MediaKind } from '../contract';
import { countFiles, isKnown, type HistoryEntry } from './historyEntries';
import { asText } from '../parsing/coerce';
import { kindSaid } from '../parsing/fileType';

/** What one generation asked for and was told: enough for a later attempt to search for it. */
export interface SentRequest {
	/** Unique among generations, also those of other processes. */
	key: string;
	/** As sent; '' if none. */
	prompt: string;
	/** When the request went out, ms since 1970 by our clock; Infinity before. */
	began: number;
	/** The service's clock minus ours at that time, in ms, if its answer told: a clock may be set meanwhile. */
	clockOffsetMs?: number;
	/** Files asked for. */
	expected: number;
	kind: MediaKind;
	aspectRatio?: string;
	/** Of the request: the files of two with the same one are interchangeable. */
	digest: string;
	/** Images are part of the request: its prompt alone says little. */
	withImages: boolean;
	/** Identifiers of the item that events carried. */
	told: string[];
	/** When its stream was cut after some of the files had come, ms since 1970. */
	cutAt?: number;
	/** Marks of files that others of its prompt got while it was under way, or right before. */
	others?: string[];
}

/** One generation of this process, and for a while after it has ended. */
export interface Claim extends Omit<SentRequest, 'told'> {
	ids: Set<string>;
	/** True once its stream is lost, or over: nothing more is told of it. */
	lost: boolean;
	/** Entries made later (ms since 1970, our clock) are not its own; Infinity while it is under way. */
	until: number;
	/** How many files it is known or expected to make. */
	wants: number;
	/** How many files it has, and how they are recognised. */
	got: number;
	marks: ReadonlySet<string>;
}

export interface Verdict {
	/** Entries that are this claim's, the oldest first. */
	own: HistoryEntry[];
	/** Entries that may be this claim's or another's, in the order in which a person will see them. */
	candidates: HistoryEntry[];
	/** There are more entries than were asked for: no later look can tell whose they are. */
	hopeless: boolean;
	/** They belong to it only if no others appear within this many ms after the request. */
	waitMs?: number;
}

/** How long the entry of an id that was told may take to appear, in ms, before the prompt decides. */
const ID_AWAITED_MS = 60_000;
/** The same where images are part of the request, and the prompt says little: videos rarely take longer. */
const IMAGES_MS = 300_000;

/** `created_at` and Date headers are cut to the second. */
export const CLOCK_TOLERANCE_MS = 2000;

/**
 * What belongs to `claim`. Proof is an id that events told. Else an entry must have exactly the prompt,
 * be made after the request went out, and be taken by nobody. Those that another request of this prompt
 * may have made as well are candidates only, unless the requests are equal, all streams are lost, and
 * there are just as many files as they lack: then each gets its share, in order. `all` are the entries of
 * one look, the oldest first; `claims` those of the account, `claim` among them; `taken` the marks of
 * files that somebody has.
 */
export function matchHistory(
	claim: Claim,
	all: HistoryEntry[],
	claims: Claim[],
	taken: ReadonlySet<string>,
): Verdict {
	const others = claims.filter((other) => other !== claim);
	const toldToOthers = new Set(others.flatMap(({ ids }) => [...ids]));
	// An id that two streams were told, perhaps a number of the event, proves nothing.
	const isUntold = ({ id = '' }: HistoryEntry) => !toldToOthers.has(id);
	const proven = all.filter(isProvenFor(claim)).filter(isUntold);
	const provenOnly: Verdict = { own: proven, candidates: [], hopeless: false };
	const received = all.filter((entry) => isKnown(entry, claim.marks));
	// Its files may be here under other names, so no entry is known to be a further file.
	if (countFiles(received) < claim.got) return provenOnly;
	// Fewer than asked for may be just those that events named.
	if (proven.length > 0 && lackOf(claim, all) <= 0) return provenOnly;

	const prompt = claim.prompt.trim();
	const open = all.filter((entry) => entry.prompt === prompt && !proven.includes(entry));
	const nobodys = open.filter((entry) => isUntold(entry) && !isKnown(entry, taken));
	const sharing = claims.filter((other) => other.prompt.trim() === prompt);
	return matchByPrompt(claim, all, proven, withoutFailed(nobodys, sharing), sharing);
}

/**
 * The same where ids prove only `proven`: which of `free`, the entries of its prompt that nobody has, are
 * the claim's, and not those of others `sharing` that prompt.
 */
function matchByPrompt(
	claim: Claim,
	all: HistoryEntry[],
	proven: HistoryEntry[],
	free: HistoryEntry[],
	sharing: Claim[],
): Verdict {
	const mine = free.filter(mayBeOf(claim));
	// The requests that may have made one of these, `claim` among them, and all that they may have made.
	const rivals = sharing
		.filter((other) => other === claim || mine.some(mayBeOf(other)))
		.map((owner) => ({ owner, lack: lackOf(owner, all) }))
		.filter(({ lack }) => lack > 0);
	const pool = free.filter((entry) => rivals.some(({ owner }) => mayBeOf(owner)(entry)));
	const surplus = countFiles(pool) - rivals.reduce((sum, { lack }) => sum + lack, 0);
	const areEqual = rivals.every(({ owner }) => owner.digest === claim.digest);
	const areLost = rivals.every(({ owner }) => owner.lost);
	/** An id was told whose entry has not appeared yet. */
	const isAwaited = ({ ids }: Claim) =>
		[...ids].some((id) => !all.some((entry) => entry.id === id));

	// With images, an id that was told is the only possible proof, even if it has not appeared yet.
	const mayShare = areEqual && !(claim.withImages && claim.ids.size > 0);
	const isAlone = rivals.length === 1 && surplus <= 0;
	const isEven = areLost && surplus === 0;
	const share = mayShare && (isAlone ? mine : isEven && shareOf(claim, rivals, pool));
	if (share) {
		const own = all.filter((entry) => proven.includes(entry) || share.includes(entry));
		const waitMs = claim.withImages ? IMAGES_MS : isAwaited(claim) ? ID_AWAITED_MS : undefined;
		const candidates = waitMs === undefined ? [] : asListed(share);
		return { own, candidates, hopeless: false, waitMs };
	}
	if (proven.length > 0) return { own: proven, candidates: [], hopeless: false };
	const isFull = areEqual ? surplus > 0 : surplus >= 0;
	const areAwaited = rivals.some(({ owner }) => isAwaited(owner));
	return { own: [], candidates: asListed(mine), hopeless: areLost && !areAwaited && isFull };
}

interface Rival {
	owner: Claim;
	/** How many files it lacks. */
	lack: number;
}

/** How many files `owner` lacks besides those that are proven to be its own. */
const lackOf = (owner: Claim, all: HistoryEntry[]) =>
	owner.wants - countFiles(all.filter(isProvenFor(owner)));

const asListed = (entries: HistoryEntry[]) => [...entries].sort((a, b) => a.place - b.place);

/** An event told its id to `owner`, or it holds a file that `owner` has. */
const isProvenFor = (owner: Claim) => (entry: HistoryEntry) =>
	owner.ids.has(entry.id ?? '') || isKnown(entry, owner.marks);

/** It was made while `owner` was under way, and nothing speaks against it. */
const mayBeOf =
	(owner: Claim) =>
	({ createdAt, clockOffsetMs, record, files }: HistoryEntry): boolean => {
		const madeAt = createdAt - (owner.clockOffsetMs ?? clockOffsetMs);
		if (!(madeAt >= owner.began - CLOCK_TOLERANCE_MS && madeAt <= owner.until)) return false;
		const said = asText(record.aspect_ratio) ?? '';
		const ratio =
			ASPECT_RATIOS.find((known) => known === said) ?? ASPECT_RATIO_ALIASES.get(said.toLowerCase());
		if (ratio && owner.aspectRatio && ratio !== owner.aspectRatio) return false;
		const kind = kindSaid(record, files[0]?.fileUrl ?? 'https://localhost');
		return (kind ?? owner.kind) === owner.kind;
	};

/** `free` without one failed entry for each generation whose stream said that it failed. */
function withoutFailed(free: HistoryEntry[], sharing: Claim[]): HistoryEntry[] {
	const left = [...free];
	for (const failed of sharing.filter(({ wants }) => wants === 0)) {
		const at = left.findIndex((entry) => entry.failed && mayBeOf(failed)(entry));
		if (at >= 0) left.splice(at, 1);
	}
	return left;
}

/**
 * What of `pool` is `claim`'s when all of the rivals get what they lack in the order they began;
 * undefined when it does not come out even.
 */
function shareOf(claim: Claim, rivals: Rival[], pool: HistoryEntry[]): HistoryEntry[] | undefined {
	let left = pool;
	let own: HistoryEntry[] | undefined;
	for (const { owner, lack } of [...rivals].sort((a, b) => a.owner.began - b.owner.began)) {
		const share: HistoryEntry[] = [];
		for (const entry of left.filter(mayBeOf(owner))) {
			if (countFiles(share) < lack) share.push(entry);
		}
		if (countFiles(share) !== lack) return undefined;
		left = left.filter((entry) => !share.includes(entry));
		if (owner === claim) own = share;
	}
	return own;
}
