import type { IDataObject } from 'n8n-workflow';
import type { Dialect, HistoryItem } from '../../simulator/simulator.mts';
import { bad, good, node, requests, run, sim, start } from './setup';

const HISTORY = '/v1/video/histories';
const history = (parameters: IDataObject = {}, options: IDataObject = {}) =>
	node({ resource: 'history', operation: 'getAll', ...parameters, options });

/** `count` entries, newest first: e0, e1, … */
function fill(count: number, prefix = 'e') {
	const entries = Array.from({ length: count }, (_, n): HistoryItem => ({
		id: `${prefix}${n}`,
		prompt: `Prompt ${n}`,
		type: n % 2 === 0 ? 'video' : 'image',
		file_url: `${sim.fileOrigin}/files/${prefix}${n}.mp4`,
		status: 'completed',
		created_at: new Date(Date.now() - n * 1000).toISOString(),
	}));
	sim.history.unshift(...entries);
}
const ids = (items: Array<{ json: IDataObject }>) => items.map(({ json }) => json.id);
const numbered = (count: number) => Array.from({ length: count }, (_, n) => `e${n}`);

const dialects: Array<Partial<Dialect>> = [
	{ history: 'paged' },
	{ history: 'paged', historyFiguresAsStrings: true },
	{ history: 'paged', pageEcho: 'wrong', historyFiguresAsStrings: true },
	{ history: 'array' },
];
describe.each(dialects)('history of the dialect %j', (dialect) => {
	test('returnAll gives every entry once, in order, with pairedItem', async () => {
		await start({ dialect });
		fill(250);
		const output = good(await run(history({ returnAll: true })));
		expect(ids(output)).toEqual(numbered(250));
		expect(output.every(({ pairedItem }) => JSON.stringify(pairedItem) === '{"item":0}')).toBe(
			true,
		);
		expect(output[3]!.json).toMatchObject({
			prompt: 'Prompt 3',
			file_url: sim.history[3]!.file_url,
		});
		expect(requests('GET', HISTORY)[0]!.query.page).toBe('1');
		expect(requests('GET', HISTORY).length).toBeLessThanOrEqual(4);
		expect(requests('GET', HISTORY)[0]!.headers.authorization).toBe(`Bearer ${sim.token}`);
	});

	test.each([1, 50, 100, 120])('limit %d', async (limit) => {
		await start({ dialect });
		fill(130);
		expect(ids(good(await run(history({ limit }))))).toEqual(numbered(limit));
		expect(requests('GET', HISTORY)).toHaveLength(Math.ceil(limit / 100));
	});

	test('exactly one full page, and none at all', async () => {
		await start({ dialect });
		expect(good(await run(history({ returnAll: true })))).toEqual([]);
		fill(100);
		expect(good(await run(history({ returnAll: true })))).toHaveLength(100);
	});
});

test('the default limit is 50', async () => {
	fill(60);
	expect(good(await run(history()))).toHaveLength(50);
});

test('entries that come in while the pages are read: nothing twice, nothing missing', async () => {
	await start({ dialect: { history: 'paged' } });
	fill(205);
	sim.fault({ path: /page=2/, action: { delayMs: 300 } });
	const running = run(history({ returnAll: true }));
	await sim.waitFor(() => sim.count('GET', HISTORY) === 2);
	fill(3, 'new');
	expect(ids(good(await running))).toEqual(numbered(205));
});

test('a service that answers the same page for ever is not asked for ever', async () => {
	await start({ dialect: { history: 'paged' } });
	fill(100);
	const data = sim.history.map(({ owner: _, ...entry }) => entry);
	const respond = { status: 200, body: { data, total: '100000', page: '1', page_size: '100' } };
	sim.fault({ path: HISTORY, times: Infinity, action: { respond } });
	expect(good(await run(history({ returnAll: true })))).toHaveLength(100);
	expect(requests('GET', HISTORY).length).toBeLessThanOrEqual(2);
});

test('a service with smaller pages than asked for', async () => {
	fill(45);
	const data = sim.history.map(({ owner: _, ...entry }) => entry);
	for (const [after, page] of [data.slice(0, 20), data.slice(20, 40), data.slice(40)].entries()) {
		const body = { data: page, page: String(after + 1), page_size: '20', total_pages: '3' };
		sim.fault({
			path: new RegExp(`page=${after + 1}&`),
			action: { respond: { status: 200, body } },
		});
	}
	expect(ids(good(await run(history({ returnAll: true }))))).toEqual(numbered(45));
});

test('numbers as ids, file_urls, null fields and error: "" pass through', async () => {
	const body = [
		{ id: 7, prompt: null, file_urls: ['https://x.test/a.mp4', 'https://x.test/b.mp4'], error: '' },
		{ id: '8', file_url: '/files/c.mp4', extra: { a: [1] } },
		{ id: 9, status: 'processing', file_url: null },
	];
	sim.fault({ path: HISTORY, action: { respond: { status: 200, body } } });
	const output = good(await run(history()));
	expect(ids(output)).toEqual([7, '8', 9]);
	expect(output[0]!.json.file_url).toBe('https://x.test/a.mp4');
	expect(output[0]!.json.file_urls).toEqual(body[0]!.file_urls);
	expect(output[1]!.json).toMatchObject({
		file_url: `${sim.baseUrl}/files/c.mp4`,
		extra: { a: [1] },
	});
});

describe('options.download', () => {
	const make = (resource: string, operation: string) =>
		run({ resource, operation, prompt: 'P', download: false, options: {} });

	test('fetches every file with its own name and type, without the token', async () => {
		await start({ pace: 0.01, dialect: { history: 'paged' } });
		good(await make('video', 'textToVideo'));
		good(await make('image', 'create'));
		const result = await run(history({}, { download: true, outputField: 'file' }));
		const output = good(result);
		const [image, video] = sim.history;
		expect(output.map(({ binary }) => binary!.file!.fileName)).toEqual([
			`image-${image!.id}.png`,
			`video-${video!.id}.mp4`,
		]);
		for (const item of output) {
			const bytes = await result.bytes(item.binary!.file!);
			expect(bytes).toEqual(sim.fileBytes(item.json.file_url as string));
		}
		expect(sim.leaks).toEqual([]);
	});

	test('one file that is gone does not take the others along', async () => {
		await start({ pace: 0.01 });
		good(await make('video', 'textToVideo'));
		fill(1, 'gone');
		sim.fault({
			on: 'file',
			path: '/files/gone0',
			times: Infinity,
			action: { respond: { status: 410 } },
		});
		const subject = history({}, { download: true });
		const output = good(await run({ ...subject, onError: 'continueRegularOutput' }));
		expect(output).toHaveLength(2);
		expect(output[1]!.binary!.data!.mimeType).toBe('video/mp4');
	});
});

describe('bad input and bad answers', () => {
	test.each([0, -1, 1.5, '={{ "x" }}'])(
		'limit %j is named before anything is sent',
		async (limit) => {
			expect(bad(await run(history({ limit }))).message).toMatch(/'Limit'.*\[item 0\]/);
			expect(sim.requests).toEqual([]);
		},
	);

	test('a passing 503 and a 429 are read over, a refused token is not', async () => {
		fill(3);
		sim.fault({ path: HISTORY, action: { respond: { status: 503, body: '<html></html>' } } });
		sim.fault({
			path: HISTORY,
			after: 1,
			action: { respond: { status: 429, headers: { 'Retry-After': '1' } } },
		});
		expect(good(await run(history()))).toHaveLength(3);
		expect(requests('GET', HISTORY).map(({ status }) => status)).toEqual([503, 429, 200]);
		const refused = bad(await run(history(), { credential: { apiToken: 'another-token' } }));
		expect(refused.message).toMatch(/refused the API token/);
		expect(refused.all).not.toContain('another-token');
	});
});
