import { createHash } from 'node:crypto';
import { readAllPages } from '../../shared/api/pagination';
import type { ServiceRecord } from '../../shared/contract';
import { readHistory, type HistoryEntry } from '../../shared/generation/historyEntries';
import { asText, unsigned } from '../../shared/parsing/coerce';
import type { Page } from '../../shared/parsing/responses';
import { EVERYTHING, type EntryStore, type MarkedEntry } from './entryStore';

/** How far back one look goes, in entries. */
const MAX_ENTRIES = 600;
/** A page with fewer entries than this is the last one: no service allows so few. */
const MIN_PAGE_SIZE = 20;

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
	const listed = new Set<string>();
	let floor = EVERYTHING;
	const records = await readAllPages({
		first: 1,
		limit: MAX_ENTRIES,
		fetch: read,
		isEnough: ({ items }) => {
			const entries = entriesOf(items, baseUrl);
			const last = entries.at(-1);
			// What comes with one answer has no gaps; figures that come with it say little.
			const isWhole = !last || items.length < MIN_PAGE_SIZE;
			if (listed.size === 0) floor = isWhole ? EVERYTHING : last.createdAt;
			for (const { mark } of entries) listed.add(mark);
			return isWhole || !store.mayGoOn(last, listed);
		},
	});
	const isFirst = !store.isOfAccount && !store.hasAny(listed);
	return { seen: entriesOf(records, baseUrl).reverse(), floor: isFirst ? floor : undefined };
}

/** Records in their order. */
const entriesOf = (records: ServiceRecord[], baseUrl: string): MarkedEntry[] =>
	readHistory(records.slice(0, MAX_ENTRIES), baseUrl)
		.sort((a, b) => a.place - b.place)
		.map((entry) => ({ ...entry, mark: markOf(entry) }));

/** What an entry is known again by: the same for an id that is a number here and a text there. */
function markOf({ id, files, record, prompt }: HistoryEntry): string {
	const address = files[0] ? unsigned(files[0].fileUrl) : '';
	const parts = id === undefined ? [address, asText(record.created_at) ?? '', prompt] : [id];
	return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 12);
}
