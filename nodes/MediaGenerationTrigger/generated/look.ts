import { createHash } from 'node:crypto';
import { MAX_PAGE_SIZE } from '../../shared/api/pagination';
import { readHistory, type HistoryEntry } from '../../shared/generation/historyEntries';
import { asText, asTime, unsigned } from '../../shared/parsing/coerce';
import type { Page } from '../../shared/parsing/responses';
import { EVERYTHING, FOLLOWED_MS, type EntryStore, type MarkedEntry } from './entryStore';

/** How far back one look goes, in entries. */
const MAX_ENTRIES = 600;
/** A page with fewer entries than this is the last one: no service allows so few. */
const MIN_PAGE_SIZE = 20;
/** An entry that is listed only once it has its file may have been made so many ms before. */
const LATE_MS = 600_000;

/**
 * Looks into the history for what may be new to `store`. `read` fetches a page, the first being 1; others
 * change the history meanwhile. `baseUrl` resolves relative addresses. Resolves with what
 * `EntryStore.remember` takes.
 */
export async function lookInto(
	store: EntryStore,
	baseUrl: string,
	read: (page: number) => Promise<Page>,
): Promise<{ seen: MarkedEntry[]; floor?: number }> {
	const found = new Map<string, MarkedEntry>();
	let floor = NaN;
	for (let number = 1; ; number++) {
		const page = await read(number);
		const before = found.size;
		for (const entry of entriesOf(page, baseUrl)) {
			const isAnother = !found.has(entry.mark) && found.size < MAX_ENTRIES;
			if (isAnother) found.set(entry.mark, { ...entry, place: found.size });
		}
		const listed = [...found.values()];
		// Figures that come with a page say little.
		const isShort = page.items.length < MIN_PAGE_SIZE;
		// What comes with one answer has no gaps: a deletion may hide an entry between two of them.
		if (number === 1) floor = isShort ? EVERYTHING : listed.at(-1)!.createdAt;
		const isAll = page.bare && page.items.length !== MAX_PAGE_SIZE;
		const isLast = isShort || isAll || found.size === before;
		if (isLast || found.size === MAX_ENTRIES || !mayGoOn(listed, store)) {
			const isFirst = !store.isOfAccount && !hasKnown(listed, store);
			return { seen: listed.reverse(), floor: isFirst ? floor : undefined };
		}
	}
}

/** Whether the page after these may hold something new, or one that is in the making. */
function mayGoOn(listed: MarkedEntry[], store: EntryStore): boolean {
	const { newest, events } = store;
	const { mark, createdAt } = listed.at(-1)!;
	if (createdAt >= listed[0]!.createdAt - (store.isEmpty ? FOLLOWED_MS : LATE_MS)) return true;
	const isLater = createdAt > newest || !(createdAt < newest || hasKnown(listed, store));
	if (isLater && !store.isEmpty && !events.has(mark)) return true;
	const marks = new Set(listed.map((entry) => entry.mark));
	return [...events].some(([one, entry]) => {
		return entry.state === 'underWay' && !marks.has(one) && !(createdAt < entry.createdAt);
	});
}

const hasKnown = (listed: MarkedEntry[], { events }: EntryStore) =>
	listed.some(({ mark }) => events.has(mark));

/** A page in its order. A bare array may hold all that was ever made, in any order: its newest. */
function entriesOf({ items, bare }: Page, baseUrl: string): MarkedEntry[] {
	const timed = bare ? items.map((item) => ({ item, time: asTime(item.created_at) })) : [];
	const isTimed = timed.length > 0 && !timed.some(({ time }) => Number.isNaN(time));
	const sorted = timed.sort((a, b) => b.time - a.time).map(({ item }) => item);
	const newest = (isTimed ? sorted : items).slice(0, MAX_ENTRIES);
	return readHistory(newest, baseUrl)
		.sort((a, b) => a.place - b.place)
		.map((entry) => ({ ...entry, mark: markOf(entry) }));
}

/** What an entry is known again by: the same for an id that is a number here and a text there. */
function markOf({ id, files, record, prompt }: HistoryEntry): string {
	const address = files[0] ? unsigned(files[0].fileUrl) : '';
	const parts = id === undefined ? [address, asText(record.created_at) ?? '', prompt] : [id];
	return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 12);
}
