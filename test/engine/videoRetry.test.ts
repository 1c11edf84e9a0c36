import type { WorkflowResult } from '../../demo/engine.mts';
import { allClosed, bad, expectServed, good, hints, only, origins } from './seen';
import {
	ALWAYS,
	answer,
	looks,
	made,
	onCreate,
	onFile,
	onHistory,
	posts,
	requests,
} from './service';
import { begin, EACH, fakeTime, node, RETRY, run, sim, start, texts, video } from './setup';
import { hasten } from './time';
import { completion, elsewhere, ids, lose, NEVER, quickVideo, raw, serveFiles } from './videos';

/** Retry On Fail, with pauses of a second, in which the service goes on. */
const SLOWLY = { ...RETRY, maxTries: 3, waitBetweenTries: 1000 };

/** It was made, and paid for, once. */
function expectOnce(result: WorkflowResult) {
	expect(only(result).json.id).toBe(sim.history[0]!.id);
	expect(posts()).toBe(1);
}

describe('Retry On Fail never pays again', () => {
	beforeEach(async () => await start({ pace: 0.01 }));

	test('a generation not found in time is found by the next attempt', async () => {
		lose({ finishesInHistoryAfterMs: 1600 });
		expectOnce(await run(node(video('A', { timeout: 1 }), SLOWLY)));
	});

	test('a timeout in mid-stream is looked up by the next attempt', async () => {
		await start({ pace: 0.15 });
		expectOnce(await run(node(video('A', { timeout: 1 }), SLOWLY)));
	});

	test.each([500, 502, 503])(
		'HTTP %d, accepted all the same: looked up, not sent again',
		async (status) => {
			onCreate({ accepted: true, ...answer(status) });
			expectOnce(await run(node(video('A', { timeout: 5 }), RETRY)));
		},
	);

	test('HTTP 502, not in the history either: the retry says so, and when, but not that it is paid', async () => {
		fakeTime();
		onCreate(answer(502));
		const subject = node(quickVideo('A', { options: { timeout: 60 } }), { ...RETRY, maxTries: 3 });
		const { result } = await hasten(subject);
		const { message, description } = bad(result);
		expect(message).toMatch(/earlier attempt .* no clear response: HTTP 502 at \d\d:\d\d/);
		expect(description).toMatch(/may have accepted/);
		expect(description).not.toMatch(/has been charged/);
		expect([posts(), looks()]).toEqual([1, 4]);
	});

	test('one bad item among good ones: the good ones are paid once', async () => {
		onCreate(answer(400), { after: 2 });
		const subject = node(video(EACH, { timeout: 14 }), SLOWLY);
		const output = good(await run(subject, texts('a', 'b', 'c')));
		expect(output.map(({ json }) => json.prompt)).toEqual(['a', 'b', 'c']);
		expect(sim.creates).toBe(3);
	});

	test('what failed for good is asked for anew', async () => {
		onCreate({ sse: ['event: error\ndata: "overloaded"\n\n', 'END'] });
		good(await run(node(video('A'), RETRY)));
		expect(posts()).toBe(2);
		expect(looks()).toBe(0);
	});

	test('what was never sent, because the account had to rest, is sent by the next attempt', async () => {
		onCreate(answer(429, '', { 'Retry-After': '4' }));
		const result = await run(node(video('A', { timeout: 1 }), { ...SLOWLY, maxTries: 5 }));
		expect(only(result).json.prompt).toBe('A');
		expect(requests('POST', '/').map(({ status }) => status)).toEqual([429, 200]);
	});
});

describe('"Retry execution" never pays again', () => {
	test('a lost generation is found, however many others were made since', async () => {
		lose(NEVER);
		const subject = video('Mine', { timeout: 1 }, { download: false });
		const failed = await run(subject);
		bad(failed);
		for (let n = 0; n < 150; n++) sim.history.push(made(`other-${n}`, { prompt: `Other ${n}` }));
		sim.history.push(made('mine', { prompt: 'Mine' }));
		const result = await run(subject, { retryOf: failed.run });
		expect(posts()).toBe(1);
		expect(only(result).json.id).toBe('mine');
	}, 60_000);

	test('the rest of several lost videos is found when some had come in time', async () => {
		lose(NEVER);
		sim.history.push(made('a'));
		onCreate({ delayMs: 3000, ...answer(400, '{}') }, { after: 1 });
		const options = { timeout: '={{ $json.s }}' };
		const fields = { prompt: '={{ $json.p }}', numberOfVideos: '={{ $json.n }}', options };
		const ofP = { p: 'P', n: 2, s: 2 };
		const failed = await run(quickVideo('', fields), { items: [ofP, { p: 'Q', n: 1, s: 20 }] });
		expect(bad(failed).message).toMatch(/rejected.*item 1/);
		const before = looks();
		const retry = await begin(quickVideo('', fields), { retryOf: failed.run, ...elsewhere() });
		await sim.waitFor(() => looks() > before);
		sim.history.unshift(made('b'));
		const result = await retry.finished;
		expect(ids(good(result)).slice(0, 2)).toEqual(['a', 'b']);
		expect(hints(result).join()).not.toMatch(/fewer/);
	});

	test('a file whose address has expired is fetched from the one that the history has now', async () => {
		const old = made('mine', { file_url: `${sim.fileOrigin}/files/video/mine.mp4?sign=old` });
		raw([completion([old]), 'END']);
		onFile(answer(410, { error: 'expired' }), { times: 2 });
		const failed = await run(video('P', { timeout: 5 }));
		expect(bad(failed).message).toMatch(/could not be downloaded/);
		const file_url = old.file_url.replace('old', 'new');
		sim.history.push({ ...old, file_url });
		serveFiles();
		const { json, binary } = only(await run(video('P', { timeout: 5 }), { retryOf: failed.run }));
		expect(json).toMatchObject({ id: 'mine', file_url });
		expect(binary).toHaveProperty('data');
		expect(posts()).toBe(1);
	});

	describe('where the clocks do not differ by as much as when the request went out', () => {
		/** Retries a lost generation when our clock is so many seconds further ahead of the service's. */
		async function retried(seconds: number, madeAfterSeconds: number) {
			lose(NEVER);
			const subject = quickVideo('P', { options: { timeout: 1 } });
			const sentAt = Date.now();
			const failed = await run(subject);
			bad(failed);
			const created_at = new Date(sentAt + madeAfterSeconds * 1000).toISOString();
			const headers = { Date: new Date(Date.now() - seconds * 1000).toUTCString() };
			onHistory(answer(200, [made('history-1', { created_at })], headers), ALWAYS);
			return await run(subject, { retryOf: failed.run, ...elsewhere() });
		}

		test('what was made before the request is not taken for its result', async () => {
			expect(bad(await retried(180, -60)).message).toMatch(/stopped reporting/);
		});

		test('its result is found', async () => {
			expect(ids(good(await retried(-180, 5)))).toEqual(['history-1']);
		});
	});
});

describe('a stream that ends without a result is looked up in the history', () => {
	test('though it never answers at all', async () => {
		await start({ pace: 0.01 });
		onCreate({ hang: true, accepted: true });
		const result = await run(video('Mute', { idleTimeout: 1, timeout: 8 }));
		expect(only(result).json.id).toBe(sim.history[0]!.id);
		await expectServed(result);
		expect(hints(result)).toEqual([
			expect.stringMatching(/history.*not requested a second time.*item 0/),
		]);
		expect([posts(), looks()]).toEqual([1, 1]);
		await allClosed();
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
