import type { IDataObject } from 'n8n-workflow';
import { bad, expectServed, good, hints, only, origins } from './seen';
import { ALWAYS, answer, looks, onFile, posts, requests } from './service';
import { CONTINUE, EACH, node, run, said, sim, start, texts, video } from './setup';
import { completion, raw } from './videos';

const VIDEO = '/v1/video/text-to-video';

describe('video: textToVideo', () => {
	test('gives the file with its bytes, type, name and address, for one POST', async () => {
		const result = await run(video('A paper boat'));
		const item = only(result);
		const { id, file_url, created_at } = sim.history[0]!;
		const asked = { prompt: 'A paper boat', aspect_ratio: 'VIDEO_ASPECT_RATIO_LANDSCAPE' };
		const made = { id, type: 'video', file_url, status: 'completed', created_at };
		expect(item.json).toEqual({ ...asked, ...made });
		expect(item.pairedItem).toEqual({ item: 0 });
		expect(item.binary!.data).toMatchObject({
			fileName: `video-${id}.mp4`,
			mimeType: 'video/mp4',
			fileExtension: 'mp4',
		});
		await expectServed(result);
		expect(posts()).toBe(1);
		const [post] = requests('POST', VIDEO);
		expect(post!.body).toEqual({ ...asked, number_of_videos: 1 });
		expect(post!.headers.authorization).toBe(`Bearer ${sim.token}`);
		expect(sim.leaks).toEqual([]);
		expect(looks()).toBe(0);
	});

	test('without download fetches no file but gives the address; outputField is heeded', async () => {
		const none = only(await run(video('One', {}, { download: false })));
		expect(none.binary).toBeUndefined();
		expect(none.json.file_url).toBe(sim.history[0]!.file_url);
		expect(sim.requests.filter((record) => record.on === 'file')).toEqual([]);
		const named = only(await run(video('Two', { outputField: 'clip' })));
		expect(Object.keys(named.binary!)).toEqual(['clip']);
	});

	test('many items: order and pairedItem are kept, each its own video', async () => {
		await start({ pace: 0.02 });
		const numbers = [...Array(12).keys()];
		const prompts = numbers.map((n) => (n % 3 === 0 ? `Clip ${n} [sim:slow=15]` : `Clip ${n}`));
		const output = good(await run(video(EACH), texts(...prompts)));
		expect(output.map(({ json }) => json.prompt)).toEqual(prompts);
		expect(origins(output)).toEqual(numbers);
		expect(sim.creates).toBe(12);
	});

	test('several videos of one request all come out, each with a file', async () => {
		const result = await run(video('Four boats', {}, { numberOfVideos: 4 }));
		const output = good(result);
		expect(origins(output)).toEqual([0, 0, 0, 0]);
		expect(new Set(output.map(({ binary }) => binary!.data!.fileName)).size).toBe(4);
		for (const item of output) await expectServed(result, item);
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

	test('one of several files cannot be fetched: the others are not lost', async () => {
		onFile(answer(410), { after: 1, ...ALWAYS });
		const subject = node(video('Two', {}, { numberOfVideos: 2 }), CONTINUE);
		const text = JSON.stringify(good(await run(subject)));
		for (const { file_url } of sim.history) expect(text).toContain(file_url);
	});

	test('progress reaches the person who waits', async () => {
		await start({ dialect: { sseStatusWords: 'more', sseStatus: 'object' } });
		good(await run(video('Slow boat')));
		expect(said.join()).toMatch(/starting[^]*processing[^]*generating[^]*done/);
		expect(said.join()).not.toContain(sim.token);
	});
});

describe('video: bad input is named before anything is sent', () => {
	test.each<[string, IDataObject, RegExp]>([
		['an empty prompt', { prompt: '={{ "" }}' }, /'Prompt' is empty/],
		['an expression without value', { prompt: '={{ $json.none }}' }, /'Prompt'/],
		['an object as prompt', { prompt: '={{ ({a: 1}) }}' }, /'Prompt'/],
		['0 videos', { numberOfVideos: 0 }, /'Number of Videos'.*0/],
		['5 videos', { numberOfVideos: 5 }, /'Number of Videos'.*5/],
		['a text as number', { numberOfVideos: '={{ "many" }}' }, /'Number of Videos'.*many/],
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
		expect(origins(output)).toEqual([0, 1, 2, 2]);
		expect(output[0]!.json.error).toMatch(/'Number of Videos'.*\[item 0\]/);
		expect(output[1]!.json.error).toMatch(/'Aspect Ratio'.*\[item 1\]/);
		expect(output[2]!.json.aspect_ratio).toBe('VIDEO_ASPECT_RATIO_PORTRAIT');
		expect(requests('POST', VIDEO).map(({ body }) => body.number_of_videos)).toEqual([2]);
	});
});
