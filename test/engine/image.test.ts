import type { Dialect } from '../../simulator/simulator.mts';
import { allClosed, bad, good, looks, posts, requests } from './seen';
import { made, onCreate } from './service';
import { begin, image, run, sim, start } from './setup';

test('gives the file with its bytes, type, name and address, for one POST', async () => {
	const result = await run(image('A lighthouse – „blau“'), { binaryMode: 'filesystem' });
	const [item, ...rest] = good(result);
	expect(rest).toEqual([]);
	const [entry] = sim.history;
	expect(item!.json).toMatchObject({ id: entry!.id, type: 'image', file_url: entry!.file_url });
	expect(item!.pairedItem).toEqual({ item: 0 });
	const file = item!.binary!.data!;
	expect(file).toMatchObject({ fileName: `image-${entry!.id}.png`, mimeType: 'image/png' });
	expect(await result.bytes(file)).toEqual(sim.fileBytes(entry!.file_url));
	expect(requests('POST', '/').map(({ path, body }) => [path, body])).toEqual([
		['/v1/video/create-image', { prompt: 'A lighthouse – „blau“' }],
	]);
	expect(sim.leaks).toEqual([]);
});

const dialects: Array<Partial<Dialect>> = [
	{ imageEndEvent: 'finished' },
	{ imageEndEvent: 'image', completion: 'object', sseChunk: 1 },
	{ imageEndEvent: 'message', historyFiles: 'file_urls', sseStatus: 'object' },
	{ imageEndEvent: 'image_generation_status', sseStatus: 'bare', sseSpace: false },
	{ plainJson: true, itemStatus: 'MEDIA_GENERATION_STATUS_SUCCESSFUL' },
];
test.each(dialects)('whatever the end is called: %j', async (dialect) => {
	await start({ pace: 0.02, dialect });
	const [item] = good(await run(image('P', { outputField: 'pic', timeout: 5 })));
	expect(item!.json.file_url).toBe(sim.history[0]!.file_url);
	expect(item!.binary!.pic!.mimeType).toBe('image/png');
	expect(looks()).toBe(0);
});

test('a file that claims to be something else is what its bytes are', async () => {
	const [item] = good(await run(image('P [sim:wrong-type=video/mp4]')));
	expect(item!.binary!.data!).toMatchObject({ mimeType: 'image/png', fileExtension: 'png' });
});

test.each(['END', 'RESET'] as const)(
	'a stream lost by its %s is looked up; a video of the same prompt is not it',
	async (end) => {
		sim.history.push(made('v'));
		const sse = ['data: processing\n\n', { delayMs: 100 }, end];
		onCreate({ sse, finishesInHistoryAfterMs: 0 });
		const [item] = good(await run(image('P', { timeout: 3 })));
		expect(item!.json).toMatchObject({ id: sim.history[0]!.id, type: 'image' });
		expect(item!.binary!.data!.fileName).toBe(`image-${sim.history[0]!.id}.png`);
		expect(posts()).toBe(1);
	},
);

test('unsafe prompt, no credit and an empty prompt', async () => {
	expect(bad(await run(image('A [sim:unsafe]'))).message).toMatch(
		/rejected as unsafe \(UNSAFE_GENERATION\)/,
	);
	expect(bad(await run(image('A [sim:no-credits=sentence]'))).message).toMatch(/out of credit/);
	expect(posts()).toBe(2);
	expect(bad(await run(image('={{ "" }}'))).message).toMatch(/'Prompt' is empty.*\[item 0\]/);
	expect(posts()).toBe(2);
});

test('cancel closes the stream within a second', async () => {
	await start({ pace: 1 });
	const running = await begin(image('P'));
	await sim.waitFor(() => sim.openConnections() === 1);
	running.cancel();
	await allClosed(1000);
	await running.finished;
});
