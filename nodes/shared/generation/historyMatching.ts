import { ASPECT_RATIOS, type ServiceRecord } from '../contract';
import { countFiles, isKnown, type HistoryEntry } from './historyEntries';
import { kindSaid } from '../parsing/fileType';

/** Which entries of the history are whose, of the generations that may have made them. Pure. */

/** What one generation asked for, and what it was told: enough to search for it in a later try. */
export interface SentRequest {
	/** Tells it from every other generation, also in another process. */
	key: string;
	/** The prompt exactly as sent; '' when none was sent. */
	prompt: string;
	/** When the request went out, ms since 1970 by our clock; Infinity before. */
	began: number;
	/** Files asked for. */
	expected: number;
	kind: 'video' | 'image';
	/** As asked for; undefined when the request has none. */
	aspectRatio?: string;
	/** A digest of what was asked for: files of equal requests are as good for one as for the other. */
	body: string;
	/** Images are part of the request: its prompt alone says little. */
	withImages: boolean;
	/** Identifiers of the item that events carried. */
	told: string[];
	/** When its stream was cut after some of the files had come, ms since 1970. */
	cutAt?: number;
}

/** One generation of this process, from its request to its result, and for a while after it. */
export interface Claim extends Omit<SentRequest, 'told'> {
	ids: Set<string>;
	/** True once its stream is lost, or over: nothing more is told of it. */
	lost: boolean;
	/** Entries made later are not its own; ms since 1970 by our clock, Infinity while it is under way. */
	until: number;
	/** Files that it is known, or thought, to have made. */
	wants: number;
	/** How many files it has got, and what these are known by. */
	got: number;
	marks: ReadonlySet<string>;
}

export interface Verdict {
	/** Entries that are this claim's. */
	own: ServiceRecord[];
	/** Entries that may be its own, or another's. */
	candidates: ServiceRecord[];
	/** More entries than were asked for: no later look can tell whose they are. */
	hopeless: boolean;
	/** They are its own only if no others come: images were part of the request. */
	tentative?: true;
}

/** `created_at` and Date headers are cut to the second. */
export const CLOCK_TOLERANCE_MS = 2000;

/** All that tells whose the entries of one look are. */
export interface Evidence {
	/** The oldest first. */
	all: HistoryEntry[];
	/** The service's clock minus ours, in ms. */
	clockOffsetMs: number;
	/** Claims of the same prompt, the one that is judged among them, in a fixed order. */
	sharing: Claim[];
	/** Identifiers that events told to others, of whatever prompt. */
	toldToOthers: ReadonlySet<string>;
	/** What files are known by that somebody has. */
	taken: ReadonlySet<string>;
}

/**
 * What belongs to `claim`. Proof is an id that events told. Else an entry has to have exactly the
 * prompt, to be made after the request went out, and to be taken by nobody; those that another request
 * of this prompt may have made as well are candidates only, unless the requests are equal, all streams
 * are lost, and there are just as many files as they lack: then each gets its share, in order.
 */
export function matchHistory(claim: Claim, evidence: Evidence): Verdict {
	const { all, clockOffsetMs, sharing, toldToOthers, taken } = evidence;
	const owns = (owner: Claim) => (entry: HistoryEntry) => mayOwn(owner, entry, clockOffsetMs);
	const isOf = (owner: Claim) => (entry: HistoryEntry) =>
		owner.ids.has(entry.id ?? '') || isKnown(entry, owner.marks, all);
	const lackOf = (owner: Claim) => Math.max(0, owner.wants - countFiles(all.filter(isOf(owner))));
	// An id that two streams told of, a number of the event perhaps, is no proof.
	const proven = all.filter(isOf(claim)).filter(({ id }) => !toldToOthers.has(id ?? ''));
	const withShare = (share: HistoryEntry[], tentative = false): Verdict => ({
		own: recordsOf(all.filter((entry) => proven.includes(entry) || share.includes(entry))),
		candidates: tentative ? asListed(share) : [],
		hopeless: false,
		...(tentative ? { tentative } : {}),
	});
	const received = all.filter((entry) => isKnown(entry, claim.marks, all));
	// What it has may be here under another name: then nothing else is known to be a further file.
	if (countFiles(received) < claim.got) return withShare([]);
	// Fewer than asked for may be only the part that the events told of.
	if (proven.length > 0 && lackOf(claim) === 0) return withShare([]);

	const isFree = (entry: HistoryEntry) =>
		entry.prompt === claim.prompt.trim() &&
		!proven.includes(entry) &&
		!toldToOthers.has(entry.id ?? '') &&
		!isKnown(entry, taken, all);
	const free = withoutFailed(all.filter(isFree), sharing, owns);
	const mine = free.filter(owns(claim));
	const rivals = sharing
		.filter((other) => other === claim || mine.some(owns(other)))
		.map((owner) => ({ owner, lack: lackOf(owner) }))
		.filter(({ lack }) => lack > 0);
	const pool = free.filter((entry) => rivals.some(({ owner }) => owns(owner)(entry)));
	const found = countFiles(pool);
	const lacking = rivals.reduce((sum, { lack }) => sum + lack, 0);
	const areEqual = rivals.every(({ owner }) => owner.body === claim.body);
	const areLost = rivals.every(({ owner }) => owner.lost);
	// With images, ids that were told and are not there yet are the only proof there can be.
	const needsId = claim.withImages && claim.ids.size > 0;
	if (areEqual && !needsId) {
		if (rivals.length === 1 && found <= lacking) return withShare(mine, claim.withImages);
		const share = areLost && found === lacking ? shareOf(claim, rivals, pool, owns) : undefined;
		if (share) return withShare(share, claim.withImages);
	}
	if (proven.length > 0) return withShare([]);
	const areAwaited = rivals.some(({ owner }) =>
		[...owner.ids].some((id) => !all.some((entry) => entry.id === id)),
	);
	const isFull = areEqual ? found > lacking : found >= lacking;
	return { own: [], candidates: asListed(mine), hopeless: areLost && !areAwaited && isFull };
}

/** Made while it was under way, and nothing that speaks against it. */
function mayOwn(claim: Claim, entry: HistoryEntry, clockOffsetMs: number): boolean {
	const createdAt = entry.createdAt - clockOffsetMs;
	if (!(createdAt >= claim.began - CLOCK_TOLERANCE_MS && createdAt <= claim.until)) return false;
	const ratio = ASPECT_RATIOS.find((known) => known === entry.record.aspect_ratio);
	if (ratio && claim.aspectRatio && ratio !== claim.aspectRatio) return false;
	const [file] = entry.files;
	const kind = kindSaid(entry.record, file?.fileUrl ?? 'https://localhost');
	return (kind ?? claim.kind) === claim.kind;
}

type Owns = (owner: Claim) => (entry: HistoryEntry) => boolean;

const recordsOf = (entries: HistoryEntry[]) => entries.map(({ record }) => record);
/** In the order of the history, for a person who looks there. */
const asListed = (entries: HistoryEntry[]) =>
	recordsOf([...entries].sort((a, b) => a.place - b.place));

/** `free` without the entries of generations that have failed, as their own streams said. */
function withoutFailed(free: HistoryEntry[], sharing: Claim[], owns: Owns): HistoryEntry[] {
	const left = [...free];
	for (const failed of sharing.filter(({ wants }) => wants === 0)) {
		const at = left.findIndex((entry) => entry.failed && owns(failed)(entry));
		if (at >= 0) left.splice(at, 1);
	}
	return left;
}

/**
 * What of `pool` is `claim`'s when all of its rivals get what they lack in the order they began;
 * undefined when it does not come out even.
 */
function shareOf(
	claim: Claim,
	rivals: Array<{ owner: Claim; lack: number }>,
	pool: HistoryEntry[],
	owns: Owns,
): HistoryEntry[] | undefined {
	let left = pool;
	let own: HistoryEntry[] | undefined;
	for (const { owner, lack } of rivals.sort((a, b) => a.owner.began - b.owner.began)) {
		const share: HistoryEntry[] = [];
		for (const entry of left.filter(owns(owner))) {
			if (countFiles(share) < lack) share.push(entry);
		}
		if (countFiles(share) !== lack) return undefined;
		left = left.filter((entry) => !share.includes(entry));
		if (owner === claim) own = share;
	}
	return own;
}
