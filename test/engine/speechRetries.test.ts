import { bad, good, posts, requests, run, sim, speech } from './setup';

const readings = () => requests('GET', '/v1/labs/task/');
const onRead = { method: 'GET', path: '/v1/labs/task/' };
const onCreate = { method: 'POST', path: '/v1/labs/task' };
const EDGE = '<!DOCTYPE html><html><body><h1>Just a moment</h1></body></html>';

const limited = (after?: string) => ({
	respond: { status: 429, ...(after ? { headers: { 'Retry-After': after } } : {}), body: {} },
});

test.each([
	['429, seconds', limited('1')],
	['429, a date', limited('date')],
	['429, nonsense', limited('soon')],
	['429, negative', limited('-3')],
	['429, nothing', limited()],
	['500', { respond: { status: 500, body: { error: 'boom' } } }],
	['502', { respond: { status: 502, body: EDGE } }],
	['503', { respond: { status: 503, body: { error: 'overloaded' } } }],
	['520', { respond: { status: 520, body: EDGE } }],
	['504', { respond: { status: 504 } }],
	['403 page of an edge', { respond: { status: 403, body: EDGE } }],
	['401 page of an edge', { respond: { status: 401, body: EDGE } }],
	['a page with 200', { respond: { status: 200, body: EDGE } }],
	['cut JSON', { respond: { status: 200, body: '{"id": 12, "stat' } }],
	['a reset', { reset: true }],
])('a reading is repeated after %s', async (_, action) => {
	const date = new Date(Date.now() + 1500).toUTCString();
	const fault = JSON.parse(JSON.stringify(action).replace('"date"', JSON.stringify(date)));
	sim.fault({ ...onRead, action: fault });
	good(await run(speech('Hi.')));
	expect(readings()).toHaveLength(2);
	expect(posts()).toBe(1);
});

test('Retry-After is kept to', async () => {
	sim.fault({ ...onRead, action: limited('2') });
	good(await run(speech('Hi.')));
	const [first, second] = readings();
	expect(second!.time - first!.time).toBeGreaterThanOrEqual(1990);
});

test('readings that fail to the end: the message tells of them', async () => {
	const respond = { status: 500, body: { error: 'boom' } };
	sim.fault({ ...onRead, times: Infinity, action: { respond } });
	const { message } = bad(await run(speech('Hi.', { timeout: 3, pollInterval: 1 })));
	expect(message).toMatch(
		/^No result after 3 seconds \(last known: pending, 100 %, then HTTP 500\)/,
	);
	expect(message).toContain([...sim.tasks.keys()][0]);
});

test('an absurd Retry-After is bounded by the deadline, and the task is named', async () => {
	sim.fault({ ...onRead, times: Infinity, action: limited('99999999999') });
	const { all } = bad(await run(speech('Hi.', { timeout: 2 })));
	expect(all).toContain([...sim.tasks.keys()][0]);
	expect(readings()).toHaveLength(1);
});

test('Wait outlasts a rate limit of more than a few refusals', async () => {
	good(await run(speech('Hi.', {}, { waitForCompletion: false })));
	const taskId = [...sim.tasks.keys()][0]!;
	sim.fault({ ...onRead, times: 6, action: limited('0') });
	const wait = { resource: 'speech', operation: 'wait', taskId, options: { timeout: 25 } };
	good(await run(wait));
	expect(readings()).toHaveLength(7);
});

test.each([
	['500', { respond: { status: 500, body: { error: 'boom' } } }],
	['502', { respond: { status: 502, body: EDGE } }],
	['503', { respond: { status: 503 } }],
	['504', { respond: { status: 504 } }],
	['408', { respond: { status: 408 } }],
	['a reset', { reset: true, accepted: true }],
	['a page with 200', { respond: { status: 200, body: EDGE }, accepted: true }],
	['an answer without an id', { respond: { status: 200, body: {} }, accepted: true }],
])('a create call is not repeated after %s', async (_, action) => {
	sim.fault({ ...onCreate, times: Infinity, action });
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
		sim.fault({ ...onCreate, times: Infinity, action: { respond: { status, body, headers } } });
		const { all } = bad(await run(speech('Hi.')));
		expect(posts()).toBe(1);
		expect(all).not.toMatch(/charged/);
	},
);

test('a create call is repeated after 429', async () => {
	sim.fault({ ...onCreate, times: 2, action: limited('1') });
	good(await run(speech('Hi.')));
	expect([posts(), sim.creates]).toEqual([3, 1]);
});
