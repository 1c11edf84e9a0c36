import { readAllPages } from '../../nodes/shared/api/pagination';
import { readPage } from '../../nodes/shared/parsing/responses';

const records = (count: number, from = 0) =>
	Array.from({ length: count }, (_, index) => ({ id: from + index }));

/** Reads from a service that answers by `answer`; gives the records and the pages asked for. */
async function read(
	answer: (page: number, size: number) => unknown,
	{ first = 1, limit = Infinity, idField = 'id' } = {},
) {
	const asked: Array<[number, number]> = [];
	const found = await readAllPages({
		first,
		limit,
		idField,
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

	it.each([0, 1])('are read when the first page is %i', async (first) => {
		const { ids: found, asked } = await read(pagedFrom(first, all), { first });
		expect(found).toEqual(ids);
		expect(asked).toEqual([0, 1, 2].map((step) => [first + step, 100]));
	});

	const pagesOf20 = (extra: object) => (page: number) => ({
		data: all.slice((page - 1) * 20, page * 20),
		...extra,
	});
	const paged = (extra: (page: number) => object) => pagedFrom(1, all, extra);

	it.each([
		['figures are texts', paged(() => ({ total: '250', page: '1', page_size: '100' }))],
		['every page is called the first', paged(() => ({ total: 250, page: 1, page_size: 100 }))],
		['pages are smaller than asked for, and say so', pagesOf20({ page_size: 20 })],
		['pages are smaller than asked for, and tell the total', pagesOf20({ total: 250 })],
		['the total counts the page only', paged((page) => ({ total: page < 3 ? 100 : 50 }))],
		['the total is always 0', paged(() => ({ total: 0 }))],
	])('are read when %s', async (_, answer) => {
		expect((await read(answer)).ids).toEqual(ids);
	});

	it('are not asked for beyond the announced total', async () => {
		const { pages } = await read(pagedFrom(1, records(200), () => ({ total: 200 })));
		expect(pages).toEqual([1, 2]);
	});

	it('end with an empty page when the total is not told', async () => {
		const { ids: found, pages } = await read(pagedFrom(1, records(200)));
		expect(found.length).toBe(200);
		expect(pages).toEqual([1, 2, 3]);
	});

	it('end when the announced total never comes', async () => {
		const { ids: found, pages } = await read(pagedFrom(1, records(130), () => ({ total: 500 })));
		expect(found.length).toBe(130);
		expect(pages.length).toBeLessThanOrEqual(3);
	});

	it('end when every page is the same', async () => {
		const { ids: found, pages } = await read(() => ({ data: records(100), total: 100_000 }));
		expect(found.length).toBe(100);
		expect(pages).toEqual([1, 2]);
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

	it('are none when there are none', async () => {
		expect((await read(() => ({ data: [], total: 0 }))).found).toEqual([]);
		expect((await read(() => [])).found).toEqual([]);
	});

	it('are each there once when new ones shift the pages meanwhile', async () => {
		const list = records(250);
		const shifting = (page: number, size: number) => {
			const data = list.slice((page - 1) * size, page * size);
			list.unshift({ id: 1000 + page });
			return { data };
		};
		const { ids: found } = await read(shifting);
		expect(new Set(found).size).toBe(found.length);
		expect(found).toEqual(expect.arrayContaining(ids));
	});

	it('are told apart by their own identifier, also without one', async () => {
		const named = [{ voice_id: 'a' }, { voice_id: 'b' }, { id: 'c' }];
		const voices = [...named, { name: 'd' }, { name: 'e' }];
		const { found } = await read(() => [...voices, { voice_id: 'a' }], { idField: 'voice_id' });
		expect(found).toEqual(voices);
	});
});

describe('a bare array', () => {
	it('is the whole list when it is longer or shorter than a page', async () => {
		for (const count of [3, 250]) {
			const { found, pages } = await read(() => records(count));
			expect(found.length).toBe(count);
			expect(pages).toEqual([1]);
		}
	});

	it('of exactly a page may have a next one', async () => {
		const all = records(150);
		const { found } = await read((page, size) => all.slice((page - 1) * size, page * size));
		expect(found.length).toBe(150);
	});
});

describe('a limit', () => {
	it.each([
		[1, [[1, 1]]],
		[50, [[1, 50]]],
		[100, [[1, 100]]],
		[150, [1, 2].map((page) => [page, 100])],
	])('of %i is kept, and no more is asked for than needed', async (limit, expected) => {
		const { ids, asked } = await read(pagedFrom(1, records(400)), { limit });
		expect(ids).toEqual(records(limit).map(({ id }) => id));
		expect(asked).toEqual(expected);
	});

	it('is kept where the service gives more than asked for', async () => {
		expect((await read(() => records(250), { limit: 7 })).found.length).toBe(7);
	});
});
