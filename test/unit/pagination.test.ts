import { readAllPages } from '../../nodes/shared/api/pagination';
import { readPage } from '../../nodes/shared/parsing/responses';

const records = (count: number, from = 0) =>
	Array.from({ length: count }, (_, index) => ({ id: from + index }));

/** Reads from a service that answers by `answer`; gives the records and the pages asked for. */
async function read(
	answer: (page: number, size: number) => unknown,
	{ first = 1, limit = Infinity } = {},
) {
	const asked: Array<[number, number]> = [];
	const found = await readAllPages({
		first,
		limit,
		async fetch(page, size) {
			asked.push([page, size]);
			if (asked.length > 2000) throw new Error('it never ends');
			return readPage(answer(page, size))!;
		},
	});
	return { found, ids: found.map(({ id }) => id), asked, pages: asked.map(([page]) => page) };
}

/** A list of `all` that pages from `first`, with whatever else an answer holds. */
const pagedFrom =
	(first: number, all: unknown[], extra: (page: number, size: number) => object = () => ({})) =>
	(page: number, size: number) => ({
		data: all.slice((page - first) * size, (page - first + 1) * size),
		...extra(page, size),
	});

describe('all records of a paged list', () => {
	const all = records(250);
	const ids = all.map(({ id }) => id);

	const pagesOf20 = (extra: object) => (page: number) => pagedFrom(1, all, () => extra)(page, 20);
	const paged = (extra?: (page: number) => object, list = all) => pagedFrom(1, list, extra);

	it.each([
		['figures are texts', paged(() => ({ total: '250', page: '1', page_size: '100' }))],
		['pages are smaller than asked for, and tell the total', pagesOf20({ total: 250 })],
	])('are read when %s', async (_, answer) => {
		expect((await read(answer)).ids).toEqual(ids);
	});

	it.each<[string, Parameters<typeof read>[0], count: number, pages: number]>([
		['are not asked for beyond the total', paged(() => ({ total: 200 }), records(200)), 200, 2],
		['end when the total never comes', paged(() => ({ total: 500 }), records(130)), 130, 3],
		['end when every page is the same', () => ({ data: records(100), total: 100_000 }), 100, 2],
	])('%s', async (_, answer, count, pages) => {
		const { found, asked } = await read(answer);
		expect([found.length, asked.length]).toEqual([count, pages]);
	});

	it('are refused as too many when pages go on for ever', async () => {
		let next = 0;
		let pages = 0;
		const reading = read((_, size) => {
			pages++;
			return { data: records(size, (next += size)) };
		});
		await expect(reading).rejects.toMatchObject({ kind: 'tooLarge' });
		expect(pages).toBe(1000);
	});
});

it.each([
	[3, 1],
	[250, 1],
	// Exactly a page may have a next one.
	[100, 2],
])('a bare array of %i, other than a page, is the whole list', async (count, requests) => {
	const { found, pages } = await read((page) => (page === 1 ? records(count) : []));
	expect([found.length, pages.length]).toEqual([count, requests]);
});
