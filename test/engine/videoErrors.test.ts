import { allClosed, good, stop } from './seen';
import { ALWAYS, answer, looks, onCreate, onFile, onHistory, posts } from './service';
import { begin, CONTINUE, node, run, sim, start, video } from './setup';
import { event, status } from './videos';

describe('what surely was not accepted is sent again', () => {
	test.each([
		{ error: 'rate_limit_exceeded' },
		{ success: false, message: 'Too many requests' },
		{ error: { code: 429, message: 'Too many concurrent generations' }, id: null },
	])('status 200 with %j', async (refusal) => {
		onCreate(answer(200, refusal), { times: 2 });
		const [item] = good(await run(video('Boat', {}, { download: false })));
		expect(item!.json.id).toBe(sim.history[0]!.id);
		expect([posts(), sim.creates]).toEqual([3, 1]);
		await allClosed();
	});

	test.each<[string, unknown]>([
		['as a number', { code: 429, error: 'Try later' }],
		['in words', 'Too many concurrent tasks'],
	])(
		'an error that comes first in a stream and says %s that too much is under way',
		async (_, data) => {
			onCreate({ sse: [event('error', data), 'END'] }, { times: 2 });
			const [item] = good(await run(video('Boat', {}, { download: false })));
			expect(item!.json.id).toBe(sim.history[0]!.id);
			expect([posts(), looks()]).toEqual([3, 0]);
			await allClosed();
		},
	);

	test('429 until the timeout: so say items whose turn never came', async () => {
		onCreate(answer(429, '', { 'Retry-After': '600000' }), ALWAYS);
		const items = [{ p: 'a' }, { p: 'b' }, { p: 'c' }];
		const fields = video('={{ $json.p }}', { timeout: 1, concurrency: 2 });
		const output = good(await run(node(fields, CONTINUE), { items }));
		// The third comes when nothing was accepted for a whole timeout: it is tried once.
		expect(posts()).toBe(3);
		for (const { json } of output) expect(json.error).toMatch(/too many requests/);
	});
});

describe('time limits and cancel', () => {
	test.each<[string, () => void, () => boolean]>([
		[
			'in mid-stream',
			() => onCreate({ sse: [status('processing')] }),
			() => sim.requests[0]?.status === 200,
		],
		['before the answer', () => onCreate({ hang: true }), () => sim.openConnections() === 1],
		[
			'during the search',
			() => {
				onHistory({ hang: true });
				onCreate({ sse: [{ delayMs: 20 }, 'END'] });
			},
			() => looks() === 1,
		],
		['during the download', () => onFile({ hang: true }), () => sim.count('GET', '/files/') === 1],
	])('cancel %s closes the connection within a second', async (_, arrange, isThere) => {
		await start({ pace: 0.01 });
		arrange();
		const running = await begin(video('a'));
		await sim.waitFor(isThere);
		await stop(running);
		expect(posts()).toBe(1);
	});
});
