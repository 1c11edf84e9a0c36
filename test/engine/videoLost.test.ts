import type { FaultAction } from '../../simulator/simulator.mts';
import { allClosed, bad, expectServed, good, hints, only, origins } from './seen';
import { ALWAYS, answer, looks, made, onCreate, onHistory, posts, requests } from './service';
import { begin, EACH, run, sim, start, texts, video } from './setup';
import { lose, NEVER } from './videos';

const BOAT = 'A boat 🚣';

async function foundOnce(subject = video(BOAT, { timeout: 8 })) {
	const result = await run(subject);
	expect(only(result).json.id).toBe(sim.history[0]!.id);
	await expectServed(result);
	expect([posts(), looks()]).toEqual([1, 1]);
	return result;
}

describe('a stream that ends without a result is looked up in the history', () => {
	const cut = 'event: video_generation_complete\ndata: [{"id":"x","file_u';
	test.each<[string, FaultAction]>([
		['is a comment only', { sse: [': hello\n\n', { delayMs: 100 }, 'END'] }],
		['ends inside the completion', { sse: [cut, { delayMs: 100 }, 'END'] }],
		['holds an endless line', { sse: [`data: ${'x'.repeat(9 << 20)}`] }],
		['holds an endless event', { sse: [`data: ${'x'.repeat(1023)}\n`.repeat(9 << 10)] }],
	])('%s', async (_, action) => {
		lose(action);
		const result = await foundOnce();
		expect(hints(result)).toEqual([
			expect.stringMatching(/history.*not requested a second time.*item 0/),
		]);
		await allClosed();
	});

	test('never answers at all', async () => {
		await start({ pace: 0.01 });
		onCreate({ hang: true, accepted: true });
		await foundOnce(video('Mute', { idleTimeout: 1, timeout: 8 }));
		await allClosed();
	});

	test('the clock of the service is a day ahead', async () => {
		await start({ dialect: { clockSkewSeconds: 86_400 } });
		const old = new Date(Date.now() + 86_400_000 - 20_000).toISOString();
		sim.history.push(made('old', { prompt: BOAT, created_at: old }));
		lose();
		await foundOnce();
	});

	test.each(['paged', 'array'] as const)(
		'whatever the dialect of the history (%s)',
		async (history) => {
			const itemStatus = 'MEDIA_GENERATION_STATUS_SUCCESSFUL';
			const figures = { historyFiguresAsStrings: true, pageEcho: 'wrong' } as const;
			await start({ dialect: { history, historyFiles: 'file_urls', ...figures, itemStatus } });
			lose();
			await foundOnce();
		},
	);

	test('several videos of one lost request all come out', async () => {
		lose();
		const output = good(await run(video('Three', { timeout: 8 }, { numberOfVideos: 3 })));
		expect(output).toHaveLength(3);
		expect(new Set(output.map(({ json }) => json.id)).size).toBe(3);
	});

	test('one of several in time: a hint says that the others may still come', async () => {
		lose(NEVER);
		sim.history.push(made('mine'));
		const several = video('P', { timeout: 3 }, { numberOfVideos: 3, download: false });
		const result = await run(several);
		expect(only(result).json.id).toBe('mine');
		expect(hints(result).join()).toMatch(/1 of 3 .*may still come.*History → Get Many/);
	});

	test('an entry that failed is a failure at once, in the words of the history', async () => {
		const failed = { ...made('v', { status: 'failed', file_url: '' }), error: 'UNSAFE_GENERATION' };
		sim.history.push(failed);
		lose(NEVER);
		expect(bad(await run(video('P', { timeout: 8 }))).message).toMatch(/could not generate this/);
	});

	test('the timeout holds although the history asks for a minute of rest', async () => {
		lose();
		onHistory(answer(429, '', { 'Retry-After': '60' }), ALWAYS);
		const running = await begin(video('P', { timeout: 2 }));
		await sim.waitFor(() => looks() === 1);
		const began = Date.now();
		const error = bad(await running.finished);
		expect(Date.now() - began).toBeLessThan(30_000);
		expect(error.all).toMatch(/paid|charged/);
	}, 60_000);
});

describe('several lost items of one run', () => {
	test('share their readings of the history, and each gets its own', async () => {
		lose({}, { times: 8 });
		const prompts = Array.from({ length: 8 }, (_, index) => `Lost ${index}`);
		const output = good(await run(video(EACH, { timeout: 14 }), texts(...prompts)));
		expect(output.map(({ json }) => json.prompt)).toEqual(prompts);
		expect(posts()).toBe(8);
		expect(looks()).toBeLessThanOrEqual(2);
	});

	test.each(['both', 'one'])(
		'the same prompt twice, %s lost: two different videos',
		async (how) => {
			await start({ pace: 0.01 });
			lose({}, { times: how === 'both' ? 2 : 1 });
			const output = good(await run(video('Twice', { timeout: 14 }), { items: [{}, {}] }));
			expect(new Set(output.map(({ json }) => json.id)).size).toBe(2);
			expect(origins(output)).toEqual([0, 1]);
			expect(requests('POST', '/').map(({ status }) => status)).toEqual([200, 200]);
		},
	);

	test('the same prompt in two shapes, both lost: each item gets its own shape', async () => {
		const ratios = ['LANDSCAPE', 'PORTRAIT'].map((name) => `VIDEO_ASPECT_RATIO_${name}`);
		// Whichever request comes first, the landscape video is the last to be finished.
		lose({ finishesInHistoryAfterMs: 200 });
		lose();
		const fields = video('Both', { timeout: 14 }, { aspectRatio: EACH });
		const output = good(await run(fields, texts(...ratios)));
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
