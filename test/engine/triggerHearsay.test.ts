import { ALWAYS, answer, message, onRead, readings } from './service';
import { fakeTime, sim, start } from './setup';
import { pass, passUntil } from './time';
import { activateListening, createTask, told } from './triggerSetup';

/* Tasks of which little is known when they are first heard of. */

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

describe('a task first heard of at 100 %', () => {
	it.each<[string, boolean, () => object]>([
		['its record has no times', true, () => ({})],
		['it ended since', true, () => ({ created_at: ago(3_600_000), completed_at: ago(0) })],
		['it ended before', false, () => ({ completed_at: ago(60_000) })],
		['its record tells its creation alone', true, () => ({ created_at: ago(3_600_000) })],
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
});
