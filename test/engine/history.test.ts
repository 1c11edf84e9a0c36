import type { IDataObject } from 'n8n-workflow';
import type { Dialect } from '../../simulator/simulator.mts';
import { bad, good, looks, requests } from './seen';
import { ALWAYS, answer, made, onFile, onHistory } from './service';
import { CONTINUE, HISTORY, image, node, run, sim, start, video } from './setup';

const history = (parameters: IDataObject = {}, options: IDataObject = {}) => ({
	resource: 'history',
	operation: 'getAll',
	...parameters,
	options,
});

/** `count` entries, newest first: e0, e1, … */
function fill(count: number, prefix = 'e') {
	const entries = Array.from({ length: count }, (_, n) =>
		made(`${prefix}${n}`, {
			prompt: `Prompt ${n}`,
			type: n % 2 === 0 ? 'video' : 'image',
			created_at: new Date(Date.now() - n * 1000).toISOString(),
		}),
	);
	sim.history.unshift(...entries);
}
/** What the service says of its entries. */
const shown = () => sim.history.map(({ owner: _, ...entry }) => entry);
const idsOf = (items: Array<{ json: IDataObject }>) => items.map(({ json }) => json.id);
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
		expect(idsOf(output)).toEqual(numbered(250));
		for (const { pairedItem } of output) expect(pairedItem).toEqual({ item: 0 });
		const { file_url } = sim.history[3]!;
		expect(output[3]!.json).toMatchObject({ prompt: 'Prompt 3', file_url });
		const [first] = requests('GET', HISTORY);
		expect(first!.query.page).toBe('1');
		expect(first!.headers.authorization).toBe(`Bearer ${sim.token}`);
		expect(looks()).toBeLessThanOrEqual(4);
	});

	test.each([1, 50, 100, 120])('limit %d', async (limit) => {
		await start({ dialect });
		fill(130);
		expect(idsOf(good(await run(history({ limit }))))).toEqual(numbered(limit));
		expect(looks()).toBe(Math.ceil(limit / 100));
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
	onHistory({ delayMs: 300 }, { path: /page=2/ });
	const running = run(history({ returnAll: true }));
	await sim.waitFor(() => looks() === 2);
	fill(3, 'new');
	expect(idsOf(good(await running))).toEqual(numbered(205));
});

test('a service that returns the same page again and again is soon asked no more', async () => {
	await start({ dialect: { history: 'paged' } });
	fill(100);
	const body = { data: shown(), total: '100000', page: '1', page_size: '100' };
	onHistory(answer(200, body), ALWAYS);
	expect(good(await run(history({ returnAll: true })))).toHaveLength(100);
	expect(looks()).toBeLessThanOrEqual(2);
});

test('a service with smaller pages than asked for', async () => {
	fill(45);
	for (const page of [1, 2, 3]) {
		const data = shown().slice(20 * page - 20, 20 * page);
		const body = { data, page: `${page}`, page_size: '20', total_pages: '3' };
		onHistory(answer(200, body), { path: new RegExp(`page=${page}&`) });
	}
	expect(idsOf(good(await run(history({ returnAll: true }))))).toEqual(numbered(45));
});

test('numbers as ids, file_urls, null fields and error: "" pass through', async () => {
	const body = [
		{ id: 7, prompt: null, file_urls: ['https://x.test/a.mp4', 'https://x.test/b.mp4'], error: '' },
		{ id: '8', file_url: '/files/c.mp4', extra: { a: [1] } },
		{ id: 9, status: 'processing', file_url: null },
	];
	onHistory(answer(200, body));
	const output = good(await run(history()));
	expect(idsOf(output)).toEqual([7, '8', 9]);
	expect(output[0]!.json.file_url).toBe('https://x.test/a.mp4');
	expect(output[0]!.json.file_urls).toEqual(body[0]!.file_urls);
	expect(output[1]!.json).toMatchObject({
		file_url: `${sim.baseUrl}/files/c.mp4`,
		extra: { a: [1] },
	});
});

describe('options.download', () => {
	test('fetches every file with its own name and type, without the token', async () => {
		await start({ pace: 0.01, dialect: { history: 'paged' } });
		good(await run(video('P', {}, { download: false })));
		good(await run(image('P', {}, { download: false })));
		const result = await run(history({}, { download: true, outputField: 'file' }));
		const output = good(result);
		const [first, second] = sim.history;
		expect(output.map(({ binary }) => binary!.file!.fileName)).toEqual([
			`image-${first!.id}.png`,
			`video-${second!.id}.mp4`,
		]);
		for (const item of output) {
			const bytes = await result.bytes(item.binary!.file!);
			expect(bytes).toEqual(sim.fileBytes(item.json.file_url as string));
		}
		expect(sim.leaks).toEqual([]);
	});

	test('one file that is gone does not take the others along', async () => {
		await start({ pace: 0.01 });
		good(await run(video('P', {}, { download: false })));
		fill(1, 'gone');
		onFile(answer(410), { path: '/files/video/gone0', ...ALWAYS });
		const output = good(await run(node(history({}, { download: true }), CONTINUE)));
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
		onHistory(answer(503, '<html></html>'));
		onHistory(answer(429, '', { 'Retry-After': '1' }), { after: 1 });
		expect(good(await run(history()))).toHaveLength(3);
		expect(requests('GET', HISTORY).map(({ status }) => status)).toEqual([503, 429, 200]);
		const refused = bad(await run(history(), { credential: { apiToken: 'another-token' } }));
		expect(refused.message).toMatch(/refused the API token/);
		expect(refused.all).not.toContain('another-token');
	});
});
