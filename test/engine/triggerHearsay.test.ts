import { begin, requests, sim, speech, start } from './setup';
import { activate, createTask, fakeTime, message } from './triggerSetup';

const onAll = { events: ['progress', 'completed', 'failed'] };
const readings = (taskId: string) => requests('GET', `/v1/labs/task/${taskId}`).length;
const has = (taskId: string) => sim.tasks.get(taskId)!;

describe('a newly activated trigger, while something else keeps the socket open', () => {
	it('tells of what is under way, and of nothing that ended before', async () => {
		await start({ pace: 0.1 });
		// They keep the socket open all the time, and hear all tasks.
		await begin(speech('[sim:slow=1000] Waiting'));
		const other = await activate({ parameters: { events: ['progress'] } });
		const failed = await createTask('[sim:task-fails-late] Failed');
		const completed = await createTask('Completed');
		const underWay = await createTask('[sim:slow=1000] Under way');
		await sim.waitFor(
			() => has(failed).status === 'failed' && has(completed).audioUrl !== undefined,
		);
		sim.push(message(underWay, 21));
		// Once it is heard, so are the messages before.
		await other.until(`progress ${underWay} 21`);
		const trigger = await activate({ parameters: onAll });
		await sim.waitFor(() => readings(failed) === 1 && readings(underWay) === 1);
		// The service says once more what it has said before.
		for (const taskId of [failed, completed]) sim.push(message(taskId, 93));
		sim.push(message(completed, 100));
		sim.endTask(underWay);
		await trigger.until(`completed ${underWay} 100`);
		const told = new Set(trigger.started.map(({ item }) => item.json.task_id));
		expect(told).toEqual(new Set([underWay]));
		expect(readings(failed)).toBe(1);
	});

	it('passes over a task whose end was read before, though its message comes later', async () => {
		const running = await begin(speech('[sim:silent-socket] Read'));
		const result = await running.finished;
		expect(result.error).toBeUndefined();
		const [taskId] = [...sim.tasks.keys()] as [string];
		const trigger = await activate({ parameters: onAll });
		sim.push(message(taskId, 57));
		sim.push(message(taskId, 100));
		const another = await createTask('Another');
		await trigger.has(6);
		expect(new Set(trigger.started.map(({ item }) => item.json.task_id))).toEqual(
			new Set([another]),
		);
	});
});

describe('a task named in the parameters that is not there yet', () => {
	it('is followed as soon as a message names it', async () => {
		await start({ pace: 0.1 });
		// The simulator counts its tasks.
		const next = String(Number(await createTask('Before')) + 1);
		const trigger = await activate({ parameters: { taskIds: next } });
		await sim.waitFor(() => readings(next) === 1);
		expect(await createTask('Comes later')).toBe(next);
		await trigger.has(1);
		expect(trigger.events()).toEqual([`completed ${next} 100`]);
	});

	it('is looked up no more after a minute, until a message names it', async () => {
		await start({ pace: 0 });
		const next = String(Number(await createTask('Before')) + 1);
		const trigger = await activate({ parameters: { taskIds: next } });
		await sim.waitFor(() => readings(next) === 1);
		fakeTime();
		try {
			for (let seconds = 0; seconds < 600; seconds++) {
				// Opening another in place of a silent socket takes time of its own.
				if (seconds % 20 === 0) sim.push(message('another', 1));
				await jest.advanceTimersByTimeAsync(1000);
				await new Promise((resolve) => setImmediate(resolve));
			}
		} finally {
			jest.useRealTimers();
		}
		expect(readings(next)).toBe(3);
		await createTask('Comes at last');
		await trigger.has(1);
		expect(trigger.events()).toEqual([`completed ${next} 100`]);
	});
});
