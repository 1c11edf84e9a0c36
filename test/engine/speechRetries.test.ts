import { bad, good } from './seen';
import { ALWAYS, answer, onCreate, onRead, posts, readings, tasks } from './service';
import { run, sim, speech } from './setup';
import { wait } from './longText';

const EDGE = '<!DOCTYPE html><html><body><h1>Just a moment</h1></body></html>';

const REFUSED_WITH_200 = answer(200, { error: 'rate limit exceeded' });

const limited = (after?: string) => answer(429, {}, after ? { 'Retry-After': after } : {});

test.each([
	['429, a date', limited('date')],
	['429, nonsense', limited('soon')],
	['429, negative', limited('-3')],
	['429, nothing', limited()],
	['200 that says it was too much', REFUSED_WITH_200],
	['a page with 200', answer(200, EDGE)],
])('a reading is repeated after %s', async (_, action) => {
	const date = new Date(Date.now() + 1500).toUTCString();
	onRead(JSON.parse(JSON.stringify(action).replace('"date"', JSON.stringify(date))));
	good(await run(speech('Hi.')));
	expect(readings()).toHaveLength(2);
	expect(posts()).toBe(1);
});

test('Retry-After is kept to', async () => {
	onRead(limited('2'));
	good(await run(speech('Hi.')));
	const [first, second] = readings();
	expect(second!.time - first!.time).toBeGreaterThanOrEqual(1990);
});

test('readings that fail to the end: the message tells of them', async () => {
	onRead(answer(500, { error: 'boom' }), ALWAYS);
	const { message } = bad(await run(speech('Hi.', { timeout: 3, pollInterval: 1 })));
	expect(message).toMatch(
		/^No result after 3 seconds \(last known: pending, 100 %, then HTTP 500\)/,
	);
	expect(message).toContain(tasks()[0]!.id);
});

test('an absurd Retry-After is bounded by the deadline, and the task is named', async () => {
	onRead(limited('99999999999'), ALWAYS);
	const { all } = bad(await run(speech('Hi.', { timeout: 2 })));
	expect(all).toContain(tasks()[0]!.id);
	expect(readings()).toHaveLength(1);
});

test('Wait outlasts a rate limit of more than a few refusals', async () => {
	good(await run(speech('Hi.', {}, { waitForCompletion: false })));
	const taskId = tasks()[0]!.id;
	onRead(limited('0'), { times: 6 });
	good(await run(wait(taskId, { timeout: 25 })));
	expect(readings()).toHaveLength(7);
});

test.each([
	['408', answer(408)],
	['a reset', { reset: true, accepted: true }],
	['a page with 200', { accepted: true, ...answer(200, EDGE) }],
	['an answer without an id', { accepted: true, ...answer(200, {}) }],
])('a create call is not repeated after %s', async (_, action) => {
	onCreate(action, ALWAYS);
	const { all } = bad(await run(speech('Hi.')));
	expect(posts()).toBe(1);
	expect(all).toMatch(/may have accepted the request and charged/);
	// The history lists no speech.
	expect(all).not.toContain('History');
});

test.each([
	['401', 401, { error: 'invalid_token' }],
	['402', 402, { error: 'insufficient_credits' }],
	['400', 400, { detail: 'Text too long' }],
	['404', 404, {}],
	['422', 422, { detail: [{ msg: 'voice_id: field required' }] }],
	['307 to itself', 307, {}],
])(
	'a create call is not repeated after %s, and nothing is said to be paid',
	async (_, status, body) => {
		const headers = { Location: `${sim.baseUrl}/v1/labs/task` };
		onCreate(answer(status, body, headers), ALWAYS);
		const { all } = bad(await run(speech('Hi.')));
		expect(posts()).toBe(1);
		expect(all).not.toMatch(/charged/);
	},
);

test.each([
	['429', limited('1')],
	['200 that says it was too much', REFUSED_WITH_200],
])('a create call is repeated after %s', async (_, action) => {
	onCreate(action, { times: 2 });
	good(await run(speech('Hi.')));
	expect([posts(), sim.creates]).toEqual([3, 1]);
});
