import { allClosed, bad, good, hints, only } from './seen';
import { message, onRead, posts, readings, tasks } from './service';
import { begin, NODE, run, said, sim, speech, start } from './setup';

const taskId = () => tasks()[0]!.id;
/** The first task is there, and its messages are heard. */
const underWay = async () => await sim.waitFor(() => sim.tasks.size === 1 && sim.sockets() === 1);

test('messages that come before the create response are not lost', async () => {
	good(await run(speech('Hi [sim:messages-first]')));
	expect(said.join()).toContain('43 %');
	expect(readings()).toHaveLength(1);
});

test.each(['duplicate-progress', 'backward-progress'])(
	'%s: percentages only rise',
	async (scenario) => {
		await start({ pace: 0.1 });
		good(await run(speech(`Hi [sim:${scenario}]`)));
		const seen = [...said.join().matchAll(/(\d+) %/g)].map(([, percentage]) => Number(percentage));
		expect(seen.length).toBeGreaterThan(3);
		expect(seen.at(-1)).toBe(100);
		expect(seen).toEqual([...new Set(seen)].sort((a, b) => a - b));
	},
);

test('a message that says 100 too early is no outcome: the task is read until it is', async () => {
	await start({ pace: 0.3 });
	const execution = await begin(speech('Hello.'));
	await underWay();
	sim.push(message(taskId(), 140));
	expect(only(await execution.finished).json.status).toBe('completed');
	expect(readings().length).toBeGreaterThan(1);
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

test('a socket that drops is opened again, and its messages count', async () => {
	await start({ pace: 0.6 });
	const execution = await begin(speech('Hello.', { pollInterval: 60 }));
	await sim.waitFor(() => (tasks()[0]?.percentage ?? 0) >= 21);
	sim.dropSockets();
	await sim.waitFor(() => sim.sockets() === 1, 3000);
	good(await execution.finished);
	expect(sim.socketsEver).toBe(2);
	expect(said.join()).toContain('93 %');
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
