import { allClosed, bad, posts, saved, tasks } from './seen';
import { ALWAYS, answer, onCreate, onFile, onRead } from './service';
import { begin, CONTINUE, ERROR_OUTPUT, NODE, node, run, sim, speech, start } from './setup';

const taskId = () => tasks()[0]!.id;

test('the deadline ends the wait, names the task and what to do, and closes everything', async () => {
	const result = await run(speech('Hi [sim:slow=600]', { timeout: 1 }));
	const { message, description, itemIndex } = bad(result);
	expect(message).toContain('No result after 1 second');
	expect(message).toContain(taskId());
	expect(message).toContain('[item 0]');
	expect(description).toContain(
		`collect the result at no extra charge, use Speech → Wait with task ID ${taskId()}`,
	);
	expect(description).toContain('creating it again is charged as a new task');
	expect(itemIndex).toBe(0);
	await allClosed();
	expect(posts()).toBe(1);
});

test('the deadline ends a reading that hangs', async () => {
	onRead({ hang: true }, ALWAYS);
	const { message } = bad(await run(speech('Hi.', { timeout: 2 })));
	expect(message).toContain('No result after 2 seconds');
	await allClosed();
});

test('the deadline ends a download', async () => {
	onFile({ hang: true });
	const { message, description } = bad(await run(speech('Hi.', { timeout: 2 })));
	expect(message).toContain(taskId());
	expect(message).toContain('No result after 2 seconds');
	expect(description).toContain(`Speech → Wait with task ID ${taskId()}`);
	await allClosed();
});

test('a create call that does not answer within the deadline is sent once and said to be unsure', async () => {
	onCreate({ hang: true, accepted: true });
	const { message, description } = bad(await run(speech('Hi.', { timeout: 2 })));
	expect(message).toContain('No result after 2 seconds');
	expect(description).toContain('may have accepted the request and charged for it');
	expect(posts()).toBe(1);
	await allClosed();
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
		execution.cancel();
		const { run: canceled, task } = await execution.finished;
		expect(canceled.status).toBe('canceled');
		// n8n itself passes the input on where errors are to be passed over; no error item may be in it.
		expect(JSON.stringify(task(NODE)?.data ?? null)).not.toContain('error');
		await allClosed(1000);
		expect(posts()).toBe(3);
		expect(saved(canceled)).not.toContain(sim.token);
	},
);

test.each([
	['file origin, memory', false, 'default'],
	['file origin, disk', false, 'filesystem'],
	['API origin, memory', true, 'default'],
	['API origin, disk', true, 'filesystem'],
] as const)('cancel during a download (%s)', async (_, relativeAudioUrl, binaryMode) => {
	await start({ dialect: { relativeAudioUrl } });
	const execution = await begin(speech('Hi [sim:big-file=400]'), { binaryMode });
	const files = () => sim.requests.filter(({ path }) => path.startsWith('/files/'));
	await sim.waitFor(() => files().length === 1 && files()[0]!.status === 200);
	execution.cancel();
	expect((await execution.finished).run.status).toBe('canceled');
	await allClosed(1000);
	expect(files()).toHaveLength(1);
	expect(files()[0]?.closedByClient).toBe(true);
});

test('cancel during a create call: the connection is closed, nothing is sent again', async () => {
	onCreate({ hang: true });
	const execution = await begin(speech('Hi.'));
	await sim.waitFor(() => posts() === 1);
	execution.cancel();
	expect((await execution.finished).run.status).toBe('canceled');
	await allClosed(1000);
	expect(posts()).toBe(1);
});

test('cancel while the handshake hangs: nothing is created', async () => {
	sim.setWebSocketMode('hang');
	const execution = await begin(speech('Hi.'));
	await sim.waitFor(() => sim.requests.some(({ on }) => on === 'socket'));
	execution.cancel();
	expect((await execution.finished).run.status).toBe('canceled');
	sim.setWebSocketMode('normal');
	// Longer than the node holds a create call back: nothing follows.
	await sim.waitFor(() => posts() > 0, 3500).catch(() => {});
	expect(sim.requests.filter(({ on }) => on === 'api')).toEqual([]);
});

test('cancel during a pause that the service asked for', async () => {
	onCreate(answer(429, '', { 'Retry-After': '50' }));
	const execution = await begin(speech('Hi.'));
	await sim.waitFor(() => posts() === 1);
	execution.cancel();
	expect((await execution.finished).run.status).toBe('canceled');
	await allClosed(1000);
	expect(posts()).toBe(1);
});
