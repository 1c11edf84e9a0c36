import type { Api } from './api';
import type { ServiceRecord } from '../contract';
import { Failure } from '../failure';
import { MAX_PAGES } from '../limits';
import type { Page } from '../parsing/responses';
import { asText } from '../parsing/values';

export const MAX_PAGE_SIZE = 100;
/** A first page with fewer records than this is the whole list: no service allows so few. */
export const MIN_PAGE_SIZE = 20;

export interface Paging {
	/** Number of the first page: 0 for voices, 1 for the history. */
	firstPage: number;
	/** Number of records wanted at most. */
	limit: number;
	fetch(page: number, pageSize: number): Promise<Page>;
	/** True when the pages after this one are of no use. */
	shouldStop?(page: Page): boolean;
}

/**
 * True when `found` is the last page of a list. `seen` records came with it and the pages before;
 * `pageSize` were asked for. Without a total, pages may be of another size, that of the first, `fullSize`.
 */
export function isLastPage(found: Page, seen: number, pageSize: number, fullSize: number): boolean {
	const { items, total, pageSize: echoed, isUnpagedArray } = found;
	if (items.length === 0) return true;
	if (total !== undefined) return seen >= total;
	const isShort = items.length < Math.min(fullSize, echoed || pageSize, pageSize);
	return isShort || (isUnpagedArray && items.length > pageSize);
}

/**
 * All records of a paged list up to `limit`, each once: pages shift while they are read. The echoed page
 * number is not trusted, since some deployments call every page the first. Throws a Failure when there is
 * no end to the pages.
 */
export async function readAllPages(paging: Paging): Promise<ServiceRecord[]> {
	const records = new Map<string, ServiceRecord>();
	const pageSize = Math.min(MAX_PAGE_SIZE, paging.limit);
	let fullSize = MIN_PAGE_SIZE;
	for (let page = paging.firstPage; ; page++) {
		const found = await paging.fetch(page, pageSize);
		const before = records.size;
		fullSize = Math.max(fullSize, found.items.length);
		for (const item of found.items) {
			const key = asText(item.id) ?? asText(item.voice_id) ?? JSON.stringify(item);
			if (!records.has(key)) records.set(key, item);
		}
		const isLast =
			records.size === before ||
			records.size >= paging.limit ||
			paging.shouldStop?.(found) === true ||
			isLastPage(found, records.size, pageSize, fullSize);
		if (isLast) return [...records.values()].slice(0, paging.limit);
		if (page - paging.firstPage + 1 >= MAX_PAGES) {
			throw new Failure('tooLarge', { text: `a list of more than ${MAX_PAGES} pages` });
		}
	}
}

/** All voices (§4.4), each once, `limit` of them at most. */
export const allVoices = async (
	api: Api,
	query: Record<string, string>,
	limit: number,
	signal: AbortSignal,
): Promise<ServiceRecord[]> =>
	await readAllPages({
		firstPage: 0,
		limit,
		fetch: async (page, pageSize) =>
			await api.listVoices({ ...query, page, page_size: pageSize }, signal),
	});
