import { allClosed, bad, good, hints, posts, readings, requests, tasks } from './seen';
import { ALWAYS, answer, message, onRead } from './service';
import { begin, NODE, run, sim, speech, start } from './setup';

const taskId = () => tasks()[0]!.id;
/** The first task is there, and its messages are heard. */
const underWay = async () => await sim.waitFor(() => sim.tasks.size === 1 && sim.sockets() === 1);

test('messages that come before the create response are not lost', async () => {
	const seen: string[] = [];
	const onMessage = (text: string) => void seen.push(text);
	good(await run(speech('Hi [sim:messages-first]'), { onMessage }));
	expect(seen.join()).toContain('43 %');
	expect(readings()).toHaveLength(1);
});

test.each(['duplicate-progress', 'backward-progress'])(
	'%s: percentages only rise',
	async (scenario) => {
		await start({ pace: 0.1 });
		const said: string[] = [];
		const onMessage = (text: string) => void said.push(text);
		good(await run(speech(`Hi [sim:${scenario}]`), { onMessage }));
		const seen = [...said.join().matchAll(/(\d+) %/g)].map(([, percentage]) => Number(percentage));
		expect(seen.length).toBeGreaterThan(3);
		expect(seen.at(-1)).toBe(100);
		expect(seen).toEqual([...new Set(seen)].sort((a, b) => a - b));
	},
);

test('percentages beyond the range, strings and rubbish on the socket do no harm', async () => {
	await start({ pace: 0.2 });
	const seen: string[] = [];
	const execution = await begin(speech('Hello.'), { onMessage: (text) => seen.push(text) });
	await underWay();
	sim.push('not json');
	sim.push(Buffer.from([0, 1, 2]));
	sim.push({ type: 'labs_status_updated' });
	sim.push({ type: 'labs_status_updated', payload: null });
	sim.push({ ...message(taskId(), 100), type: 'other' });
	sim.push(message(taskId(), -5));
	sim.push(message('foreign', 100));
	sim.push(message(Number(taskId()), '7'));
	sim.push(message(taskId(), 'x'));
	good(await execution.finished);
	expect(seen.join()).toContain('7 %');
	expect(seen.join()).not.toMatch(/-5|NaN|undefined/);
	expect(readings()).toHaveLength(1);
});

test('a message that says 100 too early is no outcome: the task is read until it is', async () => {
	await start({ pace: 0.3 });
	const execution = await begin(speech('Hello.'));
	await underWay();
	sim.push(message(taskId(), 140));
	const [item] = good(await execution.finished);
	expect(item?.json.status).toBe('completed');
	expect(readings().length).toBeGreaterThan(1);
});

test('a silent socket: completes by polling', async () => {
	sim.setWebSocketMode('silent');
	good(await run(speech('Hello.')));
	expect(posts()).toBe(1);
	await allClosed();
});

test('beside a silent socket the task is read before the deadline, whatever the poll interval', async () => {
	sim.setWebSocketMode('silent');
	const fields = speech('Hello. [sim:slow=600]', { timeout: 2, pollInterval: 60 });
	expect(bad(await run(fields)).message).toContain('No result after 2 seconds');
	expect(readings()).toHaveLength(1);
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

test('a handshake that hangs holds the create call back for 3 s at most', async () => {
	sim.setWebSocketMode('hang');
	const result = await run(speech('Hello.'));
	good(result);
	const socket = sim.requests.find(({ on }) => on === 'socket')!;
	const heldBack = requests('POST', '/v1/labs/task')[0]!.time - socket.time;
	expect(heldBack).toBeGreaterThan(2000);
	expect(heldBack).toBeLessThan(10_000);
	expect(hints(result)).toHaveLength(1);
});

test('a wrong WebSocket address: completes all the same', async () => {
	const credential = { webSocketUrl: sim.webSocketUrl.replace(/:\d+.*$/, ':9') };
	const result = await run(speech('Hello.'), { credential });
	good(result);
	expect(hints(result)).toHaveLength(1);
});

test('a socket that drops is opened again, and its messages count', async () => {
	await start({ pace: 0.6 });
	const seen: string[] = [];
	const execution = await begin(speech('Hello.', { pollInterval: 60 }), {
		onMessage: (text) => seen.push(text),
	});
	await sim.waitFor(() => (tasks()[0]?.percentage ?? 0) >= 21);
	sim.dropSockets();
	await sim.waitFor(() => sim.sockets() === 1, 3000);
	good(await execution.finished);
	expect(sim.socketsEver).toBe(2);
	expect(seen.join()).toContain('93 %');
	expect(readings().length).toBeLessThanOrEqual(2);
	await allClosed();
});

test('a socket that is dropped each time it opens does not keep the task from being read', async () => {
	let over = false;
	const dropping = (async () => {
		while (!over) {
			await sim.waitFor(() => sim.sockets() > 0 || over, 20_000).catch(() => {});
			sim.dropSockets();
			await sim.waitFor(() => sim.sockets() === 0, 1000).catch(() => {});
		}
	})();
	const text = 'Hello. [sim:silent-socket]';
	const result = await run(speech(text, { pollInterval: 2, timeout: 10 }));
	over = true;
	sim.push('wake');
	good(result);
	void dropping;
});

test('a reading that hangs is given up when the outcome is announced', async () => {
	await start({ pace: 0.4 });
	onRead({ hang: true });
	const execution = await begin(speech('Hello. [sim:silent-socket]'));
	await sim.waitFor(() => readings().length === 1);
	await sim.waitFor(() => tasks()[0]?.status === 'completed');
	sim.push(message(taskId(), 100));
	good(await execution.finished);
	expect(readings()).toHaveLength(2);
	await allClosed();
});

test('100 % over and over does not keep a slow reading from being finished', async () => {
	onRead({ delayMs: 400 }, ALWAYS);
	const execution = await begin(speech('Hello.', { timeout: 6 }));
	await sim.waitFor(() => tasks()[0]?.status === 'completed');
	const repeating = setInterval(() => sim.push(message(taskId(), 100)), 200);
	try {
		good(await execution.finished);
	} finally {
		clearInterval(repeating);
	}
});

test('a task that the reading side does not know yet is given time', async () => {
	onRead(answer(404, {}), { times: 2 });
	good(await run(speech('Hello.')));
	expect(posts()).toBe(1);
});

test('unknown status words mean: not finished', async () => {
	const body = { id: 1, status: 'QUEUED_FOR_REVIEW', process_percentage: 3 };
	onRead(answer(200, body), { times: 2 });
	const [item] = good(await run(speech('Hello.')));
	expect(item?.json.status).toBe('completed');
});
