import { requests, sim, start } from './setup';
import { activate, createTask, message } from './triggerSetup';

const readings = () => requests('GET', '/v1/labs/task/').length;

/** A service that has completed any task it is asked for. */
async function knowingAll() {
	await start({ pace: 0 });
	sim.fault({
		path: '/v1/labs/task/',
		method: 'GET',
		times: Infinity,
		action: { respond: { status: 200, body: { status: 'completed', audio_url: '/a.wav' } } },
	});
}

const fakeTime = () =>
	jest.useFakeTimers({
		doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance', 'hrtime'],
	});
afterEach(() => jest.useRealTimers());

/** Lets so many seconds pass. */
async function pass(seconds: number): Promise<void> {
	for (let second = 0; second < seconds; second++) {
		await jest.advanceTimersByTimeAsync(1000);
		for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
	}
}

/** How long after activation a first message of 100 % may be a repeated one, in seconds. */
const EARLY = 60;

describe('a service that repeats messages of thousands of tasks that have ended', () => {
	it('has none of them told where they ended before the workflow was activated', async () => {
		await knowingAll();
		const trigger = await activate();
		await sim.waitFor(() => sim.sockets() === 1);
		fakeTime();
		// A few hundred at a time, as over a socket that is slow.
		for (let n = 0; n < 3000; n++) {
			sim.push(message(`old-${n}`, 100));
			if (n % 300 === 299) await pass(1);
		}
		await pass(120);
		expect(trigger.events()).toEqual([]);
		expect(readings()).toBe(0);
	});

	it('is asked less than once a second, and nothing is told twice', async () => {
		await knowingAll();
		const trigger = await activate();
		await sim.waitFor(() => sim.sockets() === 1);
		fakeTime();
		await pass(EARLY);
		for (let minute = 1; minute <= 5; minute++) {
			for (let n = 0; n < 3000; n++) sim.push(message(`old-${n}`, 100));
			await pass(60);
			expect(readings()).toBeLessThan(60 * minute);
		}
		expect(readings()).toBeGreaterThan(50);
		expect(new Set(trigger.events()).size).toBe(trigger.started.length);
		// A task that is seen under way is not held up by them, nor one that is heard of after them.
		const fresh = await createTask('Fresh');
		sim.push(message(fresh, 50));
		sim.push(message('short', 100));
		await pass(1);
		sim.push(message(fresh, 100));
		await pass(4);
		expect(trigger.events()).toContain(`completed ${fresh} 100`);
		expect(trigger.events()).toContain('completed short 100');
	});

	it('is not asked again for those that the trigger has seen end', async () => {
		await knowingAll();
		const trigger = await activate();
		await sim.waitFor(() => sim.sockets() === 1);
		const ids = Array.from({ length: 1050 }, (_, n) => `seen-${n}`);
		for (const taskId of ids) {
			sim.push(message(taskId, 50));
			sim.push(message(taskId, 100));
		}
		await trigger.has(ids.length, 400_000);
		await sim.waitFor(() => sim.openConnections() === 0);
		const ofThese = () => requests('GET', '/v1/labs/task/seen-').length;
		const asked = ofThese();
		for (const percentage of [21, 50, 100]) {
			for (const taskId of ids) sim.push(message(taskId, percentage));
		}
		sim.push(message('last', 50));
		sim.push(message('last', 100));
		await trigger.has(ids.length + 1);
		expect(trigger.events().at(-1)).toBe('completed last 100');
		expect(trigger.started.length).toBe(ids.length + 1);
		expect(ofThese()).toBe(asked);
	}, 500_000);
});

it('a hundred tasks that end as soon as they are heard of are told at once', async () => {
	await knowingAll();
	const trigger = await activate();
	await sim.waitFor(() => sim.sockets() === 1);
	for (let n = 0; n < 100; n++) sim.push(message(`short-${n}`, 100));
	await trigger.has(100);
	expect(readings()).toBe(100);
});

describe('tasks that are first heard of at 100 % right after activation', () => {
	const early = async () => {
		await start({ pace: 0 });
		const trigger = await activate();
		await sim.waitFor(() => sim.sockets() === 1);
		return trigger;
	};
	const record = (taskId: string, times: object) =>
		sim.fault({
			path: `/v1/labs/task/${taskId}`,
			times: Infinity,
			action: {
				respond: { status: 200, body: { status: 'completed', audio_url: '/a.wav', ...times } },
			},
		});
	const ago = (seconds: number) => new Date(Date.now() - seconds * 1000).toISOString();

	it('are told unless their records say that they ended before', async () => {
		const trigger = await early();
		record('old', { created_at: ago(9), completed_at: ago(8) });
		record('older', { created_at: ago(200) });
		record('new', { created_at: ago(9), completed_at: ago(-1) });
		record('plain', {});
		for (const taskId of ['old', 'older', 'new', 'plain']) sim.push(message(taskId, 100));
		await trigger.has(2);
		await sim.waitFor(() => readings() === 4);
		expect(trigger.events().sort()).toEqual(['completed new 100', 'completed plain 100']);
	});

	it('are told unless the service goes on repeating it', async () => {
		const trigger = await early();
		for (const taskId of ['old', 'new']) record(taskId, {});
		fakeTime();
		sim.push(message('new', 100));
		for (let n = 0; n < 5; n++) {
			sim.push(message('old', 100));
			sim.push(message('new', n === 0 ? 100 : 1));
			await pass(1);
		}
		await pass(10);
		expect(trigger.events()).toEqual(['completed new 100']);
	});
});
