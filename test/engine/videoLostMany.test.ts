import { good, looks, posts, requests } from './seen';
import { ALWAYS, answer, made, onHistory } from './service';
import { run, sim, start, video } from './setup';
import { lose, NEVER } from './videos';

describe('several lost items of one run', () => {
	test('share their readings of the history, and each gets its own', async () => {
		lose({}, { times: 8 });
		const items = Array.from({ length: 8 }, (_, index) => ({ prompt: `Lost ${index}` }));
		const output = good(await run(video('={{ $json.prompt }}', { timeout: 14 }), { items }));
		expect(output.map(({ json }) => json.prompt)).toEqual(items.map(({ prompt }) => prompt));
		expect(posts()).toBe(8);
		expect(looks()).toBeLessThanOrEqual(2);
	});

	test('the same prompt twice, both lost: two different videos', async () => {
		lose({}, { times: 2 });
		const items = [{}, {}];
		const output = good(await run(video('Twice', { timeout: 14 }), { items }));
		expect(new Set(output.map(({ json }) => json.id)).size).toBe(2);
		expect(output.map(({ pairedItem }) => pairedItem)).toEqual([{ item: 0 }, { item: 1 }]);
		expect(posts()).toBe(2);
	});

	test('the same prompt twice, one lost: never the one that was delivered', async () => {
		await start({ pace: 0.01 });
		lose();
		const output = good(await run(video('Twice', { timeout: 14 }), { items: [{}, {}] }));
		expect(new Set(output.map(({ json }) => json.id)).size).toBe(2);
		expect(posts()).toBe(2);
		expect(requests('POST', '/').map(({ status }) => status)).toEqual([200, 200]);
	});

	test('the same prompt in two shapes, both lost: each item gets its own shape', async () => {
		const ratios = ['LANDSCAPE', 'PORTRAIT'].map((name) => `VIDEO_ASPECT_RATIO_${name}`);
		const items = ratios.map((ratio) => ({ ratio }));
		// Whichever request comes first, the landscape video is the last to be finished.
		lose({ finishesInHistoryAfterMs: 200 });
		lose();
		const parameters = { aspectRatio: '={{ $json.ratio }}' };
		const output = good(await run(video('Both', { timeout: 14 }, parameters), { items }));
		expect(output.map(({ json }) => json.aspect_ratio)).toEqual(ratios);
	});

	test('the same prompt twice, two videos each in one entry with file_urls: all come out', async () => {
		lose(NEVER, { times: 2 });
		const data = ['a', 'b'].map((id) => {
			const { file_url: _, ...entry } = made(id, { prompt: 'Both' });
			return { ...entry, file_urls: [1, 2].map((n) => `${sim.fileOrigin}/files/${id}${n}.mp4`) };
		});
		onHistory(answer(200, data), ALWAYS);
		const subject = video('Both', { timeout: 14 }, { numberOfVideos: 2, download: false });
		const output = good(await run(subject, { items: [{}, {}] }));
		expect(new Set(output.map(({ json }) => json.file_url)).size).toBe(4);
	});
});
