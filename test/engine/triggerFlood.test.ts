import { requests, sim, start } from './setup';
import { activate, createTask, fakeTime, message } from './triggerSetup';

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

/** Lets so many seconds pass. */
async function pass(seconds: number): Promise<void> {
	for (let second = 0; second < seconds; second++) {
		await jest.advanceTimersByTimeAsync(1000);
		for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
	}
}

/** The messages of tasks that are heard of under way and at their ends, so many tasks together. */
function pushWhole(ids: string[], together = ids.length) {
	for (let from = 0; from < ids.length; from += together) {
		for (const percentage of [50, 100]) {
			for (const taskId of ids.slice(from, from + together)) sim.push(message(taskId, percentage));
		}
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

	it.each([
		['task by task', 1],
		['percentage by percentage', 3000],
	])('is asked as little if they were under way, %s', async (_order, together) => {
		await knowingAll();
		const trigger = await activate();
		await sim.waitFor(() => sim.sockets() === 1);
		fakeTime();
		await pass(EARLY);
		const ids = Array.from({ length: 3000 }, (_, n) => `old-${n}`);
		for (let minute = 1; minute <= 3; minute++) {
			pushWhole(ids, together);
			await pass(60);
			expect(readings()).toBeLessThan(60 * minute);
		}
		expect(readings()).toBeGreaterThan(50);
		expect(new Set(trigger.events()).size).toBe(trigger.started.length);
		// One that takes its time is not held up by them.
		const fresh = await createTask('Fresh');
		sim.push(message(fresh, 50));
		await pass(20);
		sim.push(message(fresh, 100));
		await pass(4);
		expect(trigger.events()).toContain(`completed ${fresh} 100`);
	});

	it('is not asked again for those that the trigger has seen end', async () => {
		await knowingAll();
		const trigger = await activate();
		await sim.waitFor(() => sim.sockets() === 1);
		const ids = Array.from({ length: 1050 }, (_, n) => `seen-${n}`);
		pushWhole(ids, 1);
		fakeTime();
		for (let minute = 0; trigger.started.length < ids.length && minute < 40; minute++)
			await pass(60);
		jest.useRealTimers();
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
	}, 100_000);
});

it('a hundred tasks that end as soon as they are heard of are told at once', async () => {
	await knowingAll();
	const trigger = await activate();
	await sim.waitFor(() => sim.sockets() === 1);
	for (let n = 0; n < 100; n++) sim.push(message(`short-${n}`, 100));
	await trigger.has(100);
	expect(readings()).toBe(100);
});

it('two new tasks a second that end as soon as they are heard of are told at once', async () => {
	await start({ pace: 0 });
	const trigger = await activate();
	await sim.waitFor(() => sim.sockets() === 1);
	fakeTime();
	for (let minute = 0; minute < 4; minute++) {
		const body = { status: 'completed', audio_url: '/a.wav', created_at: new Date().toISOString() };
		const action = { respond: { status: 200, body } };
		sim.fault({ path: '/v1/labs/task/', method: 'GET', times: 120, action });
		for (let second = 0; second < 60; second++) {
			pushWhole([`new-${minute}-${second}`, `other-${minute}-${second}`]);
			await pass(1);
		}
		expect(trigger.started.length).toBeGreaterThan(120 * minute + 110);
	}
});

it('tasks that wait for their turn among many are told once, also over a new deployment', async () => {
	await knowingAll();
	const nodeId = 'deployed-anew';
	const before = await activate({ nodeId });
	await sim.waitFor(() => sim.sockets() === 1);
	const ids = Array.from({ length: 300 }, (_, n) => `waits-${n}`);
	fakeTime();
	pushWhole(ids);
	await pass(10);
	await before.close();
	expect(before.started.length).toBeLessThan(200);
	const after = await activate({ nodeId, staticData: before.saved() });
	await pass(900);
	const told = [...before.events(), ...after.events()];
	expect(told.sort()).toEqual(ids.map((taskId) => `completed ${taskId} 100`).sort());
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
