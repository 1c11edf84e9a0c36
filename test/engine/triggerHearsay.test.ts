import { good } from './seen';
import { ALWAYS, answer, message, onRead, readings, tasks } from './service';
import { begin, fakeTime, run, sim, speech, start } from './setup';
import { pass, passUntil } from './time';
import { activate, activateListening, createTask, isMade, onAll, told } from './triggerSetup';

const has = (taskId: string) => sim.tasks.get(taskId)!;

/** Lets so many times 20 s pass, each with a message: to replace a silent socket takes time of its own. */
async function passHearing(times: number) {
	for (let n = 0; n < times; n++) {
		sim.push(message('another', 1));
		await pass(20);
	}
}

describe('a newly activated trigger, while something else keeps the socket open', () => {
	it('tells of what is under way, and of nothing that ended before', async () => {
		await start({ pace: 0.1 });
		// They keep the socket open all the time, and hear all tasks.
		await begin(speech('[sim:slow=1000] Waiting'));
		const other = await activate({ parameters: { events: ['progress'] } });
		const failed = await createTask('[sim:task-fails-late] Failed');
		const completed = await createTask('Completed');
		const underWay = await createTask('[sim:slow=1000] Under way');
		await sim.waitFor(() => has(failed).status === 'failed' && isMade(completed));
		sim.push(message(underWay, 21));
		// Once it is heard, so are the messages before.
		await other.until(`progress ${underWay} 21`);
		const trigger = await activate({ parameters: onAll });
		await sim.waitFor(() => has(failed).reads === 1 && has(underWay).reads === 1);
		// The service says once more what it has said before.
		for (const taskId of [failed, completed]) sim.push(message(taskId, 93));
		sim.push(message(completed, 100));
		sim.endTask(underWay);
		await trigger.until(`completed ${underWay} 100`);
		expect(told(trigger)).toEqual(new Set([underWay]));
		expect(has(failed).reads).toBe(1);
	});

	it('passes over a task whose end was read before, though its message comes later', async () => {
		good(await run(speech('[sim:silent-socket] Read')));
		const taskId = tasks()[0]!.id;
		const trigger = await activate({ parameters: onAll });
		sim.push(message(taskId, 57));
		sim.push(message(taskId, 100));
		const another = await createTask('Another');
		await trigger.has(6);
		expect(told(trigger)).toEqual(new Set([another]));
	});
});

it('a task that may have ended before activation is judged by that moment, also if read only after the next', async () => {
	await start({ pace: 0 });
	const nodeId = 'deployed-amid-hearsay';
	const trigger = await activateListening({ nodeId });
	const old = { path: '/v1/labs/task/old' };
	onRead({ hang: true }, old);
	fakeTime();
	sim.push(message('old', 100));
	await passUntil(() => readings('old').length === 1);
	await trigger.close();
	const created_at = new Date(Date.now() - 3_600_000).toISOString();
	const ended = { id: 'old', status: 'completed', audio_url: '/a.wav', created_at };
	onRead(answer(200, ended), { ...old, ...ALWAYS });
	const next = await activate({ nodeId });
	await passUntil(() => readings('old').length === 2);
	jest.useRealTimers();
	const taskId = await createTask('New');
	await next.until(`completed ${taskId} 100`);
	expect(told(next)).toEqual(new Set([taskId]));
});

describe('a task named in the parameters that is not there yet', () => {
	it('is followed as soon as a message names it', async () => {
		await start({ pace: 0.1 });
		// The simulator counts its tasks.
		const next = String(Number(await createTask('Before')) + 1);
		const trigger = await activate({ parameters: { taskIds: next } });
		await sim.waitFor(() => readings(next).length === 1);
		expect(await createTask('Comes later')).toBe(next);
		await trigger.has(1);
		expect(trigger.events()).toEqual([`completed ${next} 100`]);
	});

	it('is not looked up after a minute, until a message names it', async () => {
		await start({ pace: 0 });
		const next = String(Number(await createTask('Before')) + 1);
		const trigger = await activate({ parameters: { taskIds: next } });
		await sim.waitFor(() => readings(next).length === 1);
		fakeTime();
		await passHearing(30);
		jest.useRealTimers();
		expect(readings(next)).toHaveLength(3);
		await createTask('Comes at last');
		await trigger.has(1);
		expect(trigger.events()).toEqual([`completed ${next} 100`]);
	});
});

it('a task that the service does not show to this token does not end the trigger, and is looked up twice', async () => {
	await start({ pace: 0 });
	const trigger = await activateListening();
	onRead(answer(403, { error: 'forbidden' }), { path: '/v1/labs/task/of-another', ...ALWAYS });
	const looked = () => readings('of-another').length;
	fakeTime();
	sim.push(message('of-another', 43));
	sim.push(message('of-another', 100));
	await passUntil(() => looked() === 1);
	await passUntil(() => looked() === 2, 100);
	await passHearing(15);
	jest.useRealTimers();
	expect(looked()).toBe(2);
	expect(trigger.errors).toEqual([]);
	const taskId = await createTask('Our own');
	await trigger.until(`completed ${taskId} 100`);
});
