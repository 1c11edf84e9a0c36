import fc from 'fast-check';
import { readAllPages } from '../../nodes/shared/api/pagination';
import { readPage, type Page } from '../../nodes/shared/parsing/responses';
import { anyFigure, anyJson, recordOf } from './arbitraries';
import { alwaysAsync } from './check';

const item = fc.oneof(
	fc.nat(300).map((id) => ({ id })),
	fc.nat(300).map((id) => ({ voice_id: String(id) })),
	recordOf(anyJson),
);
const manyItems = fc
	.tuple(fc.constantFrom(0, 1, 20, 99, 100, 101), fc.integer({ min: 0, max: 2000 }))
	.map(([count, from]) => Array.from({ length: count }, (_, index) => ({ id: from + index })));
const items = fc.oneof(fc.array(item, { maxLength: 6 }), manyItems);
const rawPage = fc.oneof(
	items,
	fc.record(
		{ data: items, total: anyFigure, page_size: anyFigure, page: anyFigure },
		{ requiredKeys: ['data'] },
	),
	anyJson,
);
const page = rawPage.map(readPage).filter((read) => read !== undefined);

describe('whatever pages come', () => {
	it('end, within few requests, with as many records as wanted at most, none of them twice', async () => {
		await alwaysAsync(
			fc.record({
				pages: fc.array(page, { minLength: 1, maxLength: 12 }),
				limit: fc.oneof(fc.constant(Infinity), fc.integer({ min: 1, max: 1200 })),
				first: fc.constantFrom(0, 1),
			}),
			{ normal: 100 },
			async ({ pages, limit, first }) => {
				let requests = 0;
				const found = await readAllPages({
					first,
					limit,
					idField: 'id',
					async fetch(number, size): Promise<Page> {
						expect(size).toBe(Math.min(100, limit));
						expect(number).toBe(first + requests);
						// A list of pages over and over again: nothing new comes after the first time.
						return pages[requests++ % pages.length]!;
					},
				});
				expect(requests).toBeLessThanOrEqual(pages.length + 1);
				expect(found.length).toBeLessThanOrEqual(limit);
				const keys = found.map((record) => JSON.stringify(record));
				expect(new Set(keys).size).toBe(keys.length);
				const ids = found.map(({ id }) => id).filter((id) => typeof id === 'number');
				expect(new Set(ids).size).toBe(ids.length);
			},
		);
	});
});
