import { allClosed, bad, good, looks, posts, requests } from './seen';
import { ALWAYS, answer, onCreate, onFile, onHistory } from './service';
import { begin, CONTINUE, node, run, sim, start, video } from './setup';

const PAGE =
	'<!DOCTYPE html><html><head><title>Oops</title></head><body><h1>Oops</h1></body></html>';

describe('an error status at the create call', () => {
	test.each<[number, string | object, RegExp]>([
		[400, { error: 'bad_prompt' }, /rejected the request: bad_prompt/],
		[400, { detail: [{ msg: 'prompt too long' }] }, /rejected the request: prompt too long/],
		[400, { error: 'You do not have enough credits.' }, /out of credit/],
		[401, { error: 'invalid_token' }, /refused the API token/],
		[402, { error: 'insufficient_credits' }, /out of credit: insufficient_credits/],
		[402, '', /out of credit/],
		[403, { message: 'forbidden' }, /refused the API token/],
		[403, PAGE, /not available \(HTTP 403\)/],
		[404, { error: 'not_found' }, /does not recognize this address/],
		[422, { error: { code: 'x', message: 'too short' } }, /rejected the request: too short/],
		[500, '', /not available \(HTTP 500\)/],
		[500, { message: 'boom' }, /not available \(HTTP 500\): boom/],
		[502, PAGE, /not available \(HTTP 502\)/],
		[503, PAGE, /not available \(HTTP 503\)/],
	])('%d %j: one POST, and it is said at once', async (status, body, message) => {
		onCreate(answer(status, body), ALWAYS);
		const error = bad(await run(video('P')));
		expect(error.message).toMatch(message);
		expect(error.message).toMatch(/\[item 0\]$/);
		expect(error.all).not.toMatch(/<|doctype|undefined|\[object/i);
		expect(error.all).not.toContain(sim.token);
		// After a 5xx nobody knows whether it was accepted: the user must hear that.
		const unsure = /may have accepted/.test(error.description);
		if (status !== 403) expect(unsure).toBe(status >= 500);
		expect(posts()).toBe(1);
		expect(looks()).toBe(0);
	});

	test('a redirect of the create call is not followed with the token', async () => {
		const redirect = `${sim.fileOrigin}/v1/video/text-to-video`;
		onCreate({ redirect, status: 307 });
		const error = bad(await run(video('P')));
		expect(error.message).toContain(`redirects to ${sim.fileOrigin}`);
		expect(sim.leaks).toEqual([]);
		expect(sim.requests).toHaveLength(1);
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
		const items = words.map((prompt) => ({ prompt }));
		const fields = video('={{ $json.prompt }}', {}, { download: false });
		const output = good(await run(node(fields, CONTINUE), { items }));
		const failed = words.map((prompt) => prompt.includes('sim:'));
		expect(output.map(({ json }) => Boolean(json.error))).toEqual(failed);
		expect(output.map(({ pairedItem }) => pairedItem)).toEqual(words.map((_, item) => ({ item })));
		expect(posts()).toBe(6);
	});
});

describe('what surely was not accepted is sent again', () => {
	test('429 with Retry-After', async () => {
		const [item] = good(await run(video('Boat [sim:rate-limit]', {}, { download: false })));
		expect(item!.json.id).toBe(sim.history[0]!.id);
		expect(requests('POST', '/').map(({ status }) => status)).toEqual([429, 200]);
		const [first, second] = requests('POST', '/');
		expect(second!.time - first!.time).toBeGreaterThanOrEqual(1950);
		expect(sim.creates).toBe(1);
	});

	test('429 until the timeout: says so, how long to wait, and that nothing was accepted', async () => {
		onCreate(answer(429, '', { 'Retry-After': '600000' }), ALWAYS);
		const error = bad(await run(video('P', { timeout: 1 })));
		expect(error.message).toMatch(/too many requests/);
		expect(error.description).toMatch(/^Wait 60 seconds, or/);
		expect(error.description).not.toMatch(/may have accepted/);
	});

	test('a refused connection, until the service is up', async () => {
		// Not one of those that other tests, at the same time, are given as free ports.
		const port = 20_000 + Math.floor(Math.random() * 10_000);
		const baseUrl = `http://127.0.0.1:${port}`;
		const refused = bad(await run(video('P', { timeout: 2 }), { credential: { baseUrl } }));
		expect(refused.message).toMatch(/refused the connection|No result after/);
		const credential = { baseUrl };
		const running = await begin(video('Late', {}, { download: false }), { credential });
		const { token } = sim;
		await start({ port, token });
		expect(good(await running.finished)[0]!.json.prompt).toBe('Late');
		expect(sim.creates).toBe(1);
	});
});

describe('time limits and cancel', () => {
	test('cancel in mid-stream closes the connection within a second', async () => {
		await start({ pace: 1 });
		const running = await begin(video('={{ $json.p }}'), { items: [{ p: 'a' }, { p: 'b' }] });
		await sim.waitFor(() => sim.openConnections() === 2);
		running.cancel();
		await allClosed(1000);
		await running.finished;
		expect(sim.requests.every(({ method }) => method === 'POST')).toBe(true);
		expect(posts()).toBe(2);
	});

	test('cancel before the answer, and cancel during the search', async () => {
		onCreate({ hang: true });
		const first = await begin(video('a'));
		await sim.waitFor(() => sim.openConnections() === 1);
		first.cancel();
		await allClosed(1000);
		onCreate({ sse: [{ delayMs: 20 }, 'END'] });
		onHistory({ hang: true });
		const second = await begin(video('b'));
		await sim.waitFor(() => looks() === 1);
		second.cancel();
		await allClosed(1000);
		await Promise.all([first.finished, second.finished]);
	});

	test('cancel during the download closes that connection', async () => {
		await start({ pace: 0.01 });
		onFile({ hang: true });
		const running = await begin(video('a'));
		await sim.waitFor(() => sim.requests.some(({ on }) => on === 'file'));
		running.cancel();
		await allClosed(1000);
		await running.finished;
	});

	test('the timeout counts for the whole generation and closes the stream', async () => {
		await start({ pace: 1 });
		const error = bad(await run(video('Slow', { timeout: 1 })));
		expect(error.message).toMatch(/No result after 1 second.*\[item 0\]/);
		expect(error.description).toMatch(/may have accepted/);
		await allClosed();
		expect(posts()).toBe(1);
	});

	test('a file that never comes within the timeout: its address is told', async () => {
		await start({ pace: 0.01 });
		onFile({ hang: true }, ALWAYS);
		const subject = video('Slow', { timeout: 2 });
		const [item] = good(await run(node(subject, CONTINUE)));
		expect(item!.json.error).toMatch(/No result after 2 seconds|could not be downloaded/);
		expect(JSON.stringify(item!.json)).toContain(sim.history[0]!.file_url);
		const error = bad(await run(subject));
		expect(error.all).toContain(sim.history[0]!.file_url);
		await allClosed();
	});

	test('idle time below the pauses of a slow stream is heeded, above it is not', async () => {
		await start({ pace: 0.15 });
		const fields = video('Pauses of 1.3 s', { idleTimeout: 2 }, { download: false });
		const [item] = good(await run(fields));
		expect(item!.json.id).toBe(sim.history[0]!.id);
		expect(looks()).toBe(0);
	});

	test('an expired file names its address and is not paid for again', async () => {
		await start({ pace: 0.01 });
		const subject = node(video('Old [sim:expired-file]', { timeout: 3 }), CONTINUE);
		expect(good(await run(subject))[0]!.json.file_url).toBe(sim.history[0]!.file_url);
		expect(sim.creates).toBe(1);
	});
});
