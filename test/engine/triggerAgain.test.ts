import type { IRun } from 'n8n-workflow';
import { logged, removeLog } from '../faults/log.mts';
import { ALWAYS, answer, message, onFile, onRead, readings } from './service';
import { fakeTime, sim, start } from './setup';
import { pass, passUntil, passWhile } from './time';
import {
	activate,
	activateListening,
	areMade,
	createTask,
	onAll,
	type TriggerSetting,
} from './triggerSetup';

afterAll(removeLog);

describe('a restart of n8n', () => {
	it('tells of two hundred tasks that ended meanwhile within half a minute, though n8n has saved nothing', async () => {
		await start({ pace: 0.1 });
		fakeTime();
		const before = await activateListening({ nodeId: 'away' });
		const texts = Array.from({ length: 225 }, (_, n) => `[sim:slow=100] Ends unheard ${n}`);
		await Promise.all(texts.map(createTask));
		await pass(5);
		await before.close();
		await passUntil(areMade);
		const after = await activate({ nodeId: 'away' });
		expect(await passUntil(() => after.started.length >= 200)).toBeLessThanOrEqual(30);
		expect(new Set(after.events()).size).toBe(after.started.length);
		expect(before.started).toEqual([]);
	});

	it('tells of a task that has ended while twenty executions ran', async () => {
		const before = await activateListening({ nodeId: 'full', executionsLast: true });
		const other = await activate();
		onRead(answer(200, { status: 'completed', audio_url: '/a.wav' }), ALWAYS);
		for (let n = 0; n < 21; n++) sim.broadcast(message(`${n}`, 100));
		await Promise.all([before.has(20), other.has(21)]);
		await before.close();
		const after = await activate({ nodeId: 'full' });
		await after.has(1);
		expect(new Set([...before.events(), ...after.events()]).size).toBe(21);
	});

	it('reads no task again whose end is known, though nobody listens for it', async () => {
		const setting = { nodeId: 'unwanted', parameters: { events: ['failed'] } };
		const before = await activateListening(setting);
		onRead(answer(200, { status: 'completed', audio_url: '/a.wav' }), ALWAYS);
		sim.broadcast(message('over', 100));
		await sim.waitFor(() => readings('over').length === 1);
		sim.clearFaults();
		onRead(answer(200, { status: 'error' }), ALWAYS);
		sim.broadcast(message('failed', 100));
		await before.has(1);
		await before.close();
		await activateListening(setting);
		sim.broadcast(message('next', 100));
		await sim.waitFor(() => readings('next').length === 1);
		expect(readings('over')).toHaveLength(1);
	});
});

it('a task first heard of at 100 % is told once, whatever its record says of its times', async () => {
	await start({ pace: 0 });
	const trigger = await activateListening();
	const ended = { status: 'completed', audio_url: '/a.wav', completed_at: '2026-01-01T00:00:00Z' };
	onRead(answer(200, ended), { path: '/v1/labs/task/first', ...ALWAYS });
	sim.broadcast(message('first', 100));
	await trigger.until('completed first 100');
	sim.broadcast(message('first', 100));
	sim.broadcast(message('first', 43));
	const later = await createTask('Later');
	await trigger.until(`completed ${later} 100`);
	expect(trigger.events()).toHaveLength(2);
	expect(readings('first').length).toBe(1);
});

it('a task that the service does not know is not looked up for ever', async () => {
	await start({ pace: 0 });
	const trigger = await activateListening({ nodeId: 'never' });
	fakeTime();
	onRead(answer(404, {}), { path: '/v1/labs/task/never', ...ALWAYS });
	sim.broadcast(message('never', 100));
	/** Lets time pass with messages: to replace a silent socket takes time of its own. */
	const requestCount = async (times: number) => {
		for (let n = 0; n < times; n++) {
			sim.broadcast(message('another', 1));
			await pass(20);
		}
		return readings('never').length;
	};
	const maxCount = await requestCount(3);
	expect(maxCount).toBeGreaterThan(1);
	expect(await requestCount(5)).toBe(maxCount);
	await trigger.close();
	await passWhile(activate({ nodeId: 'never' }));
	expect(await requestCount(1)).toBe(maxCount);
});

it('a task that could not be read for two hours is told within minutes, and the log names it once', async () => {
	await start({ pace: 0 });
	const before = await logged();
	fakeTime();
	const trigger = await passWhile(activate({ parameters: { events: ['failed'] } }));
	onRead(answer(400, {}), ALWAYS);
	sim.broadcast(message('unreadable', 50));
	await pass(2 * 3600, 60);
	sim.clearFaults();
	onRead(answer(200, { status: 'error', error: 'No voice' }), ALWAYS);
	expect(await passUntil(() => trigger.started.length === 1, 3600)).toBeLessThan(360);
	expect(readings().length).toBeLessThan(40);
	const warnings = (await logged()).slice(before.length).split('Media Generation Trigger: ');
	expect(warnings).toHaveLength(2);
});

const busy = () => new Error('SQLITE_BUSY: database is locked');

/** A trigger whose first `times` emissions n8n can't start. */
async function refusing(times: number, setting: TriggerSetting = {}, error = busy) {
	await start({ pace: 0 });
	// Hours pass in moments.
	fakeTime();
	const inFlight = activate({
		execute: async (_, number) => {
			if (number < times) throw error();
			return {} as IRun;
		},
		...setting,
	});
	const trigger = await passWhile(inFlight);
	await passUntil(() => sim.countOpenSockets() === 1, 20);
	return trigger;
}

describe('an event whose execution n8n could not start', () => {
	it('is emitted again with the same key until n8n has started one', async () => {
		const trigger = await refusing(3);
		const taskId = await createTask('Busy');
		const seconds = await passUntil(() => trigger.started.length === 4);
		expect(seconds).toBeGreaterThan(1);
		await jest.advanceTimersByTimeAsync(600_000);
		expect(trigger.events()).toEqual(Array(4).fill(`completed ${taskId} 100`));
		expect(new Set(trigger.started.map(({ key }) => key)).size).toBe(1);
		expect(readings(taskId)).toHaveLength(1);
	});

	it('brings the file that was fetched for the first try, which n8n keeps', async () => {
		const trigger = await refusing(3, { parameters: { download: true } });
		await createTask('With a file');
		await passUntil(() => trigger.started.length === 4);
		expect(sim.countRequests('GET', '/files/')).toBe(1);
		expect(trigger.started[3]!.item.binary).toBeDefined();
	});

	it('brings a file that could not be fetched for the first try', async () => {
		const trigger = await refusing(1, { parameters: { download: true } });
		onFile(answer(410), ALWAYS);
		await createTask('With a late file');
		await passUntil(() => trigger.started.length === 1);
		sim.clearFaults();
		await passUntil(() => trigger.started.length === 2);
		expect(trigger.started.map(({ item }) => item.binary !== undefined)).toEqual([false, true]);
	});

	it('holds up the later events of its task, not those of others', async () => {
		const trigger = await refusing(1, { parameters: onAll });
		sim.broadcast(message('1', 50));
		await passUntil(() => trigger.started.length === 1);
		sim.broadcast(message('1', 70));
		sim.broadcast(message('2', 60));
		await passUntil(() => trigger.started.length === 3);
		expect(trigger.events()).toEqual(['progress 1 50', 'progress 2 60', 'progress 1 70']);
	});

	it('is told within an hour after n8n could start nothing for half a day', async () => {
		let isRefusing = true;
		const execute = async () => {
			if (isRefusing) throw busy();
			return {} as IRun;
		};
		const trigger = await refusing(0, { execute });
		const taskId = await passWhile(createTask('Very busy'));
		await pass(12 * 3600, 3600);
		isRefusing = false;
		const before = trigger.started.length;
		expect(before).toBeLessThan(40);
		await pass(3600, 600);
		expect(trigger.events().slice(before)).toEqual([`completed ${taskId} 100`]);
	});

	it('holds up the end of its task for a minute at most, once n8n starts executions again', async () => {
		let isRefusing = true;
		const execute = async () => {
			if (isRefusing) throw busy();
			return {} as IRun;
		};
		const trigger = await refusing(0, { parameters: onAll, execute });
		onRead(answer(200, { status: 'processing' }), ALWAYS);
		sim.broadcast(message('1', 50));
		await pass(3600, 600);
		sim.clearFaults();
		onRead(answer(200, { status: 'completed', audio_url: '/a.wav' }), ALWAYS);
		await passUntil(() => sim.countOpenSockets() === 1);
		isRefusing = false;
		sim.broadcast(message('1', 100));
		await passUntil(() => trigger.events().includes('completed 1 100'), 60);
	});

	it('is given up after a day, and told by the next activation', async () => {
		const setting = { nodeId: 'refused' };
		const trigger = await refusing(Infinity, setting);
		const taskId = await passWhile(createTask('Very busy'));
		await pass(36 * 3600, 3600);
		const { length } = trigger.started;
		await pass(6 * 3600, 3600);
		expect(trigger.started.length).toBe(length);
		await passUntil(() => sim.countOpenSockets() === 1);
		await trigger.close();
		const next = await passWhile(activate(setting));
		await passUntil(() => next.started.length === 1);
		// The first one's socket is let go of in its own time, not after the test.
		await pass(1);
		expect(next.events()).toEqual([`completed ${taskId} 100`]);
		expect(next.started[0]!.key).toBe(trigger.started[0]!.key);
	});

	it('is told by the next activation, though n8n says so only once the trigger is closed', async () => {
		let refuse = (_: Error) => {};
		const setting = { nodeId: 'refused late' };
		const execute = async () => await new Promise<IRun>((_, reject) => (refuse = reject));
		const trigger = await refusing(0, { ...setting, execute });
		const taskId = await passWhile(createTask('Busy'));
		await passUntil(() => trigger.started.length === 1);
		await trigger.close();
		refuse(busy());
		await pass(0);
		const next = await passWhile(activate(setting));
		await passUntil(() => next.started.length === 1);
		await pass(1);
		expect(next.events()).toEqual([`completed ${taskId} 100`]);
	});

	it.each([
		'The execution was cancelled manually',
		'No active execution found',
		'job stalled more than maxStalledCount',
	])('is not one whose execution has begun: %s', async (text) => {
		const trigger = await refusing(1, {}, () => new Error(text));
		await createTask('Stopped');
		await passUntil(() => trigger.started.length === 1);
		await jest.advanceTimersByTimeAsync(600_000);
		expect(trigger.started.length).toBe(1);
	});
});
