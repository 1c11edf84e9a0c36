import { createHash } from 'node:crypto';
import { MIN_PAGE_SIZE, readAllPages } from '../../shared/api/pagination';
import type { ServiceRecord } from '../../shared/contract';
import {
	oldestFirst,
	readHistory,
	type HistoryEntry,
} from '../../shared/generation/historyEntries';
import { asText, withoutQuery } from '../../shared/parsing/values';
import type { Page } from '../../shared/parsing/responses';
import type { Outbox, Stateful } from '../activation/outbox';

/** How far back one look goes, in entries. */
const MAX_POLLED_ENTRIES = 600;
/** How many entries are remembered: those that were seen last. */
const MAX_KNOWN_ENTRIES = 1000;
/** How long an entry in the making is followed, in ms. */
const FOLLOWED_MS = 2 * 3_600_000;
/** The watermark of a history that is known as a whole: what began earlier may be listed later. */
const NO_WATERMARK = 0;

/** An entry, and what it is known again by. */
export interface FingerprintedEntry extends HistoryEntry {
	fingerprint: string;
}

/** What is remembered of an entry. JSON makes null of NaN. */
interface KnownEntry extends Stateful {
	/** By the service's clock, in ms since 1970; NaN when it does not say. */
	createdAt: number | null;
	/** When it was first seen, in ms since 1970 by our clock. */
	since: number;
}

interface Cursor {
	/** Whose entries these are; with a new token it is another one. */
	account: string;
	/** What was made after this time, by the service's clock, is known; NaN when it tells no times. */
	watermark: number | null;
}

export type HistoryStore = Outbox<KnownEntry, Cursor>;

/** What earlier looks have left. */
export type Seen = Pick<HistoryStore, 'events' | 'cursor'>;

/**
 * What is new in a history of which `listed`, the oldest first, was read: what has its file, or has failed,
 * the oldest first; and what the next look is to know. Pure.
 *
 * New is what is unknown and made after the watermark or, without times, listed above something known.
 * Deletions only shift older entries up, so they never match. Times of the service are compared with one
 * another only. `account` is whose history it is: that of another one begins anew.
 */
export function newEntries(
	listed: FingerprintedEntry[],
	seen: Seen,
	account: string,
	now = Date.now(),
): { ended: FingerprintedEntry[]; next: Seen } {
	const isFirst = seen.cursor?.account !== account && !isAnyKnown(listed, seen);
	const events: Seen['events'] = new Map(isFirst ? [] : seen.events);
	let watermark = isFirst ? firstWatermark(listed) : watermarkOf(seen);
	const ended: FingerprintedEntry[] = [];
	let isAboveKnown = watermark === NO_WATERMARK;
	for (const entry of listed) {
		const { fingerprint, id, createdAt, files, failed } = entry;
		const known = events.get(fingerprint);
		const isUnknown = !isFirst && isAboveWatermark(createdAt, watermark, isAboveKnown);
		const isNew = known ? known.state === 'tracking' : isUnknown;
		const hasEnded = files.length > 0 || failed;
		if (isNew && hasEnded) ended.push(entry);
		// Without an id it can't be known again once it has a file: that makes it a new one.
		const state = known?.state ?? (hasEnded || id === undefined ? 'done' : 'tracking');
		// Those that are still there must not be the first to be forgotten.
		events.delete(fingerprint);
		const next = { createdAt, since: now, ...known, state };
		events.set(fingerprint, isNew && hasEnded ? { ...next, state: 'pending' } : next);
		isAboveKnown ||= known !== undefined;
	}
	for (const [fingerprint, entry] of events) {
		const isExpired = entry.state === 'tracking' && now - entry.since > FOLLOWED_MS;
		if (isExpired) events.set(fingerprint, { ...entry, state: 'done' });
	}
	for (const [fingerprint, { createdAt }] of [...events].slice(0, -MAX_KNOWN_ENTRIES)) {
		events.delete(fingerprint);
		watermark = Math.max(watermark, createdAt ?? NaN);
	}
	return { ended: oldestFirst(ended), next: { events, cursor: { account, watermark } } };
}

/**
 * Reads a history as far back as something may be new; resolves with its entries, the oldest first. `read`
 * fetches a page, the first being 1; others change the history meanwhile. Throws as `read` does.
 */
export async function readListed(
	read: (page: number) => Promise<Page>,
	seen: Seen,
	baseUrl: string,
): Promise<FingerprintedEntry[]> {
	let listed: FingerprintedEntry[] = [];
	const shouldStop = ({ items }: Page) => {
		listed = [...entriesOf(items, baseUrl), ...listed];
		return !needsNextPage(listed, seen);
	};
	const paging = { firstPage: 1, limit: MAX_POLLED_ENTRIES, fetch: read, shouldStop };
	return entriesOf(await readAllPages(paging), baseUrl);
}

/** Whether something new, or in the making, may come after those that are `listed`. */
function needsNextPage(listed: FingerprintedEntry[], seen: Seen): boolean {
	const { fingerprint, createdAt } = listed[0]!;
	if (!seen.cursor) return createdAt > firstWatermark(listed);
	const isNew = isAboveWatermark(createdAt, watermarkOf(seen), !isAnyKnown(listed, seen));
	if (isNew && !seen.events.has(fingerprint)) return true;
	const fingerprints = new Set(listed.map((entry) => entry.fingerprint));
	return [...seen.events].some(
		([name, known]) =>
			known.state === 'tracking' &&
			!fingerprints.has(name) &&
			!(createdAt < (known.createdAt ?? NaN)),
	);
}

const isAnyKnown = (listed: FingerprintedEntry[], { events }: Seen): boolean =>
	listed.some(({ fingerprint }) => events.has(fingerprint));

const isAboveWatermark = (createdAt: number, watermark: number, isAboveKnown: boolean): boolean =>
	isAboveKnown ? !(createdAt < watermark) : createdAt > watermark;

const watermarkOf = ({ cursor }: Seen): number => cursor?.watermark ?? NaN;

const firstWatermark = (listed: FingerprintedEntry[]): number =>
	listed.length < MIN_PAGE_SIZE ? NO_WATERMARK : listed.at(-1)!.createdAt - FOLLOWED_MS;

const entriesOf = (records: ServiceRecord[], baseUrl: string): FingerprintedEntry[] =>
	readHistory(records, baseUrl).map((entry) => ({ ...entry, fingerprint: fingerprintOf(entry) }));

/** What an entry is known again by: the same for an id that is a number here and a text there. */
function fingerprintOf({ id, files, record, prompt }: HistoryEntry): string {
	const address = files[0] ? withoutQuery(files[0].fileUrl) : '';
	const parts = id === undefined ? [address, asText(record.created_at) ?? '', prompt] : [id];
	return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 12);
}
