import { ALWAYS, answer, message, onRead, readings } from './service';
import { begin, fakeTime, sim, speech, start } from './setup';
import { pass, passUntil } from './time';
import { activate, activateListening, createTask, isMade, onAll, told } from './triggerSetup';

/* Tasks of which little is known when they are first heard of. */

const has = (taskId: string) => sim.tasks.get(taskId)!;
/** What is read of a task that has completed. */
const completed = (times: object = {}) =>
	answer(200, { status: 'completed', audio_url: '/a.wav', ...times });
const ago = (ms: number) => new Date(Date.now() - ms).toISOString();

/** Lets so many times 20 s pass, each with a message: to replace a silent socket takes time of its own. */
async function passHearing(times: number) {
	for (let n = 0; n < times; n++) {
		sim.push(message('another', 1));
		await pass(20);
	}
}

it('a trigger that is published while others listen tells of what is under way, and of nothing that has ended', async () => {
	await start({ pace: 0.1 });
	// They keep the socket open all the time, and hear all tasks.
	await begin(speech('[sim:slow=1000] Waiting'));
	const other = await activate({ parameters: { events: ['progress'] } });
	const failed = await createTask('[sim:task-fails-late] Failed');
	const ended = await createTask('Completed');
	const underWay = await createTask('[sim:slow=1000] Under way');
	await sim.waitFor(() => has(failed).status === 'failed' && isMade(ended));
	sim.push(message(underWay, 21));
	// Once it is heard, so are the messages before.
	await other.until(`progress ${underWay} 21`);
	const trigger = await activate({ parameters: onAll });
	await sim.waitFor(() => has(failed).reads === 1 && has(underWay).reads === 1);
	sim.endTask(underWay);
	await trigger.until(`completed ${underWay} 100`);
	expect(told(trigger)).toEqual(new Set([underWay]));
	expect(has(failed).reads).toBe(1);
});

describe('a task first heard of at 100 %', () => {
	it.each<[string, boolean, () => object]>([
		['its record has no times', true, () => ({})],
		['it ended since', true, () => ({ created_at: ago(3_600_000), completed_at: ago(0) })],
		['it ended before', false, () => ({ completed_at: ago(60_000) })],
		['it was created long before', false, () => ({ created_at: ago(3_600_000) })],
	])('is told unless it ended before the workflow was published: %s', async (_, isTold, times) => {
		await start({ pace: 0 });
		const trigger = await activateListening();
		onRead(completed(times()), { path: '/v1/labs/task/first', ...ALWAYS });
		sim.push(message('first', 100));
		await sim.waitFor(() => readings('first').length === 1);
		const later = await createTask('Later');
		await trigger.until(`completed ${later} 100`);
		expect(told(trigger)).toEqual(new Set(isTold ? ['first', later] : [later]));
		sim.push(message('first', 100));
		sim.push(message('first', 43));
		expect(readings('first').length).toBe(1);
	});

	it('is judged by that moment also if it can be read only after the next activation', async () => {
		await start({ pace: 0 });
		const nodeId = 'deployed-amid-hearsay';
		const trigger = await activateListening({ nodeId });
		const old = { path: '/v1/labs/task/old' };
		onRead({ hang: true }, old);
		fakeTime();
		sim.push(message('old', 100));
		await passUntil(() => readings('old').length === 1);
		await trigger.close();
		onRead(completed({ created_at: ago(3_600_000) }), { ...old, ...ALWAYS });
		const next = await activate({ nodeId });
		await passUntil(() => readings('old').length === 2);
		const taskId = await createTask('New');
		await passUntil(() => next.events().includes(`completed ${taskId} 100`));
		expect(told(next)).toEqual(new Set([taskId]));
	});

	it('is read in its turn where hundreds are, and each is told once', async () => {
		await start({ pace: 0 });
		const trigger = await activateListening();
		onRead(completed(), ALWAYS);
		fakeTime();
		for (let n = 0; n < 200; n++) sim.push(message(`many-${n}`, 100));
		await pass(1);
		expect(readings().length).toBeLessThan(50);
		expect(await passUntil(() => trigger.started.length === 200)).toBeLessThanOrEqual(30);
		expect(told(trigger).size).toBe(200);
		expect(readings().length).toBe(200);
	});
});

describe('a task that the service does not know', () => {
	it('is told when a replica that lagged knows it, and is not looked up for ever', async () => {
		await start({ pace: 0 });
		const trigger = await activateListening();
		onRead(answer(404, { error: 'unknown task' }), { path: '/v1/labs/task/late', times: 3 });
		onRead(completed(), { path: '/v1/labs/task/late', after: 3, ...ALWAYS });
		onRead(answer(404, {}), { path: '/v1/labs/task/never', ...ALWAYS });
		fakeTime();
		for (const taskId of ['late', 'never']) sim.push(message(taskId, 100));
		await passUntil(() => trigger.started.length > 0, 100);
		expect(trigger.events()).toEqual(['completed late 100']);
		await passHearing(2);
		const asked = readings('never').length;
		await passHearing(5);
		expect(readings('never').length).toBe(asked);
	});

	it('is followed, if it is named in the parameters, as soon as a message names it', async () => {
		await start({ pace: 0 });
		// The simulator counts its tasks.
		const next = String(Number(await createTask('Before')) + 1);
		const trigger = await activate({ parameters: { taskIds: next } });
		await sim.waitFor(() => readings(next).length === 1);
		fakeTime();
		await passHearing(2);
		const asked = readings(next).length;
		await passHearing(5);
		expect(readings(next).length).toBe(asked);
		expect(await createTask('Comes at last')).toBe(next);
		await passUntil(() => trigger.started.length === 1);
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
	await passUntil(() => looked() === 2, 100);
	await passHearing(5);
	expect(looked()).toBe(2);
	expect(trigger.errors).toEqual([]);
	const taskId = await createTask('Our own');
	await passUntil(() => trigger.events().includes(`completed ${taskId} 100`));
});
