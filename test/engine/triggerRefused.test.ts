import type { IRun } from 'n8n-workflow';
import { message, readings } from './service';
import { fakeTime, sim, start } from './setup';
import { passUntil } from './time';
import { activate, createTask, onAll, type TriggerSetting } from './triggerSetup';

const busy = () => new Error('SQLITE_BUSY: database is locked');

/** Hours pass in moments. */
beforeEach(fakeTime);

/** A trigger whose first `times` emissions n8n can't start. */
async function refusing(times: number, setting: TriggerSetting = {}, error = busy) {
	await start({ pace: 0 });
	const trigger = await activate({
		execute: async (_, number) => {
			if (number < times) throw error();
			return {} as IRun;
		},
		...setting,
	});
	await passUntil(() => sim.sockets() === 1, 20);
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

	it('holds up the later events of its task, not those of others', async () => {
		const trigger = await refusing(1, { parameters: onAll });
		sim.push(message('1', 50));
		await passUntil(() => trigger.started.length === 1);
		sim.push(message('1', 70));
		sim.push(message('2', 60));
		await passUntil(() => trigger.started.length === 4);
		const events = trigger.events();
		expect(events.filter((event) => event.includes(' 1 '))).toEqual([
			'progress 1 50',
			'progress 1 50',
			'progress 1 70',
		]);
		expect(events.indexOf('progress 2 60')).toBe(1);
	});

	it('is given up after ten tries, and told by the next activation', async () => {
		const setting = { nodeId: 'refused' };
		const trigger = await refusing(Infinity, setting);
		const taskId = await createTask('Very busy');
		await passUntil(() => trigger.started.length === 10, 600);
		await jest.advanceTimersByTimeAsync(3600_000);
		expect(trigger.started.length).toBe(10);
		await trigger.close();
		const next = await activate(setting);
		await passUntil(() => next.started.length === 1);
		expect(next.events()).toEqual([`completed ${taskId} 100`]);
		expect(next.started[0]!.key).toBe(trigger.started[0]!.key);
	});

	it.each(['The execution was cancelled manually', 'No active execution found'])(
		'is not one whose execution has begun: %s',
		async (text) => {
			const trigger = await refusing(1, {}, () => new Error(text));
			await createTask('Stopped');
			await passUntil(() => trigger.started.length === 1);
			await jest.advanceTimersByTimeAsync(600_000);
			expect(trigger.started.length).toBe(1);
		},
	);
});
