import { createHash } from 'node:crypto';
import { MIN_PAGE_SIZE, readAllPages } from '../../shared/api/pagination';
import type { ServiceRecord } from '../../shared/contract';
import {
	sortOldestFirst,
	readHistory,
	type HistoryEntry,
} from '../../shared/generation/historyEntries';
import { asText, withoutQuery } from '../../shared/parsing/values';
import type { Page } from '../../shared/parsing/responses';
import type { Outbox, Stateful } from '../activation/outbox';

/** The most entries that one poll reads. */
const MAX_POLLED_ENTRIES = 600;
/** The most entries that are remembered: the ones that were seen last. */
const MAX_KNOWN_ENTRIES = 1000;
/** The longest time for which an unfinished entry (no file, not failed) is tracked, in ms. */
const MAX_TRACKED_MS = 2 * 3_600_000;
/** The watermark of a history whose entries are all known, so that any unknown entry is new. */
const NO_WATERMARK = 0;

/** An entry of the history with its fingerprint, by which a later poll recognizes it. */
export interface FingerprintedEntry extends HistoryEntry {
	fingerprint: string;
}

/** What is remembered of an entry. */
interface KnownEntry extends Stateful {
	/** In ms since 1970 by the service's clock; NaN, which JSON saves as null, if the service does not say. */
	createdAt: number | null;
	/** When it was first seen, in ms since 1970 by the clock of this machine. */
	since: number;
}

/** How far the history has been read. */
interface Cursor {
	/** The account key, which changes with the token. */
	account: string;
	/**
	 * The time after which an unknown entry counts as new, in ms since 1970 by the service's clock; NaN or null if the
	 * service gives no times.
	 */
	watermark: number | null;
}

export type HistoryOutbox = Outbox<KnownEntry, Cursor>;

/** What earlier polls know: entries by fingerprint, and the cursor. */
export type PollState = Pick<HistoryOutbox, 'events' | 'cursor'>;

/**
 * Compares the entries that a poll has read with what earlier polls know. `listed` has the oldest entry first,
 * `account` is the account key, and `now` is in ms since 1970. Returns the entries to emit, oldest first, and what the
 * next poll needs to know.
 *
 * After the first poll, an unknown entry is new if it was created after the watermark; without times, its place in the
 * list decides. Others may be old entries that have moved to the pages that are read because entries were deleted.
 */
export function newEntries(
	listed: FingerprintedEntry[],
	previous: PollState,
	account: string,
	now = Date.now(),
): { ended: FingerprintedEntry[]; next: PollState } {
	const isFirst = previous.cursor?.account !== account && !isAnyKnown(listed, previous);
	const events: PollState['events'] = new Map(isFirst ? [] : previous.events);
	let watermark = isFirst ? firstWatermark(listed) : watermarkOf(previous);
	const ended: FingerprintedEntry[] = [];
	/** With NO_WATERMARK, every unknown entry is new, as if a known one was passed. */
	let hasPassedKnown = watermark === NO_WATERMARK;
	for (const entry of listed) {
		const { fingerprint, id, createdAt, files, failed } = entry;
		const known = events.get(fingerprint);
		const isNew = !isFirst && isAboveWatermark(createdAt, watermark, hasPassedKnown);
		const isUnreported = known ? known.state === 'tracking' : isNew;
		const hasEnded = files.length > 0 || failed;
		if (isUnreported && hasEnded) ended.push(entry);
		// An entry without an id gets another fingerprint with its file, and is then found as new, so it is not
		// tracked.
		const state = known?.state ?? (hasEnded || id === undefined ? 'done' : 'tracking');
		// This moves the entry to the end of the map, since the first entries of the map are forgotten first.
		events.delete(fingerprint);
		const next = { createdAt, since: now, ...known, state };
		events.set(fingerprint, isUnreported && hasEnded ? { ...next, state: 'pending' } : next);
		hasPassedKnown ||= known !== undefined;
	}
	for (const [fingerprint, entry] of events) {
		const isExpired = entry.state === 'tracking' && now - entry.since > MAX_TRACKED_MS;
		if (isExpired) events.set(fingerprint, { ...entry, state: 'done' });
	}
	for (const [fingerprint, { createdAt }] of [...events].slice(0, -MAX_KNOWN_ENTRIES)) {
		events.delete(fingerprint);
		watermark = Math.max(watermark, createdAt ?? NaN);
	}
	return { ended: sortOldestFirst(ended), next: { events, cursor: { account, watermark } } };
}

/**
 * Reads the history page by page, as far as it may contain new or tracked entries, up to MAX_POLLED_ENTRIES. Resolves
 * with the entries, the oldest first. `read` reads a page, from 1.
 */
export async function readRecentEntries(
	read: (page: number) => Promise<Page>,
	previous: PollState,
	baseUrl: string,
): Promise<FingerprintedEntry[]> {
	let listed: FingerprintedEntry[] = [];
	const shouldStop = ({ items }: Page) => {
		listed = [...entriesOf(items, baseUrl), ...listed];
		return !needsNextPage(listed, previous);
	};
	const paging = { firstPage: 1, limit: MAX_POLLED_ENTRIES, fetch: read, shouldStop };
	return entriesOf(await readAllPages(paging), baseUrl);
}

/** True if a page after `listed` may contain a new entry, or one that is tracked. `listed` must not be empty. */
function needsNextPage(listed: FingerprintedEntry[], previous: PollState): boolean {
	const { fingerprint, createdAt } = listed[0]!;
	// The first poll reads on to the watermark, because the next poll would take an unread entry above it to be new.
	if (!previous.cursor) return createdAt > firstWatermark(listed);
	// If no known entry is listed, one may follow on a later page, so the oldest listed entry counts as newer than it.
	const isNew = isAboveWatermark(createdAt, watermarkOf(previous), !isAnyKnown(listed, previous));
	if (isNew && !previous.events.has(fingerprint)) return true;
	const fingerprints = new Set(listed.map((entry) => entry.fingerprint));
	return [...previous.events].some(
		([name, known]) =>
			known.state === 'tracking' &&
			!fingerprints.has(name) &&
			!(createdAt < (known.createdAt ?? NaN)),
	);
}

const isAnyKnown = (listed: FingerprintedEntry[], { events }: PollState): boolean =>
	listed.some(({ fingerprint }) => events.has(fingerprint));

/** True if an entry was created after the watermark. If the times do not tell, `isNewerThanKnown` decides. */
const isAboveWatermark = (
	createdAt: number,
	watermark: number,
	isNewerThanKnown: boolean,
): boolean => (isNewerThanKnown ? !(createdAt < watermark) : createdAt > watermark);

const watermarkOf = ({ cursor }: PollState): number => cursor?.watermark ?? NaN;

/**
 * The watermark after the first poll. It lies before the newest entry, because some services list an entry only when it
 * has ended.
 */
const firstWatermark = (listed: FingerprintedEntry[]): number =>
	listed.length < MIN_PAGE_SIZE ? NO_WATERMARK : listed.at(-1)!.createdAt - MAX_TRACKED_MS;

const entriesOf = (records: ServiceRecord[], baseUrl: string): FingerprintedEntry[] =>
	readHistory(records, baseUrl).map((entry) => ({ ...entry, fingerprint: fingerprintOf(entry) }));

/**
 * A short digest of an entry's id or, without an id, of its file's URL, its time and its prompt. The query of a URL
 * does not count, since it may contain a changing signature.
 */
function fingerprintOf({ id, files, record, prompt }: HistoryEntry): string {
	const address = files[0] ? withoutQuery(files[0].fileUrl) : '';
	const parts = id === undefined ? [address, asText(record.created_at) ?? '', prompt] : [id];
	return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 12);
}
