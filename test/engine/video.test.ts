import { readFile } from 'node:fs/promises';
import type { StreamStep } from '../../simulator/simulator.mts';
import { bad, expectServed, good, hints, only, origins, out } from './seen';
import { answer, looks, onCreate, onFile, posts, requests } from './service';
import {
	CONTINUE,
	fakeTime,
	image,
	node,
	RETRY,
	run,
	said,
	sim,
	speech,
	start,
	video,
} from './setup';
import { hasten } from './time';
import { event } from '../faults/row.mts';

const LANDSCAPE = { aspect_ratio: 'VIDEO_ASPECT_RATIO_LANDSCAPE' };

test.each([
	[
		'video',
		video,
		'/v1/video/text-to-video',
		{ ...LANDSCAPE, number_of_videos: 1 },
		LANDSCAPE,
		{ mimeType: 'video/mp4', fileExtension: 'mp4' },
	],
	[
		'image',
		image,
		'/v1/video/create-image',
		{},
		{},
		{ mimeType: 'image/png', fileExtension: 'png' },
	],
])(
	'%s: the file with its bytes, type, name and address, for one POST',
	async (type, fields, path, sent, progress, file) => {
		const prompt = 'A paper boat – „blau“';
		const result = await run(fields(prompt), { binaryMode: 'filesystem' });
		const { json, binary, pairedItem } = only(result);
		const { id, file_url, created_at } = sim.history[0]!;
		expect(json).toEqual({
			...{ id, type, prompt, file_url, created_at, status: 'completed' },
			...progress,
		});
		expect(pairedItem).toEqual({ item: 0 });
		expect(binary!.data).toMatchObject({
			...file,
			fileName: `${type}-${id}.${file.fileExtension}`,
		});
		await expectServed(result);
		const [post, ...others] = requests('POST', '/');
		expect([post!.path, post!.body, others]).toEqual([path, { prompt, ...sent }, []]);
		expect(post!.headers.authorization).toBe(`Bearer ${sim.token}`);
		expect([sim.leaks, looks()]).toEqual([[], 0]);
	},
);

describe('video: textToVideo', () => {
	test('without download fetches no file but gives the address; outputField is heeded', async () => {
		const none = only(await run(video('One', {}, { download: false })));
		expect(none.binary).toBeUndefined();
		expect(none.json.file_url).toBe(sim.history[0]!.file_url);
		expect(sim.requests.filter((record) => record.receivedBy === 'file')).toEqual([]);
		const named = only(await run(video('Two', { outputField: 'clip' })));
		expect(Object.keys(named.binary!)).toEqual(['clip']);
	});

	test('several videos of one request all come out, each with a file', async () => {
		const result = await run(video('Four boats', {}, { numberOfVideos: 4 }));
		const output = good(result);
		expect(origins(output)).toEqual([0, 0, 0, 0]);
		expect(new Set(output.map(({ binary }) => binary!.data!.fileName)).size).toBe(4);
		for (const item of output) await expectServed(result, item);
		expect(sim.chargedCalls).toBe(1);
		expect(hints(result)).toEqual([]);
	});
});

test.each([
	[
		'video',
		video,
		'requesting the video…starting…processing…generating…done…downloading the video',
	],
	['speech', speech, 'sending the text…created…%…completed…downloading the file'],
])('progress reaches the person who waits: %s', async (_, of, words) => {
	await start({ dialect: { sseStatusWords: 'more', sseStatus: 'object' } });
	good(await run(of('Slow boat')));
	expect(said.join()).toMatch(new RegExp(words.replaceAll('…', '[^]*')));
	expect(said.join()).not.toContain(sim.token);
});

test.each([
	['video', video],
	['speech', speech],
])('who waits sees that the service refuses requests: %s', async (_, of) => {
	onCreate(answer(429, {}, { 'Retry-After': '1' }));
	good(await run(of('Slow boat')));
	expect(said.join()).toContain('accepts no more requests now');
});

/* What test/unit/generationEvents.test.ts can't show: when a stream counts as over. */
const END = event('video_generation_complete', [{ id: 'new', file_url: '/files/a.mp4' }]);
test.each<[string, StreamStep[]]>([
	['is left open after it', [END]],
	['is reset after it', [END, { delayMs: 50 }, 'RESET']],
])('the result comes out although the stream %s', async (_, sse) => {
	onCreate({ sse });
	onFile(answer(200, '\0a video', { 'Content-Type': 'video/mp4' }));
	const { json, binary } = only(await run(video('P', { timeout: 30 })));
	expect(json).toEqual({ id: 'new', file_url: `${sim.baseUrl}/files/a.mp4` });
	expect(binary!.data!.fileName).toBe('video-new.mp4');
	expect([looks(), sim.leaks.length]).toEqual([0, 0]);
});

test('a file that is gone is named with the others of its request', async () => {
	onFile(answer(410));
	const { description } = bad(await run(video('P', {}, { numberOfVideos: 3 })));
	expect(description).toContain('Get its files with History → Get Many, or here: ');
	for (const { file_url } of sim.history) expect(description).toContain(file_url);
	expect(sim.history).toHaveLength(3);
});

test('a file that its host does not send keeps no other file of its request from coming out', async () => {
	onFile({ hang: true });
	fakeTime();
	const hung = node(video('P', { timeout: 30 }, { numberOfVideos: 3 }), CONTINUE);
	const { result } = await hasten(hung);
	const files = out(result).filter(({ binary }) => binary);
	for (const item of files) await expectServed(result, item);
	expect([files.length, sim.chargedCalls]).toEqual([2, 1]);
});

test.each<[string, (addresses: string[]) => unknown]>([
	['file_url', (addresses) => addresses.map((file_url) => ({ file_url }))],
	['url', (addresses) => addresses.map((url) => ({ url }))],
	['a list', (addresses) => addresses],
])('files that come in the stream itself are stored at once: %s', async (_, completion) => {
	const bytes = await readFile('simulator/media/landscape.mp4');
	// Larger than most, and of another content.
	const large = Buffer.concat([bytes, Buffer.alloc(3_000_000)]);
	const addresses = [bytes, large].map(
		(file) => `data:video/mp4;base64,${file.toString('base64')}`,
	);
	onCreate({ sse: [event('video_generation_complete', completion(addresses))] });
	const result = await run(video('P', {}, { numberOfVideos: 2 }));
	const files = good(result).map(({ binary }) => binary!.data!);
	expect(files.map(({ fileName }) => fileName)).toEqual(['video-file.mp4', 'video-file-2.mp4']);
	expect((await result.bytes(files[1]!)).equals(large)).toBe(true);
	expect(looks()).toBe(0);
});

test.each([307, 308])(
	'a create call goes where a %d within the host sends it',
	async (redirectStatus) => {
		onCreate({ redirect: '/v1/video/text-to-video?', redirectStatus });
		const { json } = only(await run(node(video('P', {}, { download: false }), RETRY)));
		expect(json.prompt).toBe('P');
		expect([posts(), sim.chargedCalls]).toEqual([2, 1]);
		const [, followed] = requests('POST', '/v1/video/');
		expect(followed!.headers.authorization).toBe(`Bearer ${sim.token}`);
	},
);

test.each([301, 302])('no create call goes where a %d sends it', async (redirectStatus) => {
	onCreate({ redirect: '/v1/video/text-to-video?', redirectStatus });
	expect(bad(await run(video('P'))).message).toContain('redirects to another URL');
	expect([posts(), sim.chargedCalls]).toEqual([1, 0]);
});

test('a file that comes in place of the stream is stored at once', async () => {
	const bytes = await readFile('simulator/media/landscape.mp4');
	onCreate(answer(200, bytes, { 'Content-Type': 'application/octet-stream' }));
	const result = await run(video('P'));
	const { json, binary } = only(result);
	const { data } = binary!;
	// n8n could not save the output of forty rows if it had each file a second time, as text.
	expect(json).toEqual({});
	expect(data!.fileName).toBe('video-file.mp4');
	expect((await result.bytes(data!)).equals(bytes)).toBe(true);
	expect(looks()).toBe(0);
	// Without it as binary data, nothing would have it.
	onCreate(answer(200, bytes));
	const withoutDownload = only(await run(video('P', {}, { download: false })));
	expect(withoutDownload.json).toEqual({});
	expect(withoutDownload.binary!.data!.fileName).toBe('video-file.mp4');
});

test('a file that comes in the stream itself, and is none, is not spelled out in the message', async () => {
	const file_url = `data:video/mp4;base64,${Buffer.from('Not found '.repeat(99)).toString('base64')}`;
	onCreate({ sse: [event('video_generation_complete', [{ file_url }])] });
	const { message, description } = bad(await run(video('P')));
	expect(message).toContain('text was returned instead of the file');
	expect(`${message}${description}`).not.toContain('base64');
});

test('a warning beside a result is passed on, and the next attempt pays for nothing', async () => {
	const entry = {
		id: 'v',
		file_url: 'https://files.example/a.bin',
		error: 'Shorter than asked for',
	};
	onCreate(answer(200, entry), { times: 9 });
	const { json } = only(await run(node(video('A', {}, { download: false }), RETRY)));
	expect(json).toMatchObject(entry);
	expect(posts()).toBe(1);
});
