import { good, requests, run, sim, start } from './setup';
import { HISTORY, video } from './videos';

/** The next streams break off; their generations are in the history by then. */
const lose = (times = 1) =>
	sim.fault({
		method: 'POST',
		path: '/v1/video/',
		times,
		action: { sse: ['data: processing\n\n', { delayMs: 100 }, 'END'], finishesInHistoryAfterMs: 0 },
	});

describe('several lost items of one run', () => {
	test('share their looks, and each gets its own', async () => {
		lose(8);
		const items = Array.from({ length: 8 }, (_, index) => ({ prompt: `Lost ${index}` }));
		const output = good(await run(video('={{ $json.prompt }}', { timeout: 14 }), { items }));
		expect(output.map(({ json }) => json.prompt)).toEqual(items.map(({ prompt }) => prompt));
		expect(sim.count('POST', '/')).toBe(8);
		expect(sim.count('GET', HISTORY)).toBeLessThanOrEqual(2);
	});

	test('the same prompt twice, both lost: two different videos', async () => {
		lose(2);
		const items = [{}, {}];
		const output = good(await run(video('Twice', { timeout: 14 }), { items }));
		expect(new Set(output.map(({ json }) => json.id)).size).toBe(2);
		expect(output.map(({ pairedItem }) => pairedItem)).toEqual([{ item: 0 }, { item: 1 }]);
		expect(sim.count('POST', '/')).toBe(2);
	});

	test('the same prompt twice, one lost: never the one that was delivered', async () => {
		await start({ pace: 0.01 });
		lose();
		const output = good(await run(video('Twice', { timeout: 14 }), { items: [{}, {}] }));
		expect(new Set(output.map(({ json }) => json.id)).size).toBe(2);
		expect(sim.count('POST', '/')).toBe(2);
		expect(requests('POST', '/').map(({ status: code }) => code)).toEqual([200, 200]);
	});

	test('the same prompt in two shapes, both lost: each item gets its own shape', async () => {
		const ratios = ['LANDSCAPE', 'PORTRAIT'].map((name) => `VIDEO_ASPECT_RATIO_${name}`);
		const items = ratios.map((ratio) => ({ ratio }));
		const sse = ['data: processing\n\n', { delayMs: 300 }, 'END' as const];
		const portrait = { sse, finishesInHistoryAfterMs: 0 };
		// Whichever request comes first, the landscape video is the last to be finished.
		const action = { sse, finishesInHistoryAfterMs: 200 };
		sim.fault({ method: 'POST', action });
		sim.fault({ method: 'POST', after: 1, action: portrait });
		const parameters = { aspectRatio: '={{ $json.ratio }}' };
		const output = good(await run(video('Both', { timeout: 14 }, parameters), { items }));
		expect(output.map(({ json }) => json.aspect_ratio)).toEqual(ratios);
	});

	test('the same prompt twice, two videos each in one entry with file_urls: all come out', async () => {
		const sse = ['data: processing\n\n', { delayMs: 300 }, 'END' as const];
		sim.fault({ method: 'POST', times: 2, action: { sse } });
		const created_at = new Date(Date.now() + 500).toISOString();
		const data = ['a', 'b'].map((id) => ({
			id,
			prompt: 'Both',
			created_at,
			file_urls: [1, 2].map((n) => `${sim.fileOrigin}/files/${id}${n}.mp4`),
		}));
		sim.fault({ path: HISTORY, times: Infinity, action: { respond: { status: 200, body: data } } });
		const subject = video('Both', { timeout: 14 }, { numberOfVideos: 2, download: false });
		const output = good(await run(subject, { items: [{}, {}] }));
		expect(new Set(output.map(({ json }) => json.file_url)).size).toBe(4);
	});
});
