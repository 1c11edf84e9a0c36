import { ALWAYS, answer, message, onRead, readings } from './service';
import { fakeTime, sim, start } from './setup';
import { pass, passUntil } from './time';
import {
	activate,
	activateListening,
	type ActiveTrigger,
	createTask,
	type TriggerSetting,
} from './triggerSetup';

/** What is read of a task that has ended. */
const ended = (times: object = {}) =>
	answer(200, { status: 'completed', audio_url: '/a.wav', ...times });

/** An active trigger of a service that has completed any task it is asked for, `times` in its record. */
async function knowingAll(setting: TriggerSetting = {}, times: object = {}) {
	await start({ pace: 0 });
	onRead(ended(times), ALWAYS);
	return await activateListening(setting);
}

const push = (percentage: number, ...ids: string[]) =>
	ids.forEach((taskId) => sim.push(message(taskId, percentage)));

/** The messages of tasks that are heard of under way and when they end, `together` at a time. */
function pushWhole(ids: string[], together = ids.length) {
	for (let from = 0; from < ids.length; from += together) {
		for (const percentage of [50, 100]) push(percentage, ...ids.slice(from, from + together));
	}
}

/** How long after activation a first message of 100 % may be a repeated one, in seconds. */
const EARLY = 60;

const OLD = Array.from({ length: 3000 }, (_, n) => `old-${n}`);

/** Says something of many tasks every minute: few of them are read, and none is told of twice. */
async function repeat(trigger: ActiveTrigger, minutes: number, say: () => void) {
	fakeTime();
	await pass(EARLY);
	for (let minute = 1; minute <= minutes; minute++) {
		say();
		await pass(60);
		// Ten at once, then less than one a second.
		expect(readings().length).toBeLessThan(10 + 55 * minute);
	}
	expect(readings().length).toBeGreaterThan(50);
	expect(new Set(trigger.events()).size).toBe(trigger.started.length);
}

describe('a service that repeats messages of thousands of tasks that have ended', () => {
	it('has none of them told where they ended before the workflow was activated', async () => {
		const trigger = await knowingAll();
		fakeTime();
		// A few hundred at a time, as over a socket that is slow.
		for (const [n, taskId] of OLD.entries()) {
			sim.push(message(taskId, 100));
			if (n % 300 === 299) await pass(1);
		}
		await pass(120);
		expect(trigger.events()).toEqual([]);
		expect(readings()).toHaveLength(0);
	});

	it('is asked less than once a second, and nothing is told twice', async () => {
		const trigger = await knowingAll();
		await repeat(trigger, 5, () => push(100, ...OLD));
		// A task that is seen under way is not held up by them, nor one that is heard of after them.
		const fresh = await createTask('Fresh');
		push(50, fresh);
		push(100, 'short');
		await pass(1);
		push(100, fresh);
		await pass(4);
		for (const task of [fresh, 'short'])
			expect(trigger.events()).toContain(`completed ${task} 100`);
	});

	it.each([
		['task by task', 1],
		['percentage by percentage', 3000],
	])('is asked as little if they were under way, %s', async (_order, together) => {
		const trigger = await knowingAll();
		await repeat(trigger, 3, () => pushWhole(OLD, together));
		// One that takes its time is not held up by them.
		const fresh = await createTask('Fresh');
		push(50, fresh);
		await pass(20);
		push(100, fresh);
		await pass(4);
		expect(trigger.events()).toContain(`completed ${fresh} 100`);
	});

	it('is not asked again for those that the trigger has seen end', async () => {
		const trigger = await knowingAll();
		const ids = Array.from({ length: 1050 }, (_, n) => `seen-${n}`);
		pushWhole(ids, 1);
		fakeTime();
		await passUntil(() => trigger.started.length === ids.length, 2400);
		// Nothing may wait for a clock that is real again.
		await pass(60);
		jest.useRealTimers();
		await sim.waitFor(() => sim.openConnections() === 0);
		const asked = readings('seen-').length;
		for (const percentage of [21, 50, 100]) push(percentage, ...ids);
		pushWhole(['last']);
		await trigger.has(ids.length + 1);
		expect(trigger.events().at(-1)).toBe('completed last 100');
		expect(trigger.started.length).toBe(ids.length + 1);
		expect(readings('seen-')).toHaveLength(asked);
	}, 100_000);
});

it('two new tasks a second that end as soon as they are heard of are told at once', async () => {
	await start({ pace: 0 });
	const trigger = await activateListening();
	fakeTime();
	for (let minute = 0; minute < 4; minute++) {
		onRead(ended({ created_at: new Date().toISOString() }), { times: 120 });
		for (let second = 0; second < 60; second++) {
			pushWhole([`new-${minute}-${second}`, `other-${minute}-${second}`]);
			await pass(1);
		}
		expect(trigger.started.length).toBeGreaterThan(120 * minute + 110);
	}
});

it('a hundred tasks that the service does not know at first are told within a minute', async () => {
	await start({ pace: 0 });
	const ids = Array.from({ length: 100 }, (_, n) => `lagging-${n}`);
	for (const taskId of ids) onRead(answer(404, {}), { path: `/v1/labs/task/${taskId}` });
	onRead(ended({ created_at: new Date().toISOString() }), ALWAYS);
	const trigger = await activateListening();
	fakeTime();
	pushWhole(ids);
	await pass(60);
	expect(trigger.events().sort()).toEqual(ids.map((taskId) => `completed ${taskId} 100`).sort());
});

it('five hundred new tasks that end together are told within two minutes', async () => {
	const trigger = await knowingAll({}, { created_at: new Date().toISOString() });
	fakeTime();
	pushWhole(Array.from({ length: 500 }, (_, n) => `new-${n}`));
	await pass(110);
	expect(new Set(trigger.events()).size).toBe(500);
	expect(trigger.started.length).toBe(500);
});

it('tasks that wait for their turn among many are told once, also over a new deployment', async () => {
	const nodeId = 'deployed-anew';
	const before = await knowingAll({ nodeId });
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
	beforeEach(async () => await start({ pace: 0 }));
	const record = (taskId: string, times: object = {}) =>
		onRead(ended(times), { path: `/v1/labs/task/${taskId}`, ...ALWAYS });
	const ago = (seconds: number) => new Date(Date.now() - seconds * 1000).toISOString();

	it('are told unless their records say that they ended before', async () => {
		const trigger = await activateListening();
		record('old', { created_at: ago(9), completed_at: ago(8) });
		record('older', { created_at: ago(200) });
		record('new', { created_at: ago(9), completed_at: ago(-1) });
		record('plain');
		push(100, 'old', 'older', 'new', 'plain');
		await trigger.has(2);
		await sim.waitFor(() => readings().length === 4);
		expect(trigger.events().sort()).toEqual(['completed new 100', 'completed plain 100']);
	});

	it('are told unless the service goes on repeating it', async () => {
		const trigger = await activateListening();
		for (const taskId of ['old', 'new']) record(taskId);
		fakeTime();
		push(100, 'new');
		for (let n = 0; n < 5; n++) {
			push(100, 'old');
			push(n === 0 ? 100 : 1, 'new');
			await pass(1);
		}
		await pass(10);
		expect(trigger.events()).toEqual(['completed new 100']);
	});
});
