import { fakeTime, sim, start } from './setup';
import { pass, passUntil } from './time';
import { activate, activateListening, areMade, createTask, isMade } from './triggerSetup';

/** The trigger has heard of the task: the service is one message further. */
const seen = async (taskId: string) =>
	await sim.waitFor(() => sim.tasks.get(taskId)!.percentage >= 43);

describe('a lost socket', () => {
	it('is opened again, and what ended meanwhile is told once', async () => {
		await start({ pace: 0.1 });
		const trigger = await activate();
		const taskId = await createTask('[sim:slow=3] Ends in silence');
		await seen(taskId);
		sim.setWebSocketMode('refuse');
		sim.dropSockets();
		await sim.waitFor(() => isMade(taskId));
		expect(trigger.started).toEqual([]);
		sim.setWebSocketMode('normal');
		await trigger.has(1);
		expect(trigger.events()).toEqual([`completed ${taskId} 100`]);
		expect(sim.tasks.get(taskId)!.reads).toBe(1);
	});
});

describe('a restart of n8n', () => {
	/** Leaves a task under way behind, saved with the execution of another. */
	async function cutOff() {
		await start({ pace: 0.1 });
		const before = await activate({ nodeId: 'restarted' });
		const underWay = await createTask('[sim:slow=10] Under way');
		await seen(underWay);
		const done = await createTask('[sim:slow=1] Done');
		await before.has(1);
		const staticData = before.saved();
		return { before, underWay, done, staticData };
	}

	it('tells of two hundred tasks that ended meanwhile within half a minute', async () => {
		await start({ pace: 0.1 });
		fakeTime();
		const before = await activateListening({ nodeId: 'away' });
		const texts = Array.from({ length: 200 }, (_, n) => `[sim:slow=100] Ends unheard ${n}`);
		await Promise.all(texts.map(createTask));
		await pass(5);
		await before.close();
		await passUntil(areMade);
		const after = await activate({ nodeId: 'away' });
		expect(await passUntil(() => after.started.length === 200)).toBeLessThanOrEqual(30);
		expect(new Set(after.events()).size).toBe(200);
		expect(before.started).toEqual([]);
	});

	it('gives the same event the same key, and every other event another', async () => {
		const { before, underWay, done, staticData } = await cutOff();
		const [first] = before.started;
		await before.close();
		await sim.waitFor(() => isMade(underWay));
		const after = await activate({ nodeId: 'restarted', staticData });
		await after.has(1);
		expect(after.events()).toEqual([`completed ${underWay} 100`]);
		expect(after.started[0]!.key).not.toBe(first!.key);
		expect(first!.key!.length).toBeLessThanOrEqual(255);
		expect(first!.item.json.task_id).toBe(done);
	});
});

it('a new deployment goes on with the tasks under way, though n8n has saved nothing of them', async () => {
	await start({ pace: 0.1 });
	const before = await activate({ nodeId: 'deployed' });
	const taskId = await createTask('[sim:slow=30] Over it');
	await seen(taskId);
	await before.close();
	await sim.waitFor(() => isMade(taskId));
	expect(before.started).toEqual([]);
	const after = await activate({ nodeId: 'deployed' });
	await after.has(1);
	expect(after.events()).toEqual([`completed ${taskId} 100`]);
});
