import { allClosed, bad, good, only, origins, stop } from './seen';
import { ALWAYS, answer, looks, onCreate, onFile, onHistory, posts } from './service';
import { begin, CONTINUE, EACH, node, run, sim, start, texts, video } from './setup';

describe('an error status at the create call', () => {
	test.each<[number, string | object, RegExp]>([
		[400, { error: 'You do not have enough credits.' }, /out of credit/],
		[402, '', /out of credit/],
		[404, { error: 'not_found' }, /does not recognize this address/],
		[422, { error: { code: 'x', message: 'too short' } }, /rejected the request: too short/],
		[500, { message: 'boom' }, /not available \(HTTP 500\): boom/],
		[503, '<!DOCTYPE html><title>Oops</title><h1>Oops</h1>', /not available \(HTTP 503\)/],
	])('%d %j: one POST, and it is said at once', async (status, body, message) => {
		onCreate(answer(status, body), ALWAYS);
		const error = bad(await run(video('P')));
		expect(error.message).toMatch(message);
		expect(error.message).toMatch(/\[item 0\]$/);
		expect(error.all).not.toMatch(/<|doctype|undefined|\[object/i);
		expect(error.all).not.toContain(sim.token);
		// After a 5xx nobody knows whether it was accepted: the user must hear that.
		const unsure = /may have accepted.*History/.test(error.description);
		expect(unsure).toBe(status >= 500);
		expect([posts(), looks()]).toEqual([1, 0]);
	});

	test.each(['file:///etc/passwd', 'javascript:alert(1)', '', '//'])(
		'a redirect of the create call to %p is put in plain words',
		async (location) => {
			onCreate(answer(302, '', { Location: location }));
			const { message } = bad(await run(video('P')));
			expect(message).toBe('The service redirects to another address [item 0]');
			expect(sim.requests).toHaveLength(1);
		},
	);

	test('one item fails, the others go on with "continue on fail", order kept', async () => {
		await start({ pace: 0.02 });
		const words = ['A', 'B [sim:unsafe]', 'C', 'D [sim:html-error]', 'E [sim:no-credits]', 'F'];
		const fields = video(EACH, {}, { download: false });
		const output = good(await run(node(fields, CONTINUE), texts(...words)));
		const failed = words.map((prompt) => prompt.includes('sim:'));
		expect(output.map(({ json }) => Boolean(json.error))).toEqual(failed);
		expect(origins(output)).toEqual([0, 1, 2, 3, 4, 5]);
		expect(posts()).toBe(6);
	});
});

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

	test.each([
		[{ error: 'rate_limit_exceeded', id: 'v7' }, /rate_limit_exceeded/],
		[{ error: 'prompt too long' }, /prompt too long/],
	])('but not status 200 with %j', async (failure, words) => {
		onCreate(answer(200, failure), ALWAYS);
		expect(bad(await run(video('Boat'))).message).toMatch(words);
		expect(posts()).toBe(1);
	});

	test('429 until the timeout: says so, how long to wait, and that nothing was accepted', async () => {
		onCreate(answer(429, '', { 'Retry-After': '600000' }), ALWAYS);
		const error = bad(await run(video('P', { timeout: 1 })));
		expect(error.message).toMatch(/too many requests/);
		expect(error.description).toMatch(/^Wait 60 seconds, or/);
		expect(error.description).not.toMatch(/may have accepted/);
	});

	test('429 until the timeout: so say items whose turn never came', async () => {
		onCreate(answer(429, '', { 'Retry-After': '600000' }), ALWAYS);
		const items = [{ p: 'a' }, { p: 'b' }, { p: 'c' }];
		const fields = video('={{ $json.p }}', { timeout: 1, concurrency: 2 });
		const output = good(await run(node(fields, CONTINUE), { items }));
		expect(posts()).toBe(2);
		for (const { json } of output) expect(json.error).toMatch(/too many requests/);
	});

	test('a refused connection, until the service is up', async () => {
		// Not one of those that other tests, at the same time, are given as free ports.
		const port = 20_000 + Math.floor(Math.random() * 10_000);
		const credential = { baseUrl: `http://127.0.0.1:${port}` };
		const refused = bad(await run(video('P', { timeout: 2 }), { credential }));
		expect(refused.message).toMatch(/refused the connection|No result after/);
		const running = await begin(video('Late', {}, { download: false }), { credential });
		await start({ port, token: sim.token });
		expect(only(await running.finished).json.prompt).toBe('Late');
		expect(sim.creates).toBe(1);
	});
});

describe('time limits and cancel', () => {
	test('cancel in mid-stream closes the connection within a second', async () => {
		await start({ pace: 1 });
		const running = await begin(video(EACH), texts('a', 'b'));
		await sim.waitFor(() => sim.openConnections() === 2);
		await stop(running);
		expect(sim.requests.map(({ method }) => method)).toEqual(['POST', 'POST']);
	});

	test.each<[string, () => void, () => boolean]>([
		['before the answer', () => onCreate({ hang: true }), () => sim.openConnections() === 1],
		['during the search', () => onHistory({ hang: true }), () => looks() === 1],
		['during the download', () => onFile({ hang: true }), () => sim.count('GET', '/files/') === 1],
	])('cancel %s closes the connection', async (when, arrange, isThere) => {
		await start({ pace: 0.01 });
		arrange();
		if (when === 'during the search') onCreate({ sse: [{ delayMs: 20 }, 'END'] });
		const running = await begin(video('a'));
		await sim.waitFor(isThere);
		await stop(running);
	});

	test('the timeout counts for the whole generation and closes the stream', async () => {
		await start({ pace: 1 });
		const error = bad(await run(video('Slow', { timeout: 1 })));
		expect(error.message).toMatch(/No result after 1 second.*\[item 0\]/);
		expect(error.description).toMatch(/may have accepted/);
		await allClosed();
		expect(posts()).toBe(1);
	});

	test('idle time below the pauses of a slow stream is heeded, above it is not', async () => {
		await start({ pace: 0.15 });
		const fields = video('Pauses of 1.3 s', { idleTimeout: 2 }, { download: false });
		expect(only(await run(fields)).json.id).toBe(sim.history[0]!.id);
		expect(looks()).toBe(0);
	});
});
