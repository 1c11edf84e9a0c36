import { createHash } from 'node:crypto';
import { MIN_PAGE_SIZE, readAllPages } from '../../shared/api/pagination';
import type { ServiceRecord } from '../../shared/contract';
import {
	sortOldestFirst,
	toHistoryEntries,
	type HistoryEntry,
} from '../../shared/generation/historyEntries';
import { kindInType } from '../../shared/parsing/fileType';
import { asText, withoutQuery } from '../../shared/parsing/values';
import type { Page } from '../../shared/parsing/responses';
import type { Outbox, OutboxItem } from '../activation/outbox';

/** The maximum number of entries that one poll reads. */
const MAX_POLLED_ENTRIES = 600;
/** The maximum number of remembered entries. The ones that were listed longest ago are forgotten first. */
const MAX_KNOWN_ENTRIES = 1000;
/** The longest time for which an unfinished entry (no file, not failed) is tracked, in ms. */
const MAX_TRACKED_MS = 2 * 3_600_000;

/** An entry of the history with its fingerprint, by which a later poll recognizes it. */
export interface FingerprintedEntry extends HistoryEntry {
	fingerprint: string;
}

/** The facts about an entry that are saved. */
interface KnownEntry extends OutboxItem {
	/** When it was created, in ms since 1970 by the service's clock. NaN if unknown; saved as JSON, it becomes null. */
	createdAt: number | null;
	/** When a poll first saw it, in ms since 1970 by our clock. */
	seenAt: number;
}

/** How far the history has been read. */
interface Cursor {
	/** The account key, which changes with the token. */
	account: string;
	/**
	 * The time after which an unknown entry counts as new, in ms since 1970 by the service's clock. It is NaN, saved as
	 * null, as long as the whole history is known, or if the service gives no times. Every unknown entry is new then.
	 */
	watermark: number | null;
}

/** The outbox of a `HistoryWatch`. */
export type HistoryOutbox = Outbox<KnownEntry, Cursor>;

/** What earlier polls have found out: the known entries by fingerprint, and the cursor. */
export type PollState = Pick<HistoryOutbox, 'itemsByKey' | 'cursor'>;

/**
 * Compares the entries that a poll has read with those that earlier polls have seen. Returns the entries to emit,
 * oldest first, and the state for the next poll.
 *
 * The first poll emits nothing. After it, an unknown entry counts as new if it was created after the watermark. Other
 * unknown entries are old: deletions of newer entries have moved them up to the pages that are read.
 *
 * @param listedEntries the entries of this poll, oldest first
 * @param previous the state after the previous poll
 * @param accountKey that of the credential; the first poll of another account, with no known entry, emits nothing
 * @param now the current time, in ms since 1970
 */
export function findEndedEntries(
	listedEntries: FingerprintedEntry[],
	previous: PollState,
	accountKey: string,
	now = Date.now(),
): { endedEntries: FingerprintedEntry[]; nextState: PollState } {
	const isAnyKnown = listedEntries.some(({ fingerprint }) => previous.itemsByKey.has(fingerprint));
	const isFirstPoll = previous.cursor?.account !== accountKey && !isAnyKnown;
	const itemsByKey: PollState['itemsByKey'] = new Map(isFirstPoll ? [] : previous.itemsByKey);
	let watermark = watermarkOf(listedEntries, isFirstPoll ? undefined : previous.cursor);
	const endedEntries: FingerprintedEntry[] = [];
	for (const entry of listedEntries) {
		const { fingerprint, id, createdAt, files, hasFailed } = entry;
		const known = itemsByKey.get(fingerprint);
		const isNew = !isFirstPoll && isAboveWatermark(createdAt, watermark);
		const isUnreported = known ? known.state === 'tracking' : isNew;
		const hasEnded = files.length > 0 || hasFailed;
		const isDue = isUnreported && hasEnded;
		if (isDue) endedEntries.push(entry);
		// The fingerprint of an entry without an id changes when the entry gets a file. It then counts as a new entry,
		// so there is no need to track it before.
		const firstState = hasEnded || id === undefined ? 'done' : 'tracking';
		const state = isDue ? 'pending' : (known?.state ?? firstState);
		// This moves the entry to the end of the map, because the first entries of the map are forgotten first.
		itemsByKey.delete(fingerprint);
		itemsByKey.set(fingerprint, { createdAt, seenAt: now, ...known, state });
	}
	const newestAt = Math.max(...listedEntries.map(({ createdAt }) => createdAt || -Infinity));
	for (const [fingerprint, entry] of itemsByKey) {
		// Our clock may have been set forward, so the service's clock has to agree, if it gives times.
		const isRecent = newestAt - (entry.createdAt ?? NaN) <= MAX_TRACKED_MS;
		const isExpired = now - entry.seenAt > MAX_TRACKED_MS && !isRecent;
		if (isExpired && entry.state === 'tracking')
			itemsByKey.set(fingerprint, { ...entry, state: 'done' });
	}
	for (const [fingerprint, { createdAt }] of [...itemsByKey].slice(0, -MAX_KNOWN_ENTRIES)) {
		itemsByKey.delete(fingerprint);
		if (createdAt) watermark = Math.max(watermark || 0, createdAt);
	}
	return {
		endedEntries: sortOldestFirst(endedEntries),
		nextState: { itemsByKey, cursor: { account: accountKey, watermark } },
	};
}

/**
 * Reads the history page by page, until no further page can have new or tracked entries, or MAX_POLLED_ENTRIES are
 * read. Resolves with the entries, oldest first. `read` reads one page, whose number counts from 1. Rejects as `read`
 * does.
 */
export async function readRecentEntries(
	read: (page: number) => Promise<Page>,
	previous: PollState,
	baseUrl: string,
): Promise<FingerprintedEntry[]> {
	let listedEntries: FingerprintedEntry[] = [];
	const shouldStop = ({ items }: Page) => {
		listedEntries = [...entriesOf(items, baseUrl), ...listedEntries];
		return !needsNextPage(listedEntries, previous);
	};
	const paging = { firstPage: 1, limit: MAX_POLLED_ENTRIES, fetch: read, shouldStop };
	return entriesOf(await readAllPages(paging), baseUrl);
}

/** True if a page after `listedEntries`, which must not be empty, may have a new or a tracked entry. */
function needsNextPage(listedEntries: FingerprintedEntry[], previous: PollState): boolean {
	const { fingerprint, createdAt } = listedEntries[0]!;
	// The first poll reads on to the watermark, because the next poll would take an unread entry that was created after
	// the watermark for a new one.
	const isNew = isAboveWatermark(createdAt, watermarkOf(listedEntries, previous.cursor));
	if (isNew && !previous.itemsByKey.has(fingerprint)) return true;
	const fingerprints = new Set(listedEntries.map((entry) => entry.fingerprint));
	return [...previous.itemsByKey].some(
		([fingerprintOfKnown, known]) =>
			known.state === 'tracking' &&
			!fingerprints.has(fingerprintOfKnown) &&
			!(createdAt < (known.createdAt ?? NaN)),
	);
}

const isAboveWatermark = (createdAt: number, watermark: number): boolean =>
	createdAt > watermark || Number.isNaN(watermark);

/**
 * Returns the saved watermark, or that of the first poll. The latter is earlier than the newest entry, because some
 * services list an entry only when it has ended. A list that is shorter than a page contains the whole history, so it
 * needs none.
 */
function watermarkOf(listedEntries: FingerprintedEntry[], cursor: Cursor | undefined): number {
	if (cursor) return cursor.watermark ?? NaN;
	if (listedEntries.length < MIN_PAGE_SIZE) return NaN;
	return listedEntries.at(-1)!.createdAt - MAX_TRACKED_MS;
}

const entriesOf = (records: ServiceRecord[], baseUrl: string): FingerprintedEntry[] =>
	toHistoryEntries(records, baseUrl).map((entry) => ({
		...entry,
		fingerprint: fingerprintOf(entry),
	}));

/**
 * Returns a digest of an entry's kind and id, because a service may number videos and images separately. Without an id,
 * it is a digest of the file's URL, the time and the prompt. The query of the URL is left out, because it may contain a
 * signature that changes.
 */
function fingerprintOf({ id, files, record, prompt }: HistoryEntry): string {
	const unsignedUrl = files[0] ? withoutQuery(files[0].fileUrl) : '';
	const parts =
		id === undefined
			? [unsignedUrl, asText(record.created_at) ?? '', prompt]
			: [kindInType(record), id];
	return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 12);
}
