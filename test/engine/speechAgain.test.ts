import { allClosed, bad, good, hints, posts, saved, taskOf, tasks } from './seen';
import { answer, onFile, onRead } from './service';
import { CONTINUE, ERROR_OUTPUT, NODE, node, RETRY, run, sim, speech, workflow } from './setup';

const three = [{ t: 'One.' }, { t: 'Two [sim:task-fails]' }, { t: 'Three.' }];

test('continue on fail keeps the other items and gives task_id beside error', async () => {
	const result = await run(node(speech('={{ $json.t }}'), CONTINUE), { items: three });
	const output = good(result);
	expect(output.map(({ pairedItem }) => pairedItem)).toEqual([0, 1, 2].map((item) => ({ item })));
	expect([output[0]?.json.input, output[2]?.json.input]).toEqual(['One.', 'Three.']);
	expect(output[1]?.json).toMatchObject({
		error: expect.stringContaining('could not generate the speech'),
		task_id: taskOf('Two').id,
	});
	expect(output[1]?.binary).toBeUndefined();
	expect(output[0]?.binary?.data?.mimeType).toBe('audio/wav');
	await allClosed();
});

test('the error output: failed items there with their task_id, the others on the first output', async () => {
	const result = await run(node(speech('={{ $json.t }}'), ERROR_OUTPUT), { items: three });
	const [regular, failed] = result.task(NODE)!.data!.main!;
	expect(regular?.map(({ json }) => json.input)).toEqual(['One.', 'Three.']);
	expect(failed).toHaveLength(1);
	expect(failed?.[0]?.json).toMatchObject({
		error: expect.stringContaining('could not generate the speech'),
		task_id: taskOf('Two').id,
	});
	expect(saved(result.run)).not.toContain(sim.token);
});

test('continue on fail: a bad item is named, and the others are made', async () => {
	const items = [{ t: ' ' }, { t: 'Two.' }];
	const output = good(await run(node(speech('={{ $json.t }}'), CONTINUE), { items }));
	expect(output[0]?.json.error).toMatch(/'Text' is empty \[item 0\]/);
	expect(output[1]?.json.input).toBe('Two.');
	expect(posts()).toBe(1);
});

test('without continue on fail the message lists the paid tasks of the other items', async () => {
	const items = [
		{ t: 'One [sim:slow=600]' },
		{ t: 'Two [sim:task-fails]' },
		{ t: 'Three [sim:slow=600]' },
	];
	const result = await run(speech('={{ $json.t }}'), { items });
	const { message, description, itemIndex } = bad(result);
	expect([itemIndex, message]).toEqual([1, expect.stringContaining('[item 1]')]);
	expect(description).toContain(`item 0: task ${taskOf('One').id}`);
	expect(description).toContain(`item 2: task ${taskOf('Three').id}`);
	await allClosed(1000);
});

test('Retry On Fail collects what was paid for instead of paying again', async () => {
	const text = 'Hello, this takes a moment. [sim:slow=40]';
	const result = await run(node(speech(text, { timeout: 1 }), { ...RETRY, maxTries: 3 }));
	const [item] = good(result);
	expect(item?.binary?.data?.mimeType).toBe('audio/wav');
	expect([posts(), sim.creates]).toEqual([1, 1]);
	expect(hints(result).join()).toMatch(/at no extra charge/);
	await allClosed();
});

test('Retry On Fail: a failed task is made anew, the others are only collected', async () => {
	const items = [{ t: 'One. [sim:slow=8]' }, { t: 'Two, rather longer than the first one is.' }];
	const running = run(node(speech('={{ $json.t }}'), RETRY), { items });
	await sim.waitFor(() => taskOf('One') !== undefined);
	const path = `/v1/labs/task/${taskOf('One').id}`;
	// Twice: the second attempt asks again.
	onRead(answer(200, { id: 1, status: 'FAILED', error: 'Overload' }), { path, times: 2 });
	const output = good(await running);
	expect(output.map(({ json }) => json.input)).toEqual(items.map(({ t }) => t));
	expect(posts()).toBe(3);
});

test.each([
	['has failed', answer(200, { id: 1, status: 'error', message: 'busy' })],
	['is unknown', answer(404, { error: 'task_not_found' })],
	['is unknown to an ingress', answer(404, '<html><body>404</body></html>')],
])(
	'Retry On Fail: a task that by one answer %s is asked for again, not paid for',
	async (_, action) => {
		onRead(action);
		// The first attempt ends before it reads the task: a new one may be unknown for some seconds.
		const fields = speech('Hello, this takes a moment. [sim:slow=40]', { timeout: 1 });
		const [item] = good(await run(node(fields, { ...RETRY, maxTries: 4 })));
		expect(item?.binary?.data?.mimeType).toBe('audio/wav');
		expect([posts(), sim.creates]).toEqual([1, 1]);
	},
);

test('"Retry execution" collects too', async () => {
	const within = (timeout: number) =>
		workflow(node(speech('={{ $json.t }} [sim:slow=24]', { timeout })));
	const items = [{ t: 'One' }, { t: 'Two' }];
	const failed = await run(within(1), { items });
	expect(bad(failed).message).toContain('No result after 1 second');
	await sim.waitFor(() => tasks().every(({ status }) => status === 'completed'));
	const saved = JSON.parse(JSON.stringify(failed.run));
	const output = good(await run(within(60), { retryOf: saved }));
	expect(output.map(({ json }) => json.task_id)).toEqual([taskOf('One').id, taskOf('Two').id]);
	expect(posts()).toBe(2);
});

test('a new execution of the same text is paid for, as it has to be', async () => {
	for (let round = 0; round < 2; round++) good(await run(speech('Hello.')));
	expect(sim.creates).toBe(2);
});

test('two items with the same text are two tasks, also on a second attempt', async () => {
	onFile(answer(410));
	const output = good(await run(node(speech('Same.'), RETRY), { items: [{}, {}] }));
	expect(new Set(output.map(({ json }) => json.task_id)).size).toBe(2);
	expect(sim.creates).toBe(2);
});
