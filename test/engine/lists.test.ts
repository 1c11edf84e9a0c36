import type { IDataObject } from 'n8n-workflow';
import type { Dialect } from '../../simulator/simulator.mts';
import { expectServed, good, hints, only } from './seen';
import { ALWAYS, answer, looks, made, onFile, onHistory, requests } from './service';
import {
	account,
	CONTINUE,
	HISTORY,
	history,
	image,
	node,
	run,
	sim,
	start,
	video,
	voices,
} from './setup';

/* Voices, history, account. */

const voiceRequests = () => requests('GET', '/v1/labs/voices');

test.each<Partial<Dialect>>([{ voices: 'paged', pageEcho: 'wrong' }, { voices: 'array' }])(
	'all voices, each once: %j',
	async (dialect) => {
		await start({ dialect });
		const output = good(await run(voices({ returnAll: true })));
		expect(output.map(({ json }) => json.voice_id)).toEqual(sim.voiceIds());
		for (const { pairedItem } of output) expect(pairedItem).toEqual({ item: 0 });
		expect(voiceRequests()[0]?.query).toMatchObject({ page: '0', page_size: '100' });
		expect(voiceRequests()[0]?.headers.authorization).toBe(`Bearer ${sim.token}`);
	},
);

test('a redirected reading has its query once', async () => {
	onHistory({ redirect: '/v1/video/histories?page=1&page_size=5' });
	sim.fault({ path: /page_size=.*page_size=/, ...ALWAYS, action: answer(404, {}) });
	good(await run(image('P')));
	expect(good(await run(history({ limit: 5 })))).toHaveLength(1);
	expect(looks()).toBe(2);
});

test('filters are sent', async () => {
	await start({ dialect: { voices: 'paged' } });
	const traits = { language: 'en', gender: 'female', age: 'young', category: 'premade' };
	const same = { ...traits, search: 'a', sort: 'name' };
	const options = { ...same, useCases: 'narration' };
	good(await run(voices({ returnAll: true, options })));
	expect(voiceRequests()[0]?.query).toMatchObject({ ...same, use_cases: 'narration' });
});

test.each([
	['de', ['de']],
	[' deutsch ', ['de']],
	['Klingon', ['Klingon']],
	['Suomi', ['fi', 'Suomi']],
])('the language %s is asked for as %j', async (language, sent) => {
	await start({ dialect: { voices: 'paged' } });
	const result = await run(voices({ returnAll: true, options: { language } }));
	const found = good(result).map(({ json }) => String(json.language).trim());
	expect([...new Set(voiceRequests().map(({ query }) => query.language))]).toEqual(sent);
	expect([...new Set(found)]).toEqual(sent.filter((code) => code === 'de'));
	expect(hints(result).join()).toMatch(found.length > 0 ? /^$/ : /^No voices match\. /);
});

test.each([
	[200, []],
	[204, ''],
])('an account without voices is told from filters that match none: %d', async (status, body) => {
	sim.fault({ path: '/v1/labs/voices', ...ALWAYS, action: answer(status, body) });
	const result = await run(voices());
	expect([good(result), hints(result)]).toEqual([
		[],
		['The service lists no voices for this account'],
	]);
});

test.each(['quota', 'balance'] as const)('account: %s', async (shape) => {
	await start({ dialect: { account: shape } });
	const { json, pairedItem } = only(await run(account));
	expect(json).toHaveProperty(shape === 'quota' ? 'available_quota' : 'credits');
	expect(pairedItem).toEqual({ item: 0 });
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
const idsOf = (items: Array<{ json: IDataObject }>) => items.map(({ json }) => json.id);
const numbered = (count: number) => Array.from({ length: count }, (_, n) => `e${n}`);

test.each<Partial<Dialect>>([
	{ history: 'paged', pageEcho: 'wrong', historyNumbersAsStrings: true },
	{ history: 'array' },
])('every entry once, in order, with pairedItem: %j', async (dialect) => {
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

test('a limit is kept, by default 50; an empty history is no error', async () => {
	expect(good(await run(history()))).toEqual([]);
	fill(130);
	expect(idsOf(good(await run(history())))).toEqual(numbered(50));
	expect(idsOf(good(await run(history({ limit: 120 }))))).toEqual(numbered(120));
	expect(looks()).toBe(1 + 1 + 2);
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
		for (const item of output) await expectServed(result, item, 'file');
		expect(sim.leaks).toEqual([]);
	});

	test('fetches every file of an entry that has several', async () => {
		await start({ pace: 0.01 });
		good(await run(video('P', {}, { download: false })));
		good(await run(image('P', {}, { download: false })));
		const [drawn, clip] = sim.history.splice(0);
		const urls = [clip!.file_url, drawn!.file_url];
		sim.history.push({ ...clip!, file_url: '', file_urls: urls } as never);
		const result = await run(history({}, { download: true, outputField: 'file' }));
		const item = only(result);
		const bytes = await Promise.all(
			['file', 'file2'].map((name) => result.bytes(item.binary![name]!)),
		);
		expect(Object.keys(item.binary!)).toEqual(['file', 'file2']);
		expect(bytes.map((each, index) => each.equals(sim.fileBytes(urls[index]!)!))).toEqual([
			true,
			true,
		]);
	});

	test('one file that is gone does not take the others along', async () => {
		await start({ pace: 0.01 });
		good(await run(video('P', {}, { download: false })));
		fill(1, 'gone');
		onFile(answer(410), { path: '/files/video/gone0', ...ALWAYS });
		const output = good(await run(node(history({}, { download: true }), CONTINUE)));
		expect(output).toHaveLength(2);
		expect(output[1]!.binary!.data!.mimeType).toBe('video/mp4');
		// Nothing was charged by this operation, which is itself the one that other messages advise.
		const { description } = output[0]!.json;
		expect(description).toMatch(/^Get the file later, at no extra charge, or here: http/);
	});
});
