import type { IDataObject } from 'n8n-workflow';
import { bad, good, hints, looks, posts, requests } from './seen';
import { ALWAYS, answer, onFile } from './service';
import { CONTINUE, node, run, sim, start, video } from './setup';
import { completion, raw } from './videos';

const VIDEO = '/v1/video/text-to-video';

describe('video: textToVideo', () => {
	test('gives the file with its bytes, type, name and address, for one POST', async () => {
		const result = await run(video('A paper boat'));
		const [item, ...rest] = good(result);
		expect(rest).toEqual([]);
		const [entry] = sim.history;
		expect(item!.json).toEqual({
			id: entry!.id,
			prompt: 'A paper boat',
			type: 'video',
			file_url: entry!.file_url,
			status: 'completed',
			created_at: entry!.created_at,
			aspect_ratio: 'VIDEO_ASPECT_RATIO_LANDSCAPE',
		});
		expect(item!.pairedItem).toEqual({ item: 0 });
		const file = item!.binary!.data!;
		expect(file).toMatchObject({
			fileName: `video-${entry!.id}.mp4`,
			mimeType: 'video/mp4',
			fileExtension: 'mp4',
		});
		expect(await result.bytes(file)).toEqual(sim.fileBytes(entry!.file_url));
		expect(posts()).toBe(1);
		expect(requests('POST', VIDEO)[0]!.body).toEqual({
			prompt: 'A paper boat',
			aspect_ratio: 'VIDEO_ASPECT_RATIO_LANDSCAPE',
			number_of_videos: 1,
		});
		expect(requests('POST', VIDEO)[0]!.headers.authorization).toBe(`Bearer ${sim.token}`);
		expect(sim.leaks).toEqual([]);
		expect(looks()).toBe(0);
	});

	test('downloads through a redirect of the API without taking the token along', async () => {
		await start({ dialect: { redirectFiles: true } });
		const result = await run(video('A red kite'), { binaryMode: 'filesystem' });
		const [item] = good(result);
		const bytes = await result.bytes(item!.binary!.data!);
		expect(bytes).toEqual(sim.fileBytes(sim.history[0]!.file_url));
		expect(sim.leaks).toEqual([]);
	});

	test('without download fetches no file but gives the address; outputField is heeded', async () => {
		const none = good(await run(video('One', {}, { download: false })));
		expect(none[0]!.binary).toBeUndefined();
		expect(none[0]!.json.file_url).toBe(sim.history[0]!.file_url);
		expect(sim.requests.filter((record) => record.on === 'file')).toEqual([]);
		const named = good(await run(video('Two', { outputField: 'clip' })));
		expect(Object.keys(named[0]!.binary!)).toEqual(['clip']);
	});

	test('many items: order and pairedItem are kept, each its own video', async () => {
		await start({ pace: 0.02 });
		const prompts = Array.from({ length: 12 }, (_, index) => `Clip ${index}`);
		const items = prompts.map((prompt, index) => ({
			prompt: index % 3 === 0 ? `${prompt} [sim:slow=15]` : prompt,
		}));
		const output = good(await run(video('={{ $json.prompt }}'), { items }));
		expect(output.map(({ json }) => json.prompt)).toEqual(items.map(({ prompt }) => prompt));
		expect(output.map(({ pairedItem }) => pairedItem)).toEqual(items.map((_, item) => ({ item })));
		expect(sim.creates).toBe(12);
	});

	test('several videos of one request all come out, each with a file', async () => {
		const result = await run(video('Four boats', {}, { numberOfVideos: 4 }));
		const output = good(result);
		expect(output).toHaveLength(4);
		expect(new Set(output.map(({ binary }) => binary!.data!.fileName)).size).toBe(4);
		for (const item of output) {
			expect(item.pairedItem).toEqual({ item: 0 });
			const bytes = await result.bytes(item.binary!.data!);
			expect(bytes).toEqual(sim.fileBytes(item.json.file_url as string));
		}
		expect(sim.creates).toBe(1);
		expect(hints(result)).toEqual([]);
	});

	test('several addresses in one element are several items with names of their own', async () => {
		const urls = good(await run(video('X', {}, { numberOfVideos: 3, download: false })));
		const addresses = urls.map(({ json }) => json.file_url as string);
		const both = { id: 'both', prompt: 'Y', file_urls: addresses.slice(0, 2) };
		raw([completion([both, { id: 'both-2', prompt: 'Y', file_url: addresses[2] }]), 'END']);
		const output = good(await run(video('Y', {}, { numberOfVideos: 3 })));
		expect(output.map(({ json }) => json.file_url)).toEqual(addresses);
		const names = output.map(({ binary }) => binary!.data!.fileName);
		// Written to disk under its name, one must not replace the other.
		expect(new Set(names).size).toBe(3);
	});

	test('fewer than asked for: those made come out, with a hint', async () => {
		const result = await run(video('Three [sim:fewer]', {}, { numberOfVideos: 3 }));
		expect(good(result)).toHaveLength(2);
		expect(hints(result)).toEqual([expect.stringMatching(/fewer.*item 0/)]);
	});

	test('one of several files cannot be fetched: the others are not lost', async () => {
		onFile(answer(410), { after: 1, ...ALWAYS });
		const subject = node(video('Two', {}, { numberOfVideos: 2 }), CONTINUE);
		const text = JSON.stringify(good(await run(subject)));
		for (const { file_url } of sim.history) expect(text).toContain(file_url);
	});

	test('progress reaches the person who waits', async () => {
		await start({ dialect: { sseStatusWords: 'more', sseStatus: 'object' } });
		const messages: string[] = [];
		const onMessage = (text: string) => void messages.push(text);
		good(await run(video('Slow boat'), { onMessage, mode: 'manual' }));
		const text = messages.join('\n');
		expect(text).toMatch(/starting[^]*processing[^]*generating[^]*done/);
		expect(text).not.toContain(sim.token);
	});
});

describe('video: bad input is named before anything is sent', () => {
	test.each<[string, IDataObject, RegExp]>([
		['an empty prompt', { prompt: '={{ "" }}' }, /'Prompt' is empty/],
		['a blank prompt', { prompt: ' \n\t' }, /'Prompt' is empty/],
		['an expression without value', { prompt: '={{ $json.none }}' }, /'Prompt'/],
		['an object as prompt', { prompt: '={{ ({a: 1}) }}' }, /'Prompt'/],
		['0 videos', { numberOfVideos: 0 }, /'Number of Videos'.*0/],
		['5 videos', { numberOfVideos: 5 }, /'Number of Videos'.*5/],
		['1.5 videos', { numberOfVideos: 1.5 }, /'Number of Videos'.*1\.5/],
		['-1 videos', { numberOfVideos: -1 }, /'Number of Videos'.*-1/],
		['a text as number', { numberOfVideos: '={{ "many" }}' }, /'Number of Videos'.*many/],
		['an empty number', { numberOfVideos: '={{ "" }}' }, /'Number of Videos'/],
		['null as number', { numberOfVideos: '={{ null }}' }, /'Number of Videos'/],
		['a list as number', { numberOfVideos: '={{ [2] }}' }, /'Number of Videos'/],
		['a wrong ratio', { aspectRatio: '={{ "4:3" }}' }, /'Aspect Ratio'.*16:9.*4:3/],
		['no ratio', { aspectRatio: '={{ $json.none }}' }, /'Aspect Ratio'/],
		['a timeout of 0', { options: { timeout: 0 } }, /'Timeout'/],
		['an idle timeout of text', { options: { idleTimeout: 'x' } }, /'Idle Timeout'/],
	])('%s', async (_, parameters, message) => {
		const error = bad(await run(video('A boat', {}, parameters)));
		expect(error.message).toMatch(message);
		expect(error.message).toContain('[item 0]');
		expect(sim.requests).toEqual([]);
	});

	test('a bad second item is found before the first is paid for', async () => {
		const items = [{ prompt: 'Good' }, { prompt: '' }];
		const error = bad(await run(video('={{ $json.prompt }}'), { items }));
		expect(error.message).toMatch(/'Prompt' is empty.*\[item 1\]/);
		expect(error.itemIndex).toBe(1);
		expect(sim.creates).toBe(0);
	});

	test('an aspect ratio may be said as a person says it', async () => {
		const items = ['16:9', ' 9:16', 'Landscape', 'PORTRAIT'].map((ratio) => ({ ratio }));
		good(await run(video('Boat', {}, { aspectRatio: '={{ $json.ratio }}' }), { items }));
		const [wide, tall] = ['VIDEO_ASPECT_RATIO_LANDSCAPE', 'VIDEO_ASPECT_RATIO_PORTRAIT'];
		const sent = requests('POST', VIDEO).map(({ body }) => body.aspect_ratio);
		expect(sent.sort()).toEqual([wide, wide, tall, tall]);
	});

	test('with "continue on fail" the good items are made', async () => {
		const items = [
			{ n: 9, ratio: 'VIDEO_ASPECT_RATIO_PORTRAIT' },
			{ n: '2', ratio: 'nonsense' },
			{ n: '2', ratio: 'VIDEO_ASPECT_RATIO_PORTRAIT' },
		];
		const parameters = { numberOfVideos: '={{ $json.n }}', aspectRatio: '={{ $json.ratio }}' };
		const output = good(await run(node(video('Boat', {}, parameters), CONTINUE), { items }));
		expect(output.map(({ pairedItem }) => pairedItem)).toEqual(
			[0, 1, 2, 2].map((item) => ({ item })),
		);
		expect(output[0]!.json.error).toMatch(/'Number of Videos'.*\[item 0\]/);
		expect(output[1]!.json.error).toMatch(/'Aspect Ratio'.*\[item 1\]/);
		expect(output[2]!.json.aspect_ratio).toBe('VIDEO_ASPECT_RATIO_PORTRAIT');
		expect(requests('POST', VIDEO).map(({ body }) => body.number_of_videos)).toEqual([2]);
	});
});
