import type { Dialect, HistoryItem, RawStreamStep } from '../../simulator/simulator.mts';
import { bad, good, looks, posts } from './seen';
import { answer, made, onCreate } from './service';
import { run, sim, start, video } from './setup';
import { raw } from './videos';

const event = (name: string, data: string) => `event: ${name}\ndata: ${data}\n\n`;
/** The end of a stream, whatever it is called. */
const end = (data: unknown) => event('x_complete', JSON.stringify(data));

/** The completion of a video that exists: made before, by another prompt. */
async function madeBefore() {
	good(await run(video('Made before', {}, { download: false })));
	return made('new-id', { file_url: sim.history[0]!.file_url });
}

describe('streams of every dialect give the same result', () => {
	const dialects: Array<Partial<Dialect>> = [
		{ sseStatus: 'bare', sseSpace: false },
		{ sseStatus: 'object', sseStatusWords: 'more', completion: 'object' },
		{ sseNewline: '\r\n', sseComments: true },
		{ sseNewline: '\r\n', sseChunk: 1, sseSpace: false, sseStatus: 'bare' },
		{ sseChunk: 1 },
		{ sseChunk: 7, sseComments: true, sseNewline: '\r\n', sseStatus: 'object' },
		{ plainJson: true },
		{ plainJson: true, completion: 'object', historyFiles: 'file_urls' },
		{ historyFiles: 'file_urls', itemStatus: 'MEDIA_GENERATION_STATUS_SUCCESSFUL' },
		{ redirectFiles: true, completion: 'object' },
	];
	test.each(dialects)('%j', async (dialect) => {
		await start({ pace: 0.02, dialect });
		const prompt = 'Ein Boot – „naß“ 🚣';
		const result = await run(video(prompt, { idleTimeout: 5 }));
		const [item, ...rest] = good(result);
		expect(rest).toEqual([]);
		const [entry] = sim.history;
		expect(item!.json).toMatchObject({ id: entry!.id, prompt, file_url: entry!.file_url });
		const bytes = await result.bytes(item!.binary!.data!);
		expect(bytes).toEqual(sim.fileBytes(entry!.file_url));
		expect(looks()).toBe(0);
		expect(sim.creates).toBe(1);
	});

	test.each<[string, (data: HistoryItem) => RawStreamStep[]]>([
		[
			'no final blank line',
			(data) => [`event: x_complete\ndata: ${JSON.stringify([data])}`, 'END'],
		],
		[
			'data in many lines',
			(data) => [
				event('x_complete', JSON.stringify([data], null, 1).replaceAll('\n', '\ndata: ')),
				'END',
			],
		],
		['bare CR as line end', (data) => [end(data).replaceAll('\n', '\r'), 'END']],
		['a byte order mark', (data) => [`\uFEFF${end(data)}`, 'END']],
		['JSON in a JSON string', (data) => [end(JSON.stringify([data])), 'END']],
		['no event name at all', (data) => [`data: ${JSON.stringify(data)}\n\n`, 'END']],
		['an unheard-of end event', (data) => [event('finito', JSON.stringify(data)), 'END']],
		[
			'the address under url',
			({ file_url, ...data }) => [event('done', JSON.stringify({ ...data, url: file_url })), 'END'],
		],
		['a stream left open after the result', (data) => [end([data])]],
		['a reset after the result', (data) => [end([data]), { delayMs: 50 }, 'RESET']],
		['an error after the result', (data) => [end([data]), event('error', '"late"'), 'END']],
		['error: null in the result', (data) => [end([{ ...data, error: null }]), 'END']],
		[
			'unknown words and events first',
			(data) => [
				': hello\n\nid: 7\nretry: 10\n\n',
				event('video_generation_status', '42'),
				event('video_generation_status', '{"stage":"x","file_url":null,"error":""}'),
				event('ping', ''),
				event('queue_position', '[3]'),
				end([data]),
				'END',
			],
		],
		['a plain object that wraps the list', (data) => [JSON.stringify({ data: [data] }), 'END']],
		[
			'a plain answer with blank lines before',
			(data) => [`\n\n  ${JSON.stringify([data])}\n`, 'END'],
		],
	])('%s', async (_, stream) => {
		await start({ pace: 0.005 });
		const data = await madeBefore();
		raw(stream(data));
		const [item, ...rest] = good(await run(video('P', { timeout: 4 })));
		expect(rest).toEqual([]);
		expect(item!.json).toMatchObject({ id: 'new-id', file_url: data.file_url });
		expect(item!.binary!.data!.fileName).toBe('video-new-id.mp4');
		expect(item!.json).not.toHaveProperty('error');
		expect(looks()).toBe(0);
	});

	test('a completion cut inside a UTF-8 character', async () => {
		await start({ pace: 0.005 });
		const data = await madeBefore();
		const bytes = Buffer.from(end([{ ...data, prompt: 'é🚣' }]));
		const cut = bytes.indexOf(0xf0) + 2;
		raw([bytes.subarray(0, cut), { delayMs: 60 }, bytes.subarray(cut), 'END']);
		const [item] = good(await run(video('P', { timeout: 4 })));
		expect(item!.json.prompt).toBe('é🚣');
	});

	test('a relative address is taken from the API', async () => {
		await start({ pace: 0.005, dialect: { redirectFiles: true } });
		const data = await madeBefore();
		const file_url = new URL(data.file_url).pathname;
		raw([event('x_complete', JSON.stringify([{ ...data, file_url }])), 'END']);
		const [item] = good(await run(video('P', { timeout: 4 })));
		expect(item!.json.file_url).toBe(data.file_url);
		expect(item!.binary!.data!.mimeType).toBe('video/mp4');
		expect(sim.leaks).toEqual([]);
	});
});

describe('an error event is a failure in the words of the service', () => {
	const shapes: Array<Dialect['errorShape']> = ['object', 'message', 'string', 'broken'];
	test.each(shapes)(
		'shape %s: unsafe prompt and empty credit are told apart',
		async (errorShape) => {
			await start({ dialect: { errorShape } });
			const unsafe = bad(await run(video('A [sim:unsafe]')));
			expect(unsafe.message).toMatch(/UNSAFE_GENERATION.*\[item 0\]/);
			expect(unsafe.description).toMatch(/prompt/);
			const credit = bad(await run(video('B [sim:no-credits=event]')));
			expect(credit.message).toMatch(/out of credit.*\[item 0\]/);
			expect(credit.description).toMatch(/credit/);
			expect(posts()).toBe(2);
			expect(looks()).toBe(0);
		},
	);

	test.each(['{}', '', 'null', '[]', '{"code":500}', '"<b>boom</b>"'])('data %j', async (data) => {
		raw([event('error', data), 'END']);
		const error = bad(await run(video('P', { timeout: 3 })));
		expect(error.message).toMatch(/could not generate this/);
		expect(error.message).not.toMatch(/[<>{}]|undefined|null/);
		expect(looks()).toBe(0);
	});

	test('the token in the words of the service is not shown', async () => {
		raw([event('error', JSON.stringify({ message: `no ${sim.token} today` })), 'END']);
		expect(bad(await run(video('P'))).all).not.toContain(sim.token);
	});

	test('a plain { error } with status 200 is a failure', async () => {
		await start({ dialect: { plainJson: true } });
		expect(bad(await run(video('A [sim:unsafe]'))).message).toMatch(/UNSAFE_GENERATION/);
		expect(looks()).toBe(0);
	});

	test('a web page with status 200 is said at once and not asked for again', async () => {
		const body = '<!DOCTYPE html><html><body>Just a moment…</body></html>';
		onCreate(answer(200, body));
		const error = bad(await run(video('P', { timeout: 3 })));
		expect(error.message).toMatch(/does not come from a media generation service/);
		expect(error.description).toMatch(/History/);
		expect(posts()).toBe(1);
	});
});
