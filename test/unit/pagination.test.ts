import { readAllPages } from '../../nodes/shared/api/pagination';
import { readPage } from '../../nodes/shared/parsing/responses';

/* Where a list ends, whatever figures come with it. Its shapes: test/engine/lists.test.ts. */

const records = (count: number, from = 0) =>
	Array.from({ length: count }, (_, index) => ({ id: from + index }));
/** A list of so many that pages from 1, with whatever else an answer holds. */
const paged =
	(count: number, extra: object = {}, maxPageSize = 100) =>
	(page: number) => ({
		data: records(count).slice((page - 1) * maxPageSize, page * maxPageSize),
		...extra,
	});

/** The same as a bare array. */
const bare = (count: number, maxPageSize: number) => (page: number) =>
	paged(count, {}, maxPageSize)(page).data;

/** How many records are found, and how many pages are asked for. */
async function read(answer: (page: number) => unknown, limit = Infinity) {
	let pages = 0;
	const found = await readAllPages({
		firstPage: 1,
		limit,
		async fetch(page) {
			if (++pages > 2000) throw new Error('it never ends');
			return readPage(answer(page))!;
		},
	});
	return [found.length, pages];
}

describe('all records of a paged list', () => {
	it.each<[string, (page: number) => unknown, count: number, pages: number]>([
		['figures are texts', paged(250, { total: '250', page: '1', page_size: '100' }), 250, 3],
		['pages are smaller than asked for', paged(250, { total: 250 }, 20), 250, 13],
		['the total is reached', paged(200, { total: 200 }), 200, 2],
		['pages without a total are smaller than asked for', paged(95, {}, 20), 95, 5],
		['such a page says its size', paged(45, { page_size: 20 }, 20), 45, 3],
		['only the number of pages is told', paged(12, { total_pages: '3' }, 5), 12, 3],
		['the number of pages is that of small ones', paged(95, { total_pages: 1 }, 20), 95, 5],
		['the number of pages is too large', paged(12, { total_pages: 9 }, 5), 12, 4],
		['the total is always 0', paged(250, { total: 0 }), 250, 3],
		['the total never comes', paged(130, { total: 500 }), 130, 3],
		['every page is the same', () => ({ data: records(100), total: 100_000 }), 100, 2],
		[
			'kinds are counted apart',
			() => [
				{ id: 1, type: 'video' },
				{ id: 1, type: 'image' },
			],
			2,
			1,
		],
		[
			'kinds are counted apart, but not told',
			() =>
				['2026-01-01T10:00:00Z', '2026-01-01T11:00:00Z'].map((at) => ({ id: 1, created_at: at })),
			2,
			1,
		],
		['a bare array is the whole list, whatever page is asked for', () => records(250), 250, 2],
		['a bare array may be a page', (page) => (page === 1 ? records(100) : []), 100, 2],
		['bare pages are larger than asked for', bare(950, 200), 950, 6],
		['bare pages are smaller than asked for', bare(95, 20), 95, 5],
		['the last of such pages is full', bare(40, 20), 40, 3],
		['bare pages have ten', bare(95, 10), 95, 10],
		['a bare array is shorter than any page', bare(9, 100), 9, 1],
		['a short bare array comes for every page', () => records(20), 20, 2],
		['the only bare page is empty', () => [], 0, 1],
	])('are read, and no further, where %s', async (_, answer, count, pages) => {
		expect(await read(answer)).toEqual([count, pages]);
	});

	it('are read as far as is wanted, where bare pages are smaller than that', async () => {
		expect(await read(bare(95, 20), 50)).toEqual([50, 3]);
		expect(await read(bare(95, 20), 7)).toEqual([7, 1]);
	});

	it('are refused as too many when pages go on for ever', async () => {
		const pages = read((page) => ({ data: records(100, page * 100) }));
		await expect(pages).rejects.toMatchObject({ kind: 'tooLarge' });
	});
});
