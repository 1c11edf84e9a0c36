import { bad, good } from './seen';
import { ALWAYS, answer, onCreate, onRead, posts, tasks } from './service';
import { EACH, run, sim, speech, task, texts } from './setup';

const EDGE = '<!DOCTYPE html><html><body><h1>Just a moment</h1></body></html>';

const TEN = Array.from({ length: 10 }, (_, n) => `Text ${n}.`);
const REFUSED_WITH_200 = answer(200, { error: 'rate limit exceeded' });

test('readings that fail to the end: the message tells of them', async () => {
	onRead(answer(500, { error: 'boom' }), ALWAYS);
	const { message } = bad(await run(speech('Hi.', { timeout: 6, pollInterval: 1 })));
	expect(message).toMatch(
		/^No result after 6 seconds \(last known: pending, 100 %, then HTTP 500\)/,
	);
	expect(message).toContain(tasks()[0]!.id);
});

test('Collect right after Speak fetches ten of ten from a replica that lags', async () => {
	const created = await run(speech(EACH, {}, { waitForCompletion: false }), texts(...TEN));
	const ids = good(created).map(({ json }) => json.task_id as string);
	// So often is a task read in 0.8 s.
	for (const id of ids) {
		onRead(answer(404, { error: 'task_not_found' }), { path: `/v1/labs/task/${id}`, times: 5 });
	}
	const items = { items: ids.map((task_id) => ({ task_id })) };
	const collected = await run(task('wait', '={{ $json.task_id }}'), items);
	expect(good(collected).map(({ json }) => json.task_id)).toEqual(ids);
});

test.each([
	['408', answer(408), true],
	['a reset', { reset: true, accepted: true }, true],
	['a page with 200', { accepted: true, ...answer(200, EDGE) }, true],
	['an answer without an id', { accepted: true, ...answer(200, {}) }, true],
	['404', answer(404, {}), false],
	['422', answer(422, { detail: [{ msg: 'voice_id: field required' }] }), false],
	['307 to itself', { redirect: '/v1/labs/task', status: 307 }, false],
])('a create call is not repeated after %s', async (_, action, maybePaid) => {
	onCreate(action, ALWAYS);
	const { all } = bad(await run(speech('Hi.')));
	expect(posts()).toBe(1);
	expect(/may have accepted the request and charged/.test(all)).toBe(maybePaid);
	expect(/charged/.test(all)).toBe(maybePaid);
	// The history lists no speech.
	expect(all).not.toContain('History');
});

test.each([
	['429', answer(429, {}, { 'Retry-After': '1' })],
	['200 that says it was too much', REFUSED_WITH_200],
])('a create call is repeated after %s', async (_, action) => {
	onCreate(action, { times: 2 });
	good(await run(speech('Hi.')));
	expect([posts(), sim.creates]).toEqual([3, 1]);
});
