import { readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { drip, FakeService, type Handler } from '../service/fakeService.mts';
import { status } from '../faults/row.mts';
import { MIB } from '../service/bodies.mts';
import { split } from './longText';
import { bad, good, hints, only } from './seen';
import { begin, EACH, image, node, RETRY, run, sim, start, fakeTime, texts, video } from './setup';
import { made, onCreate, posts } from './service';
import { hasten, pass, passUntil, passWhile } from './time';

/* What takes long before and in a stream: the clocks are hastened. */

let front: FakeService;
beforeEach(async () => {
	await start({ pace: 0.01 });
	front = await FakeService.inFrontOf(sim.baseUrl);
	fakeTime();
});
afterEach(async () => await front.stop());

/** The service makes it, and its stream says this every ten seconds, or there is no answer at all. */
const saying =
	(piece?: string, isMade = true): Handler =>
	(request, response: ServerResponse) => {
		if (isMade) front.forward(request);
		if (piece === undefined) return;
		response.writeHead(200, { 'content-type': 'text/event-stream' }).write(piece);
		drip(response, piece, 10_000);
	};
const BEAT = ': beat\n\n';
const generate = async (handle: Handler, subject: Parameters<typeof run>[0]) => {
	front.on(/^POST/, handle);
	return await hasten(subject, { credential: { baseUrl: front.url } });
};
const sent = () => front.requests.filter((line) => line.startsWith('POST')).length;

test('a stream that only beats is silent: the result is found after Idle Timeout', async () => {
	const { result, seconds } = await generate(saying(BEAT), video('A', { idleTimeout: 20 }));
	expect(good(result)[0]!.binary!.data!.mimeType).toBe('video/mp4');
	expect(hints(result).join()).toContain('searched the history');
	expect(seconds).toBeLessThan(35);
	expect(sent()).toBe(1);
});

test('a file in place of the stream that comes slowly is not silent', async () => {
	const bytes = await readFile('simulator/media/landscape.mp4');
	const pieceLength = Math.ceil(bytes.length / 5);
	const slowly: Handler = async (_request, response) => {
		response.writeHead(200, { 'content-type': 'video/mp4' });
		for (let from = 0; from < bytes.length; from += pieceLength) {
			response.write(bytes.subarray(from, from + pieceLength));
			await new Promise((next) => setTimeout(next, 10_000));
		}
		response.end();
	};
	const { result } = await generate(slowly, video('A', { idleTimeout: 20 }));
	expect((await result.bytes(only(result).binary!.data!)).equals(bytes)).toBe(true);
});

test.each([
	['was in progress', status('processing'), 'The result did not arrive'],
	['only beat', BEAT, 'An earlier attempt sent this request, but it is unclear whether .* it'],
])('the last attempt tells why the first one failed, whose stream %s', async (_, piece, what) => {
	const handle: Handler = (_request, response) => {
		response.writeHead(200, { 'content-type': 'text/event-stream' }).write(piece);
		drip(response, BEAT, 10_000);
	};
	const { result } = await generate(handle, node(video('A', { idleTimeout: 20 }), RETRY));
	const { message } = bad(result);
	expect(message).toMatch(
		new RegExp(`^${what}: the service sent nothing for 20 seconds \\(.* UTC\\)$`),
	);
	expect(sent()).toBe(1);
});

test('the last attempt never tells of a cancellation if the first one failed for another row', async () => {
	const refuse: Handler = (_request, response) =>
		setTimeout(() => response.writeHead(400).end('{"error":"This was refused"}'), 1000);
	front.on(/^POST/, saying(status('processing'), false), 1).on(/^POST/, refuse, 1);
	const { result } = await hasten(node(video(EACH, { idleTimeout: 20 }), RETRY), {
		...texts('A', 'B'),
		credential: { baseUrl: front.url },
	});
	expect(bad(result).message).toMatch(
		/^Row 1: The result did not arrive: the attempt ended early \(.* UTC\)$/,
	);
	expect(sent()).toBe(3);
});

test('a stream is not cut in its silence if its video could not be recognized elsewhere', async () => {
	const slow: Handler = (_request, response) => {
		response.writeHead(200, { 'content-type': 'text/event-stream' }).write(status('processing'));
		setTimeout(() => response.end(completion), 330_000);
	};
	const completion = `event: video_generation_complete\ndata: [${JSON.stringify(made('own'))}]\n\n`;
	const data = Buffer.from('89504e470d0a1a0a', 'hex').toString('base64');
	const input = [
		{ json: {}, binary: { data: { data, mimeType: 'image/png', fileName: 'a.png' } } },
	];
	const fields = { operation: 'ingredientsToVideo', binaryPropertyName: 'data', download: false };
	front.on(/^POST/, slow);
	const { result } = await hasten(video('A', {}, fields), {
		input,
		credential: { baseUrl: front.url },
	});
	expect(good(result)[0]!.json.id).toBe('own');
});

describe.each([
	['only beats', BEAT],
	['is in progress', status('processing')],
	['does not begin', undefined],
])('a stream that %s when the time is up', (_, piece) => {
	test.each([
		['video', video],
		['image', image],
	])('%s: one last look into the history finds it', async (_kind, make) => {
		const { result, seconds } = await generate(saying(piece), make('A', { timeout: 60 }));
		expect(good(result)[0]!.binary!.data!.fileSize).toBeDefined();
		expect(seconds).toBeGreaterThan(50);
		expect(seconds).toBeLessThan(65);
		expect(sent()).toBe(1);
	});

	test('if it is not there: that no result came in time, and a retry does not pay again', async () => {
		const { result, seconds } = await generate(
			saying(piece, false),
			node(video('A', { timeout: 60 }), RETRY),
		);
		expect(bad(result).message).toContain('No result after 60 seconds');
		expect(seconds).toBeGreaterThan(110);
		expect(sent()).toBe(1);
	});
});

test.each([{ success: false }, { error: 'Upstream is busy, retrying' }, { code: 429 }])(
	'an entry in progress with %j is no failure: its video is not requested again',
	async (more) => {
		fakeTime();
		const sse = [status({ id: 'a', status: 'processing' }), 'RESET'];
		onCreate({ sse } as never, { times: 1 });
		const entry = made('a', { file_url: '', status: 'processing' });
		sim.history.unshift({ ...entry, ...more } as never);
		setTimeout(() => sim.history.splice(0, 1, made('a')), 60_000);
		const { result } = await hasten(node(video('P', {}, { download: false }), RETRY));
		expect(good(result)[0]!.json.id).toBe('a');
		expect(posts()).toBe(1);
	},
);

test('an error for one of several, and then nothing: the history is searched, and a retry does not pay again', async () => {
	const error = 'event: error\ndata: {"error":"UNSAFE"}\n\n';
	const handle: Handler = (_, response) => {
		response.writeHead(200, { 'content-type': 'text/event-stream' }).write(error);
		drip(response, BEAT, 10_000);
		// The others come, but this service shortens prompts, so nothing shows whose they are.
		setTimeout(() => sim.history.unshift(made('other', { prompt: 'A boat' })), 90_000);
	};
	const subject = node(video('A boat on the sea', {}, { numberOfVideos: 2 }), RETRY);
	const { result, seconds } = await generate(handle, subject);
	expect(bad(result).message).toContain('UNSAFE');
	expect(bad(result).description).toContain("isn't sent again");
	expect(seconds).toBeGreaterThan(600);
	expect(seconds).toBeLessThan(660);
	expect(sent()).toBe(1);
});

/** Begins the node, and resolves with its result, which must come within so many seconds. */
async function withinSeconds(seconds: number, ...of: Parameters<typeof begin>) {
	const { finished } = await begin(...of);
	let isOver = false;
	void finished.finally(() => (isOver = true));
	await passUntil(() => isOver, seconds);
	return await finished;
}

test('images that wait for others, whose service is slow, leave the memory to sounds', async () => {
	const result = await passWhile(run(image('A'), { binaryMode: 'filesystem' }));
	// Two count as more than there is room for.
	const large = { ...only(result).binary!.data!, bytes: 60 * MIB };
	const fields = { operation: 'ingredientsToVideo', binaryPropertyName: 'data', download: false };
	front.on(/^POST/, (request) => request.resume());
	const images = await begin(video('A', {}, fields), {
		...{ credential: { baseUrl: front.url, apiToken: 'another' }, binaryMode: 'filesystem' },
		input: Array.from({ length: 2 }, () => ({ json: {}, binary: { data: large } })),
	});
	await passUntil(() => sent() === 1);
	await pass(5);
	const speaking = split('One sentence. Another sentence.', { splitLongerThan: 20, timeout: 15 });
	expect(only(await withinSeconds(20, speaking)).binary!.data!.mimeType).toBe('audio/wav');
	expect(sent()).toBe(1);
	images.cancel();
	await passWhile(images.finished);
});

test('images that wait for their turn leave the memory to others, before each attempt', async () => {
	// n8n writes the image to the disk, and later reads it there, which takes real time.
	const result = await passWhile(run(image('A'), { binaryMode: 'filesystem' }));
	// It counts as large as the room is.
	const small = only(result).binary!.data!;
	const large = { ...small, bytes: 100 * MIB };
	const fields = { operation: 'ingredientsToVideo', binaryPropertyName: 'data', download: false };
	const refusal = () =>
		new Promise((resolve) => {
			const busy = { 'retry-after': '30' };
			front.on(/^POST/, (_, response) => response.writeHead(429, busy).end(resolve), 1);
		});
	const refusals = [refusal(), refusal()];
	const setting = { credential: { baseUrl: front.url }, binaryMode: 'filesystem' } as const;
	const images = await begin(video('A', {}, fields), {
		...setting,
		input: [{ json: {}, binary: { data: large } }],
	});
	for (const [index, refused] of refusals.entries()) {
		await passWhile(refused);
		const another = await withinSeconds(20, video('B', { timeout: 15 }, fields), {
			...{ binaryMode: 'filesystem', input: [{ json: {}, binary: { data: small } }] },
		});
		expect(only(another).json.prompt).toBe('B');
		expect(sent()).toBe(index + 1);
	}
	expect(good(await passWhile(images.finished))).toHaveLength(1);
});
