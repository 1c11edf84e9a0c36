import { allClosed, bad, saved, stop } from './seen';
import { ALWAYS, answer, onCreate, onFile, onRead, posts, tasks } from './service';
import { begin, CONTINUE, ERROR_OUTPUT, node, NODE, run, sim, speech, start } from './setup';

test.each([
	['the wait', 'Hi [sim:slow=600]', () => {}],
	['a reading that hangs', 'Hi.', () => onRead({ hang: true }, ALWAYS)],
	['a download', 'Hi.', () => onFile({ hang: true })],
])('the deadline ends %s, names the task and what to do', async (_, text, arrange) => {
	arrange();
	const { message, description, itemIndex } = bad(await run(speech(text, { timeout: 2 })));
	const { id } = tasks()[0]!;
	expect(message).toMatch(/^No result after 2 seconds.*\[item 0\]$/);
	expect(message).toContain(id);
	expect(description).toContain(
		`collect the result at no extra charge, use Speech → Wait with task ID ${id}`,
	);
	expect(description).toContain('creating it again is charged as a new task');
	expect(itemIndex).toBe(0);
	await allClosed();
	expect(posts()).toBe(1);
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
		const { run: canceled, task } = await stop(execution);
		// n8n itself passes the input on where errors are to be passed over; no error item may be in it.
		expect(JSON.stringify(task(NODE)?.data ?? null)).not.toContain('error');
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
	await sim.waitFor(() => files()[0]?.status === 200);
	await stop(execution);
	expect(files().map(({ closedByClient }) => closedByClient)).toEqual([true]);
});

test.each([
	['a create call', { hang: true }],
	['a pause that the service asked for', answer(429, '', { 'Retry-After': '50' })],
])('cancel during %s: all is closed, nothing is sent again', async (_, action) => {
	onCreate(action);
	const execution = await begin(speech('Hi.'));
	await sim.waitFor(() => posts() === 1);
	await stop(execution);
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
