import { allClosed, bad, good, hints, only } from './seen';
import { answer, onCreate, onRead, posts, taskOf, tasks } from './service';
import { EACH, node, RETRY, run, sim, speech, texts } from './setup';

/** It was made, and paid for, once. */
async function expectOnce(maxTries: number) {
	// The first attempt ends before it reads the task: a new one may be unknown for some seconds.
	const fields = speech('Hello, this takes a moment. [sim:slow=40]', { timeout: 1 });
	const result = await run(node(fields, { ...RETRY, maxTries }));
	expect(only(result).binary?.data?.mimeType).toBe('audio/wav');
	expect([posts(), sim.creates]).toEqual([1, 1]);
	return result;
}

test('Retry On Fail collects what was paid for instead of paying again', async () => {
	expect(hints(await expectOnce(3)).join()).toMatch(/at no extra charge/);
	await allClosed();
});

test('Retry On Fail: a failed task is made anew, the others are only collected', async () => {
	const items = texts('One. [sim:slow=8]', 'Two, rather longer than the first one is.');
	const running = run(node(speech(EACH), RETRY), items);
	await sim.waitFor(() => taskOf('One') !== undefined);
	const path = `/v1/labs/task/${taskOf('One').id}`;
	// Twice: the second attempt asks again.
	onRead(answer(200, { id: 1, status: 'FAILED', error: 'Overload' }), { path, times: 2 });
	const output = good(await running);
	expect(output.map(({ json }) => ({ t: json.input }))).toEqual(items.items);
	expect(posts()).toBe(3);
});

test.each([
	['has failed', answer(200, { id: 1, status: 'error', message: 'busy' })],
	['is unknown', answer(404, { error: 'task_not_found' })],
	['is unknown to an ingress', answer(404, '<html><body>404</body></html>')],
])(
	'Retry On Fail: when one answer says that a task %s, it is asked for again, not paid for',
	async (_, action) => {
		onRead(action);
		await expectOnce(4);
	},
);

test('Retry On Fail: what may not be sent again says what the first attempt met', async () => {
	onCreate({ accepted: true, ...answer(502, '<html><body>Bad Gateway</body></html>') });
	const { message, description } = bad(await run(node(speech('Hello.'), RETRY)));
	expect(message).toMatch(/got no clear response: HTTP 502 at \d\d:\d\d/);
	expect(description).toContain('It is not sent again automatically');
	expect(posts()).toBe(1);
});

test('"Retry execution" collects too', async () => {
	const within = (timeout: number) => speech(`${EACH} [sim:slow=24]`, { timeout });
	const failed = await run(within(1), texts('One', 'Two'));
	expect(bad(failed).message).toContain('No result after 1 second');
	await sim.waitFor(() => tasks().every(({ status }) => status === 'completed'));
	const retryOf = JSON.parse(JSON.stringify(failed.run));
	const output = good(await run(within(60), { retryOf }));
	expect(output.map(({ json }) => json.task_id)).toEqual([taskOf('One').id, taskOf('Two').id]);
	expect(posts()).toBe(2);
});

test('a new execution of the same text is paid for, as it has to be', async () => {
	for (let round = 0; round < 2; round++) good(await run(speech('Hello.')));
	expect(sim.creates).toBe(2);
});
