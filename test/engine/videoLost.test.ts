import type { FaultAction, HistoryItem } from '../../simulator/simulator.mts';
import { allClosed, bad, good, hints, looks, posts } from './seen';
import { ALWAYS, answer, made, onCreate, onHistory } from './service';
import { begin, CONTINUE, node, run, sim, start, video } from './setup';
import { completion, lose, NEVER, status } from './videos';

const CUT = 'event: video_generation_complete\ndata: [{"id":"x","file_u';

async function foundOnce(subject = video('A boat 🚣', { timeout: 8 })) {
	const result = await run(subject);
	const [item, ...rest] = good(result);
	expect(rest).toEqual([]);
	const [entry] = sim.history;
	expect(item!.json).toMatchObject({ id: entry!.id, file_url: entry!.file_url });
	const bytes = await result.bytes(item!.binary!.data!);
	expect(bytes).toEqual(sim.fileBytes(entry!.file_url));
	expect(posts()).toBe(1);
	expect(looks()).toBe(1);
	return result;
}

describe('a stream that ends without a result is looked up in the history', () => {
	test.each<[string, FaultAction]>([
		['ends after status events', {}],
		['is reset', { sse: [status('starting'), { delayMs: 100 }, 'RESET'] }],
		['ends without any event', { sse: [{ delayMs: 100 }, 'END'] }],
		['is a comment only', { sse: [': hello\n\n', { delayMs: 100 }, 'END'] }],
		['is cut inside the completion', { sse: [CUT, { delayMs: 100 }, 'RESET'] }],
		['ends inside the completion', { sse: [CUT, { delayMs: 100 }, 'END'] }],
		['completes with nothing', { sse: [completion([]), { delayMs: 100 }] }],
		['holds an endless line', { sse: [`data: ${'x'.repeat(9 << 20)}`] }],
		['holds an endless event', { sse: [`data: ${'x'.repeat(1023)}\n`.repeat(9 << 10)] }],
		['is a plain answer that breaks off', { sse: ['[{"id": "x", ', { delayMs: 100 }, 'END'] }],
	])('%s', async (_, action) => {
		lose(action);
		const result = await foundOnce();
		expect(hints(result)).toEqual([
			expect.stringMatching(/history.*not requested a second time.*item 0/),
		]);
		await allClosed();
	});

	test('is silent for the idle timeout; its connection is closed', async () => {
		lose({ sse: [status('starting')] });
		await foundOnce(video('Silent', { idleTimeout: 1, timeout: 8 }));
		await allClosed();
	});

	test('never answers at all', async () => {
		await start({ pace: 0.01 });
		onCreate({ hang: true, accepted: true });
		await foundOnce(video('Mute', { idleTimeout: 1, timeout: 8 }));
		await allClosed();
	});

	test.each(['reset', 504])('%s instead of an answer', async (kind) => {
		onCreate(kind === 'reset' ? { reset: true } : answer(504, '<html>Gateway Timeout</html>'));
		sim.history.push(made('foreign'));
		const [item] = good(await run(video('P', { timeout: 8 }, { download: false })));
		expect(item!.json.id).toBe(sim.history[0]!.id);
		expect(posts()).toBe(1);
	});

	test.each([3600, -3600, 86_400])(
		'the clock of the service is %d s ahead',
		async (clockSkewSeconds) => {
			await start({ dialect: { clockSkewSeconds } });
			const server = () => Date.now() + clockSkewSeconds * 1000;
			const old = new Date(server() - 20_000).toISOString();
			sim.history.push(made('old', { prompt: 'A boat 🚣', created_at: old }));
			lose();
			await foundOnce();
		},
	);

	test.each(['paged', 'array'] as const)(
		'whatever the dialect of the history (%s)',
		async (history) => {
			await start({
				dialect: {
					history,
					historyFiles: 'file_urls',
					historyFiguresAsStrings: true,
					pageEcho: 'wrong',
					itemStatus: 'MEDIA_GENERATION_STATUS_SUCCESSFUL',
				},
			});
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
		expect(good(result).map(({ json }) => json.id)).toEqual(['mine']);
		expect(hints(result).join()).toMatch(/1 of 3 .*may still come.*History → Get Many/);
	});

	test('an id told by the stream is proof, whatever else has the same prompt', async () => {
		sim.history.push(made('mine'), made('other'));
		lose({
			sse: [status({ status: 'processing', id: 'mine' }), 'END'],
			...NEVER,
		});
		const [item] = good(await run(video('P', { timeout: 4 }, { download: false })));
		expect(item!.json.id).toBe('mine');
	});

	test('an entry that failed is a failure at once, in the words of the history', async () => {
		const failed = { ...made('v', { status: 'failed', file_url: '' }), error: 'UNSAFE_GENERATION' };
		sim.history.push(failed);
		lose(NEVER);
		const error = bad(await run(video('P', { timeout: 8 })));
		expect(error.message).toMatch(/could not generate this/);
	});
});

describe('what cannot be proved is not taken and not paid for again', () => {
	test('not found in time: says that it is paid; other items go on', async () => {
		lose(NEVER);
		const items = [{ prompt: 'Lost' }, { prompt: 'Fine' }];
		const subject = node(video('={{ $json.prompt }}', { timeout: 3 }), CONTINUE);
		const [lost, fine] = good(await run(subject, { items }));
		expect(lost!.json.error).toMatch(/stopped reporting.*\[item 0\]/);
		expect(lost!.json.description).toMatch(/charged.*History/);
		expect(fine!.json.prompt).toBe('Fine');
		expect(posts()).toBe(2);
	});

	test('two entries for one request: fails at once, lists them, asks nothing again', async () => {
		lose();
		sim.history.push(made('twin', { prompt: 'Twin' }));
		const error = bad(await run(video('Twin', { timeout: 20 })));
		expect(error.message).toMatch(/stopped reporting.*\[item 0\]/);
		for (const { id } of sim.history) expect(error.description).toContain(id);
		expect(posts()).toBe(1);
	});

	test.each<[string, Partial<HistoryItem>]>([
		['has another prompt', { prompt: 'P!' }],
		['is older', { created_at: new Date(Date.now() - 10_000).toISOString() }],
		['has no date', { created_at: '' }],
		['is an image', { type: 'image' }],
		['has the other aspect ratio', { aspect_ratio: 'VIDEO_ASPECT_RATIO_PORTRAIT' }],
	])('an entry that %s', async (_, changes) => {
		lose(NEVER);
		sim.history.push(made('foreign', changes));
		const error = bad(await run(video('P', { timeout: 1 }, { download: false })));
		expect(error.message).toMatch(/stopped reporting/);
		expect(looks()).toBeGreaterThan(0);
	});

	test('one of two is there when the time is up: it is not kept from the user', async () => {
		lose();
		const subject = video('Two [sim:fewer]', { timeout: 3 }, { numberOfVideos: 2 });
		expect(JSON.stringify(good(await run(node(subject, CONTINUE))))).toContain(sim.history[0]!.id);
	});

	test.each<[string, FaultAction]>([
		['hangs', { hang: true }],
		['asks for a minute of rest', answer(429, '', { 'Retry-After': '60' })],
	])(
		'the timeout holds although the history %s',
		async (_, action) => {
			lose();
			onHistory(action, ALWAYS);
			const running = await begin(video('P', { timeout: 2 }));
			await sim.waitFor(() => looks() === 1);
			const began = Date.now();
			const error = bad(await running.finished);
			expect(Date.now() - began).toBeLessThan(30_000);
			expect(error.all).toMatch(/paid|charged/);
		},
		60_000,
	);
});
