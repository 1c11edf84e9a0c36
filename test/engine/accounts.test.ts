import { sleep } from 'n8n-workflow';
import { bad, good, only, out } from './seen';
import { ALWAYS, answer, onCreate, onFile, posts, requests, taskOf } from './service';
import {
	account,
	begin,
	CONTINUE,
	EACH,
	fakeTime,
	history,
	image,
	node,
	RETRY,
	run,
	sim,
	speech,
	start,
	task,
} from './setup';
import { passUntil, passWhile } from './time';

/* A credential by expression: each item has the account that n8n resolves for it, and pays with that one. */

const TOKEN = { apiToken: '={{ $json.token }}' };
/** Tokens of two customers of this test. */
let ada: string;
let bob: string;

beforeEach(async () => {
	const tag = Math.random().toString(36).slice(2, 10);
	[ada, bob] = [`ada-${tag}-token`, `bob-${tag}-token`];
	await start({ token: ada, otherTokens: [bob], pace: 0.02 });
});

const rows = (...items: Array<[token: string, t: string]>) => ({
	credential: TOKEN,
	items: items.map(([token, t]) => ({ token, t })),
});

/** An image that n8n has stored, and that counts as so many bytes. */
const storedImage = async (bytes: number) => {
	const result = await run(image('A boat'), { binaryMode: 'filesystem' });
	return { ...only(result).binary!.data!, bytes };
};

const owner = (text: string) => taskOf(text).token;

test('each row is charged to its own account, and hears of its own task', async () => {
	const given = rows([ada, 'One'], [bob, 'Two'], [ada, 'Three']);
	const items = good(await run(speech('={{ $json.t }} {{ $json.token }}'), given));
	// What an item says is without the token of its account.
	expect(items.map(({ json }) => json.input)).toEqual(['One *****', 'Two *****', 'Three *****']);
	expect(['One', 'Two', 'Three'].map(owner)).toEqual([ada, bob, ada]);
	expect(requests('GET', '/ws')).toHaveLength(2);
});

test('what a row reads or deletes is its own account’s', async () => {
	good(await run(image(EACH), rows([ada, 'A'], [bob, 'B'])));
	const [first, second] = good(await run(history(), rows([bob, ''], [ada, ''])));
	expect([first!.json.prompt, second!.json.prompt]).toEqual(['B', 'A']);
	const tasks = good(
		await run(speech(EACH, {}, { waitForCompletion: false }), rows([ada, 'A'], [bob, 'B'])),
	);
	const [own, other] = tasks.map(({ json }) => String(json.task_id));
	const given = rows([ada, own!], [bob, other!]);
	expect(good(await run(task('get', EACH), given))).toHaveLength(2);
	expect(good(await run(task('wait', EACH), given))).toHaveLength(2);
	expect(good(await run(task('delete', EACH), given))).toHaveLength(2);
	good(await run(account, rows([ada, ''], [bob, ''])));
	const askers = requests('GET', '/v1/video/me').map(({ headers }) => headers.authorization);
	expect(askers.sort()).toEqual([`Bearer ${ada}`, `Bearer ${bob}`]);
});

test('a refused token and a missing one fail the rows of that customer only', async () => {
	const given = rows(['wrong-token-1', 'One'], [bob, 'Two'], ['', 'Three'], [ada, 'Four']);
	const items = out(await run(node(speech(EACH), CONTINUE), given));
	expect(items.map(({ json }) => json.error ?? json.input)).toEqual([
		'Authorization failed: the service refused the API token: invalid_token',
		'Two',
		"'API Token' is empty",
		'Four',
	]);
	const { message, description } = bad(await run(speech(EACH), given));
	expect(message).toBe("Row 3: 'API Token' is empty");
	expect(description).toContain('Enter it in the credential, or check its expression there.');
	expect(posts()).toBe(3);
});

test('an expression that cannot be resolved for a row fails that row', async () => {
	const items = [
		{ t: 'One', token: null },
		{ t: 'Two', token: { is: bob } },
	];
	const given = { credential: { apiToken: '={{ $json.token.is }}' }, items };
	const [first, second] = out(await run(node(speech(EACH), CONTINUE), given));
	expect(first!.json.error).toMatch(/\[Error resolving credentials\]|'API Token' is empty/);
	expect(second!.json.input).toBe('Two');
});

test('an account that is told to wait does not hold up the others', async () => {
	const wait = answer(429, { error: 'Too many requests' }, { 'Retry-After': '3600' });
	onCreate(wait, { ...ALWAYS, body: 'Slow' });
	const slow = Array.from({ length: 20 }, (_, n): [string, string] => [ada, `Slow ${n}`]);
	const fast = Array.from({ length: 20 }, (_, n): [string, string] => [bob, `Fast ${n}`]);
	const fields = node(speech(EACH, { concurrency: 4, timeout: 8 }), CONTINUE);
	fakeTime();
	const { finished } = await begin(fields, rows(...slow, ...fast));
	const done = () => [...sim.tasks.values()].filter(({ status }) => status === 'completed');
	await passUntil(() => done().length === 20, 6, 0.05);
	const errors = out(await passWhile(finished)).map(({ json }) => Boolean(json.error));
	expect(errors).toEqual([...Array(20).fill(true), ...Array(20).fill(false)]);
});

test('images that wait for memory leave the place of their account to speech', async () => {
	await start({ token: ada, otherTokens: [bob], pace: 0.02, concurrencyLimit: 1 });
	// So the node learns the limit.
	good(await run(speech(EACH), rows([ada, 'One'], [ada, 'Two'])));
	onCreate({ hang: true }, { ...ALWAYS, body: 'Bob' });
	// It counts as more than half of the memory for images.
	const binary = { image: await storedImage(41e6) };
	const fields = { resource: 'video', operation: 'ingredientsToVideo', download: false };
	const subject = { ...fields, prompt: '={{ $json.t }}', binaryPropertyName: 'image', options: {} };
	const pictureOf = async (token: string, t: string) =>
		await begin(subject, {
			...{ credential: TOKEN, binaryMode: 'filesystem' },
			input: [{ json: { token, t }, binary }],
		});
	const held = await pictureOf(bob, 'Bob');
	await sim.waitFor(() => requests('POST', '/v1/video/ingredients').length === 1);
	const waiting = await pictureOf(ada, 'Ada');
	await sleep(500);
	good(await run(speech(EACH, { timeout: 15 }), rows([ada, 'Three'])));
	expect(requests('POST', '/v1/video/ingredients')).toHaveLength(1);
	held.cancel();
	good(await waiting.finished);
});

test('with Concurrency 1, accounts take turns', async () => {
	const given = rows([ada, 'A1'], [ada, 'A2'], [ada, 'A3'], [bob, 'B1'], [bob, 'B2']);
	good(await run(speech(EACH, { concurrency: 1 }), given));
	expect([...sim.tasks.values()].map(({ input }) => input)).toEqual(['A1', 'B1', 'A2', 'B2', 'A3']);
});

test('Concurrency counts the items of all accounts', async () => {
	const given = rows([ada, 'One'], [bob, 'Two'], [ada, 'Three'], [bob, 'Four']);
	const running = run(speech(EACH, { concurrency: 1 }), given);
	const together = sim.waitFor(() => sim.inFlight.size > 1).catch(() => 'never');
	good(await running);
	await sim.close();
	expect(await together).toBe('never');
});

test('a retry finds what each of two equal rows has paid for, with the account that paid', async () => {
	onFile(answer(410));
	const other = { apiToken: `={{ $itemIndex ? '${bob}' : '${ada}' }}` };
	const given = { credential: other, items: [{ t: 'Same' }, { t: 'Same' }] };
	const result = await run(node(image(EACH), RETRY), given);
	const prompts = good(result).map(({ json }) => json.id);
	const made = [ada, bob].map((token) => sim.history.find(({ owner: o }) => o === token)?.id);
	expect(prompts).toEqual(made);
	expect(posts()).toBe(2);
	const kept = JSON.stringify(result.run.data);
	expect([ada, bob].filter((token) => kept.includes(token))).toEqual([]);
});

test('a retry with a new token of the same credential finds what the old one has paid for', async () => {
	onFile(answer(410));
	const failed = await run(image('A boat'));
	bad(failed);
	good(await run(image('A boat'), { retryOf: failed.run, credential: { apiToken: bob } }));
	expect(posts()).toBe(1);
});

describe('after a refused token', () => {
	const items = (count: number) => Array.from({ length: count }, (_, n) => ({ t: `Text ${n}` }));
	const given = { items: items(30), credential: { apiToken: 'wrong-token-1' } };

	test.each([
		['speech', speech],
		['an image', image],
	])('no row of %s that has not begun sends anything', async (_, of) => {
		const fields = of(EACH, { concurrency: 3 });
		const errors = out(await run(node(fields, CONTINUE), given)).map(({ json }) => json.error);
		expect(new Set(errors).size).toBe(1);
		expect(errors[29]).toMatch(/^Authorization failed: /);
		expect(posts()).toBeLessThanOrEqual(3);
	});

	test('no row that waits for memory sends its images', async () => {
		const image = await storedImage(15e6);
		const fields = { resource: 'video', operation: 'ingredientsToVideo', download: false };
		const subject = { ...fields, prompt: 'P', binaryPropertyName: 'image', options: {} };
		const input = items(6).map((json) => ({ json, binary: { image } }));
		onCreate(
			{ ...answer(401, { error: 'invalid_token' }), delayMs: 1000 },
			{ ...ALWAYS, after: 1 },
		);
		const result = await run(node(subject, CONTINUE), { input, binaryMode: 'filesystem' });
		expect(out(result)).toHaveLength(6);
		expect(requests('POST', '/v1/video/ingredients').length).toBeLessThan(6);
	});

	test.each([
		[403, { message: 'forbidden' }, 4],
		[403, { error: 'invalid_token' }, 4],
		[403, { error: 'Your plan does not include this voice' }, 4],
	])('which %d %j means or not', async (status, body, sent) => {
		onCreate(answer(status, body), ALWAYS);
		const fields = node(speech(EACH, { concurrency: 1 }), CONTINUE);
		expect(out(await run(fields, { items: items(4) }))).toHaveLength(4);
		expect(posts()).toBe(sent);
	});

	test.each([
		[{ message: 'forbidden' }, 4, answer(404, { error: 'Not Found' })],
		[{ error: 'invalid_token' }, 1, answer(404, { error: 'Not Found' })],
		[{ error: 'invalid_token' }, 1, answer(200, '<!doctype html><p>Welcome')],
		[{ error: 'invalid_token' }, 1, answer(200, { error: 'invalid_token' })],
	])('the words of 403 %j decide where no account can be read', async (body, sent, action) => {
		onCreate(answer(403, body), ALWAYS);
		sim.fault({ path: /\/me\b/, action, ...ALWAYS });
		const fields = node(speech(EACH, { concurrency: 1 }), CONTINUE);
		expect(out(await run(fields, { items: items(4) }))).toHaveLength(4);
		expect(posts()).toBe(sent);
	});
});
