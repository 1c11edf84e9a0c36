import { allClosed, bad, good, hints, only, saved, stop } from './seen';
import { message, posts, readings, tasks } from './service';
import { begin, CONTINUE, ERROR_OUTPUT, NODE, node, run, sim, speech, start } from './setup';

const taskId = () => tasks()[0]!.id;
/** The first task is there, and its messages are heard. */
const underWay = async () => await sim.waitFor(() => sim.tasks.size === 1 && sim.sockets() === 1);

test('a message that says 100 too early is no outcome: the task is read until it is', async () => {
	await start({ pace: 0.3 });
	const execution = await begin(speech('Hello.'));
	await underWay();
	sim.push(message(taskId(), 140));
	expect(only(await execution.finished).json.status).toBe('completed');
	expect(readings().length).toBeGreaterThan(1);
});

test('a refused socket: polls, and one hint for all items says so', async () => {
	sim.setWebSocketMode('refuse');
	const result = await run(speech('Hello.'), { items: [{}, {}, {}] });
	expect(good(result)).toHaveLength(3);
	expect(hints(result)).toEqual([expect.stringMatching(/WebSocket.*item 0, 1, 2/s)]);
	expect(JSON.stringify(result.hints(NODE))).not.toContain(sim.token);
	expect(posts()).toBe(3);
	await allClosed();
});

test('the deadline ends the wait, names the task and what to do', async () => {
	const { message, description } = bad(await run(speech('Hi [sim:slow=600]', { timeout: 2 })));
	const { id } = tasks()[0]!;
	expect(message).toMatch(/^No result after 2 seconds.*\[item 0\]$/);
	expect(message).toContain(id);
	expect(description).toContain(
		`collect the result at no extra charge, use Speech → Collect with task ID ${id}`,
	);
	expect(description).toContain('creating it again is charged as a new task');
	await allClosed();
	expect(posts()).toBe(1);
});

test('nothing is paid for once the deadline has passed while the socket was waited for', async () => {
	sim.setWebSocketMode('hang');
	const { message } = bad(await run(speech('Hi.', { timeout: 1 })));
	expect(message).toContain('No result after 1 second');
	expect(sim.creates).toBe(0);
});

test.each([
	['stop', {}],
	['continue on fail', CONTINUE],
	['error output', ERROR_OUTPUT],
] as const)(
	'cancel while waiting (%s): canceled, and all closed within a second',
	async (_, extra) => {
		const items = [{ n: 1 }, { n: 2 }, { n: 3 }];
		const execution = await begin(node(speech('={{ $json.n }} [sim:slow=600]'), extra), { items });
		await sim.waitFor(() => sim.tasks.size === 3 && sim.sockets() === 1);
		const { run: canceled, task } = await stop(execution);
		// n8n itself passes the input on where errors are to be passed over; no error item may be in it.
		expect(JSON.stringify(task(NODE)?.data ?? null)).not.toContain('error');
		expect(posts()).toBe(3);
		expect(saved(canceled)).not.toContain(sim.token);
	},
);

test.each([
	['file origin, memory', false, 'default'],
	['API origin, disk', true, 'filesystem'],
] as const)('cancel during a download (%s)', async (_, relativeAudioUrl, binaryMode) => {
	await start({ dialect: { relativeAudioUrl } });
	const execution = await begin(speech('Hi [sim:big-file=400]'), { binaryMode });
	const files = () => sim.requests.filter(({ path }) => path.startsWith('/files/'));
	await sim.waitFor(() => files()[0]?.status === 200);
	await stop(execution);
	expect(files().map(({ closedByClient }) => closedByClient)).toEqual([true]);
});
