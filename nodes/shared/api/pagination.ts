import type { ServiceRecord } from '../contract';
import { Failure } from '../failure';
import { MAX_PAGES } from '../limits';
import type { Page } from '../parsing/responses';
import { asText } from '../parsing/values';

/** How many records are requested per page at most. */
export const MAX_PAGE_SIZE = 100;
/**
 * Services that send smaller pages than requested are assumed to send at least this many records per page. So if the
 * service tells neither the total nor the number of pages, a page is the last one if it has fewer records than this,
 * and than were requested.
 */
export const MIN_PAGE_SIZE = 10;

/** How to read a list page by page. */
export interface Paging {
	/** The number of the first page, 0 or 1. */
	firstPage: number;
	/** The maximum number of records to return. */
	limit: number;
	/** Reads one page. `pageSize` is how many records to request. */
	fetch(pageNumber: number, pageSize: number): Promise<Page>;
	/** Returns true when no page after this one is needed. */
	shouldStop?(page: Page): boolean;
}

/**
 * Reads the pages of a list and resolves with its records, at most `paging.limit`. Drops duplicates, because a record
 * may move to the next page between two reads. Throws a Failure of kind tooLarge if the list goes on after `MAX_PAGES`
 * pages, and whatever `fetch` throws.
 */
export async function readAllPages(paging: Paging): Promise<ServiceRecord[]> {
	const records = new Map<string, ServiceRecord>();
	const pageSize = Math.min(MAX_PAGE_SIZE, paging.limit);
	/** A page with at least this many records may be followed by another. */
	let fullPageSize = MIN_PAGE_SIZE;
	for (let pageNumber = paging.firstPage; ; pageNumber++) {
		const page = await paging.fetch(pageNumber, pageSize);
		const { items, total, pageCount = 0 } = page;
		const readCount = pageNumber - paging.firstPage + 1;
		const countBefore = records.size;
		fullPageSize = Math.max(fullPageSize, items.length);
		for (const item of items) {
			const id = asText(item.id) ?? asText(item.voice_id);
			// A service may number videos and images separately, and it may not tell their types.
			const key = JSON.stringify(id === undefined ? item : [item.type, id, item.created_at]);
			if (!records.has(key)) records.set(key, item);
		}
		const isFullPage = items.length >= Math.min(fullPageSize, pageSize);
		// A total of fewer records than there are tells nothing; some services always send 0.
		const isTotalKnown = total !== undefined && total >= records.size;
		const needsNextPage = isTotalKnown ? records.size < total : isFullPage || readCount < pageCount;
		const isLast =
			!needsNextPage ||
			records.size === countBefore ||
			records.size >= paging.limit ||
			paging.shouldStop?.(page) === true;
		if (isLast) return [...records.values()].slice(0, paging.limit);
		if (readCount >= MAX_PAGES) {
			throw new Failure('tooLarge', { reason: `a list of more than ${MAX_PAGES} pages` });
		}
	}
}
