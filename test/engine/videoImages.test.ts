import type { IBinaryData, IDataObject, INodeExecutionData } from 'n8n-workflow';
import type { BinaryMode } from '../../demo/n8n.mts';
import { PAGE } from '../service/bodies.mts';
import { event } from '../faults/row.mts';
import { bad, good, origins } from './seen';
import { ALWAYS, answer, made, onCreate, onFile, posts, requests } from './service';
import type { FaultAction } from '../../simulator/simulator.mts';
import { fakeTime, image, node, run, sim, start, video, workflow } from './setup';
import { hasten } from './time';

beforeEach(async () => await start({ pace: 0.01 }));

const ingredients = (binaryPropertyName: string, options: IDataObject = {}) => {
	const operation = 'ingredientsToVideo';
	return video('They dance', options, { operation, binaryPropertyName, download: false });
};
const frames = (binaryPropertyName: string, options: IDataObject = {}) => {
	const { prompt: _, ...fields } = ingredients(binaryPropertyName, options);
	return { ...fields, operation: 'framesToVideo' };
};

const PNG = Buffer.from('89504e470d0a1a0a', 'hex');
/** Starts as a PNG does; `size` bytes that base64 has to get right at every offset. */
const png = (size: number, seed = 1) => {
	const bytes = Buffer.alloc(size);
	for (let at = 0; at < size; at++) bytes[at] = (at * 31 * seed + (at >> 7)) & 0xff;
	PNG.copy(bytes);
	return bytes;
};
const file = (bytes: Buffer, changes: Partial<IBinaryData> = {}): IBinaryData => ({
	data: bytes.toString('base64'),
	mimeType: 'image/png',
	fileName: 'a.png',
	bytes: bytes.length,
	...changes,
});
const item = (binary: Record<string, IBinaryData>): INodeExecutionData => ({ json: {}, binary });
const sent = (at = 0) => {
	const { body } = requests('POST', '/v1/video/')[at]!;
	return ((body.ingredients ?? body.frames) as string[]).map((text) => Buffer.from(text, 'base64'));
};

describe.each<BinaryMode>(['default', 'filesystem'])('images in the %s mode', (binaryMode) => {
	/** Image → Text to Image first, so that the files lie where n8n itself has put them. */
	async function made(subject: IDataObject, options: IDataObject = {}) {
		const maker = node(image('={{ $json.p }}', options), { name: 'Maker', id: 'maker' });
		const items = [{ p: 'a' }, { p: 'b' }];
		const result = await run(workflow(maker, node(subject)), { items, binaryMode });
		const bytes = result.items('Maker').map(({ json }) => sim.fileBytes(json.file_url as string)!);
		return { result, bytes };
	}

	test('files of an earlier node are sent byte by byte, one request per item', async () => {
		const { result, bytes } = await made(ingredients('data'));
		expect(origins(good(result))).toEqual([0, 1]);
		const bodies = requests('POST', '/v1/video/ingredients').map(({ body }) => body);
		expect(bodies.map(({ prompt }) => prompt)).toEqual(['They dance', 'They dance']);
		const images = bodies.map(({ ingredients: [text] }) => Buffer.from(text, 'base64'));
		expect(images.sort(Buffer.compare)).toEqual(bytes.sort(Buffer.compare));
	});

	test('frames: other field name, without and with a prompt', async () => {
		const { result } = await made(frames(' pic '), { outputField: 'pic' });
		good(result);
		good((await made(frames('pic', { prompt: 'Pan' }), { outputField: 'pic' })).result);
		const keys = requests('POST', '/v1/video/frames').map(({ body }) => Object.keys(body).sort());
		const [without, withPrompt] = [['frames'], ['frames', 'prompt']];
		expect(keys).toEqual([without, without, withPrompt, withPrompt]);
		expect(requests('POST', '/v1/video/frames').at(-1)!.body.prompt).toBe('Pan');
	});
});

test.each<[string, (url: string) => unknown]>([
	['only its ID', () => ({ ids: ['late'] })],
	['a list of items', (url) => ({ items: [{ id: 'late', file_url: url }] })],
	['a URL in camel case', (videoUrl) => ({ videoUrl })],
])('a completion with %s is delivered, although the prompt proves nothing', async (_, dataOf) => {
	fakeTime();
	const { file_url } = made('late');
	const completion = event('video_generation_complete', dataOf(file_url));
	onCreate(answer(200, event('video_generation_status', 'processing') + completion));
	sim.history.push(made('late', { prompt: 'In other words' }), made('other'));
	const { result } = await hasten(ingredients('data'), { input: [item({ data: file(PNG) })] });
	expect(good(result).map(({ json }) => json.file_url)).toEqual([file_url]);
});

describe('several fields', () => {
	test('are sent in the order named, whatever their sizes', async () => {
		const sizes = [9, 10, 11, 49_151, 49_152, 49_153, 300_001];
		const files = sizes.map((size, index) => png(size, index + 1));
		const binary = Object.fromEntries(files.map((bytes, n) => [`f${n}`, file(bytes)]));
		const names = sizes.map((_, n) => `f${n}`).reverse();
		good(await run(frames(names.join(' ,\t')), { input: [item(binary)] }));
		expect(sent().map((bytes) => bytes.length)).toEqual([...sizes].reverse());
		expect(sent().every((bytes, n) => bytes.equals(files[sizes.length - 1 - n]!))).toBe(true);
	});

	const all = { a: file(png(9)), b: file(png(10)), 'c d': file(png(11)) };
	test.each<[title: string, field: string]>([
		['a list of names', "={{ ['c d', 'a', '', null] }}"],
		['a list of names as JSON text', '["c d", "a"]'],
		['a list of files', "={{ [$binary['c d'], $binary.a] }}"],
		['names and files', "={{ ['c d', [$binary.a]] }}"],
		['lines', 'c d\n a\n'],
	])('%s', async (_, field) => {
		good(await run(frames(field), { input: [item(all)] }));
		expect(sent().map((bytes) => bytes.length)).toEqual([11, 9]);
	});

	test('all files of an item', async () => {
		good(await run(frames('={{ $binary }}'), { input: [item(all)] }));
		expect(sent().map((bytes) => bytes.length)).toEqual([9, 10, 11]);
	});

	test("of n8n's combined binary mode, by their plain names", async () => {
		const maker = node(image('A'), { name: 'Maker', id: 'maker' });
		const settings = { binaryMode: 'combined' } as const;
		for (const field of ['data', '_files.data', '={{ $json._files }}']) {
			const subject = { ...workflow(maker, node(frames(field))), settings };
			const result = await run(subject, { binaryMode: 'filesystem' });
			const [{ json }] = result.items('Maker') as [INodeExecutionData];
			expect(json).toHaveProperty('_files.data.id');
			good(result);
			const [own] = sent(requests('POST', '/v1/video/').length - 1);
			expect(own!.equals(sim.fileBytes(json.file_url as string)!)).toBe(true);
		}
		const wrong = { ...workflow(maker, node(frames('other'))), settings };
		const { message } = bad(await run(wrong, { binaryMode: 'filesystem' }));
		expect(message).toMatch(/no binary field 'other' \(it has data/);
	});

	test('an image of unknown type is judged by its bytes', async () => {
		const untyped = file(png(99), { mimeType: 'application/octet-stream', fileName: 'x' });
		const typed = file(png(50), { mimeType: 'IMAGE/PNG; charset=binary' });
		good(await run(ingredients('data,two'), { input: [item({ data: untyped, two: typed })] }));
		expect(sent()).toEqual([png(99), png(50)]);
	});
});

const unknown = file(Buffer.from('Dear Sir'), { mimeType: 'application/octet-stream' });
const huge = file(png(9), {
	id: 'filesystem-v2:none',
	data: 'filesystem-v2',
	bytes: 300 * 1024 ** 2,
});
test.each([
	[
		'of unknown type that are no images',
		{ a: unknown },
		/'a'.*not an image Use a file that is an image/,
	],
	[
		'of the type null that are no images',
		{ a: { ...unknown, mimeType: null as never } },
		/'a'.*not an image Use a file that is an image/,
	],
	[
		'that n8n no longer has',
		{ b: file(png(9)), c: file(png(9), { id: 'filesystem-v2:none', data: 'filesystem-v2' }) },
		/^The file in 'c' could not be read: .* Run the node that provides it again \(charged/,
	],
	[
		'of the type of an image that are texts',
		{ a: file(png(9)), b: file(Buffer.from('Dear Sir')) },
		/'b'.*not an image Use a file that is an image/,
	],
	[
		'of more than 512 MB',
		{ a: huge, b: huge },
		/800 MB when encoded.* Use fewer or smaller images\./,
	],
])('files %s are not sent', async (_, binary, words) => {
	const fields = ingredients(Object.keys(binary).join());
	expect(bad(await run(fields, { input: [item({ ...binary })] })).all).toMatch(words);
	expect(sim.requests).toEqual([]);
});

describe('unfit files are named with field and item, before anything is sent', () => {
	const fit = file(png(9));
	const as = (mimeType: string, fileName = 'x') =>
		file(Buffer.from('Dear Sir or Madam'), { mimeType, fileName });
	test.each<[string, Record<string, IBinaryData>, string, RegExp]>([
		['no field named', { data: fit }, '={{ " , " }}', /'Reference Images' is empty/],
		[
			'a missing field',
			{ data: fit },
			'data, other',
			/^The input has no binary field 'other' \(it has data\)/,
		],
		['no file at all', {}, 'data', /^The input has no binary field 'data' \(it has none\)/],
		['a PDF', { data: as('application/pdf', 'a.pdf') }, 'data', /'data'.*a\.pdf.*not an image/],
		['a video', { a: fit, b: as('video/mp4') }, 'a,b', /'b'.*not an image/],
		['an empty file', { data: file(Buffer.alloc(0)) }, 'data', /'data' is empty/],
		...[null, 'iVBORw0KGgo=', [fit], { mimeType: 'image/png' }, { data: { type: 'Buffer' } }].map(
			(value): [string, Record<string, IBinaryData>, string, RegExp] => [
				`what a Code node took for a file: ${JSON.stringify(value)}`,
				{ data: value as never },
				'data',
				/'data' holds no file that n8n can read/,
			],
		),
	])('%s', async (_, binary, fields, message) => {
		// Nor is another item paid for, whose stream this failure would then cut.
		const names = fields.split(',').map((name) => name.trim());
		const input = [item(Object.fromEntries(names.map((name) => [name, fit]))), item(binary)];
		const error = bad(await run(ingredients(fields, { concurrency: 1 }), { input }));
		expect(error.message.replace(/^Row [12]: /, '')).toMatch(message);
		expect(error.message).toMatch(/^Row [12]: |in all 2 rows$/);
		if (message.source.includes('empty')) expect(error.description).not.toMatch(/must contain/);
		expect(sim.requests).toEqual([]);
	});
});

describe('images by address', () => {
	/** Makes images, and returns their addresses and bytes. */
	async function addresses(count: number) {
		const items = Array.from({ length: count }, (_, n) => ({ n }));
		const images = good(await run(image('={{ $json.n }}', { download: false }), { items }));
		const urls = images.map(({ json }) => json.file_url as string);
		return { urls, bytes: urls.map((url) => sim.fileBytes(url)!) };
	}

	test.each<[BinaryMode]>([['default'], ['filesystem']])(
		'are fetched, among fields and in order, in the %s mode',
		async (binaryMode) => {
			const { urls, bytes } = await addresses(2);
			const [first, second] = urls.map((url, n) => `${url}?size=1,${n}`);
			const input = [item({ data: file(png(9)) })];
			const lists = [`${first}, data, ${second}`, `={{ ["${first}", $binary.data, "${second}"] }}`];
			for (const [index, list] of lists.entries()) {
				good(await run(frames(list), { input, binaryMode }));
				const expected = [bytes[0]!, png(9), bytes[1]!];
				expect(sent(index + 2).map((one, n) => one.equals(expected[n]!))).toEqual([
					true,
					true,
					true,
				]);
			}
			// The token went to the API alone.
			expect(sim.leaks).toEqual([]);
		},
	);

	test.each<[string, () => FaultAction, RegExp]>([
		[
			'that is gone',
			() => answer(410, { error: 'expired' }),
			/downloaded: the file host .* 410 \(expired\)/,
		],
		['of a video', () => answer(200, Buffer.from('\0\0\0\x20ftypisom')), /is not an image/],
		[
			'with the token in it',
			() => ({ redirect: `/files/a.png?key=${sim.token}` }),
			/contains the API token/,
		],
	])('one %s is named, without its signature, and nothing is sent', async (_, action, words) => {
		const { urls } = await addresses(1);
		onFile(action(), ALWAYS);
		const result = await run(ingredients(`${urls[0]}?signature=abc`));
		const { message, description } = bad(result);
		expect(message).toContain(new URL(urls[0]!).pathname);
		expect(message).toMatch(words);
		expect(description).toContain('The request was not sent');
		expect(message + description).not.toMatch(/signature|charged/);
		expect(posts()).toBe(1);
	});

	test('one on an unknown host is named, and not taken for the service', async () => {
		fakeTime();
		const { result } = await hasten(ingredients('https://no-such-host.invalid/a.png'));
		const { message, description } = bad(result);
		expect(message).toContain('The image at https://no-such-host.invalid/a.png could not be ');
		expect(message).toContain('no-such-host.invalid could not be found on the network');
		expect(description).toContain("Check the image's URL");
		expect(posts()).toBe(0);
	});

	test('one that does not come in time is named, since nothing was sent', async () => {
		const { urls } = await addresses(1);
		onFile(answer(200, PAGE, { 'Content-Type': 'text/html' }), ALWAYS);
		const { message, description } = bad(await run(ingredients(urls[0]!, { timeout: 2 })));
		expect(message).toContain(new URL(urls[0]!).pathname);
		expect(description).toContain('The request was not sent');
		expect(posts()).toBe(1);
	});
});

test("a lost stream never ends with another customer's video: both are named, also by a retry", async () => {
	fakeTime();
	const subject = ingredients('data');
	const input = [item({ data: file(png(9)) })];
	const sse = [event('video_generation_status', 'processing'), 'END' as const];
	// Its own video comes after seven minutes, when the other's has long been there.
	onCreate({ sse, finishesInHistoryAfterMs: 420_000 });
	sim.history.unshift(made('other', { prompt: 'They dance' }));
	const { result, seconds } = await hasten(subject, { input });
	const { all } = bad(result);
	const own = sim.history.find(({ id }) => id !== 'other')!.id;
	expect(all).toMatch(/may be the result: .*has been charged.*only looks again/);
	expect(all).toContain(own);
	expect(all).toContain('other');
	expect(seconds).toBeLessThan(630);
	const again = await hasten(subject, { input, retryOf: result.run });
	const said = `${bad(result).description} Retry this execution, not an earlier one.`;
	expect(bad(again.result).description).toBe(said);
	expect(posts()).toBe(1);
	expect(again.seconds).toBeLessThan(10);
});

test("a retry of what an earlier version has sent never takes another customer's video either", async () => {
	fakeTime();
	const subject = ingredients('data');
	const input = [item({ data: file(png(9)) })];
	const sse = [event('video_generation_status', 'processing'), 'END' as const];
	onCreate({ sse, finishesInHistoryAfterMs: 9_000_000 });
	sim.history.unshift(made('other', { prompt: 'They dance' }));
	const { result } = await hasten(subject, { input });
	const saved = JSON.stringify(result.run);
	const retryOf = JSON.parse(saved.replaceAll('"hasHiddenInputs":true', '"withImages":true'));
	expect(JSON.stringify(retryOf)).not.toBe(saved);
	const again = await hasten(subject, { input, retryOf: retryOf as typeof result.run });
	expect(bad(again.result).all).toContain('other');
	expect(posts()).toBe(1);
});

test('the failure of a row leaves the streams of others until a retry can collect them', async () => {
	onFile(answer(410));
	const parameters = { ...ingredients('data'), prompt: '={{ $json.text }}', download: true };
	const binary = { data: file(PNG) };
	// The service names the second video's ID only when it is complete, long after the first row has failed.
	const input = ['One', 'Two [sim:slow=60]'].map((text) => ({ json: { text }, binary }));
	const subject = node(parameters, { retryOnFail: true, maxTries: 2, waitBetweenTries: 0 });
	const files = good(await run(subject, { input }));
	expect(files.map(({ json }) => json.prompt)).toEqual(['One', 'Two [sim:slow=60]']);
	expect(posts()).toBe(2);
});
