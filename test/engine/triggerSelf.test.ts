import { begin, posts, requests, run, sim, speech, start } from './setup';
import {
	activate,
	createTask,
	creating,
	executed,
	message,
	type TriggerSetting,
} from './triggerSetup';

const onAll = { events: ['progress', 'completed', 'failed'] };

/** Speak behind the trigger. */
const speaking = (id: string, options: object = {}) =>
	creating(id, { options: { ...options } }, { ...node(speech('Again')), name: 'Speak' });

describe('a task that an execution of the workflow itself created', () => {
	it('starts nothing, though it is told of before its id is known', async () => {
		await start({ pace: 0.1 });
		const trigger = await activate({ workflowId: 'workflow-under-test', parameters: onAll });
		const result = await run(speech('[sim:messages-first] Mine'));
		expect(result.error).toBeUndefined();
		const foreign = await createTask('Somebody else’s');
		await trigger.has(6);
		expect(new Set(trigger.started.map(({ item }) => item.json.task_id))).toEqual(
			new Set([foreign]),
		);
	});

	it('starts one where the user wants that', async () => {
		const trigger = await activate({
			workflowId: 'workflow-under-test',
			parameters: { options: { includeOwnTasks: true } },
		});
		await run(speech('Mine'));
		await trigger.has(1);
		expect(trigger.events()).toEqual([`completed ${[...sim.tasks.keys()][0]} 100`]);
	});

	it('holds up the events of other tasks only until its create call is answered', async () => {
		await start({ pace: 0 });
		const trigger = await activate({ workflowId: 'workflow-under-test' });
		sim.fault({ method: 'POST', path: '/v1/labs/task', action: { hang: true } });
		const running = await begin(speech('Never answered'));
		await sim.waitFor(() => posts() === 1);
		const foreign = await createTask('Somebody else’s');
		await sim.waitFor(() => requests('GET', `/v1/labs/task/${foreign}`).length === 1);
		expect(trigger.started).toEqual([]);
		running.cancel();
		await trigger.has(1);
		expect(trigger.events()).toEqual([`completed ${foreign} 100`]);
	});
});

describe('a workflow that starts itself', () => {
	it('does so once for a task of somebody else, and not for its own', async () => {
		await start({ pace: 0.02 });
		const trigger = await activate(executed(speaking('own')));
		await createTask('Somebody else’s');
		await sim.waitFor(() => sim.tasks.size === 2);
		await createTask('Another');
		await sim.waitFor(() => sim.tasks.size === 4 && allMade());
		await trigger.has(2);
		expect(trigger.started.length).toBe(2);
		expect(posts()).toBe(4);
	});

	it('is ended by an error after ten times in a row where the user wants its own tasks', async () => {
		await start({ pace: 0.01 });
		const trigger = await activate(executed(speaking('chain', { includeOwnTasks: true })));
		await createTask('The first');
		const error = await trigger.failed();
		expect(error.message).toMatch(/started itself ten times in a row/);
		expect(error.message).not.toMatch(/Authorization/);
		expect(trigger.started.length).toBe(10);
		await sim.waitFor(allMade);
		expect(posts()).toBe(11);
	});

	it('is ended as well when two workflows start each other', async () => {
		await start({ pace: 0.01 });
		const first = await activate(executed(speaking('ping')));
		const second = await activate(executed(speaking('pong')));
		await run(speech('The first'));
		const error = await Promise.race([first.failed(), second.failed()]);
		expect(error.message).toMatch(/started itself ten times in a row/);
		await first.close();
		await second.close();
		await sim.waitFor(allMade);
		expect(posts()).toBeLessThan(30);
	});
});

describe('a workflow whose create calls are accepted and lose their answers', () => {
	/** The service makes a task of each call, and cuts the connection. */
	const cut = () =>
		sim.fault({
			method: 'POST',
			path: '/v1/labs/task',
			times: Infinity,
			action: { accepted: true, reset: true },
		});

	it('starts once for a task of somebody else, and not for its own', async () => {
		await start({ pace: 0.02 });
		const trigger = await activate(executed(speaking('cut')));
		const foreign = await createTask('Somebody else’s');
		cut();
		await sim.waitFor(() => sim.tasks.size === 2 && allMade());
		const own = [...sim.tasks.keys()].find((taskId) => taskId !== foreign)!;
		await sim.waitFor(() => sim.tasks.get(own)!.reads > 0);
		sim.clearFaults();
		const another = await createTask('Another');
		await trigger.until(`completed ${another} 100`);
		expect(trigger.events()).toEqual([`completed ${foreign} 100`, `completed ${another} 100`]);
	});

	it('is ended by an error after ten times in a row where the texts of tasks are not told', async () => {
		await start({ pace: 0.02 });
		const trigger = await activate(executed(speaking('cut-nameless')));
		sim.fault({
			method: 'GET',
			path: '/v1/labs/task/',
			times: Infinity,
			action: { respond: { status: 200, body: { status: 'completed', audio_url: '/a.wav' } } },
		});
		await createTask('Somebody else’s');
		cut();
		const error = await trigger.failed();
		expect(error.message).toMatch(/started itself ten times in a row/);
		expect(trigger.started.length).toBe(10);
	});
});

const allMade = () => [...sim.tasks.values()].every(({ audioUrl }) => audioUrl !== undefined);

describe('where executions run in workers', () => {
	/** A worker: nothing in this process knows of what it creates, but it takes as long as its task. */
	const worker = (setting: TriggerSetting = {}): TriggerSetting => ({
		behind: speaking('elsewhere').nodes.slice(1),
		workflowId: `elsewhere-${Math.random()}`,
		execute: async () => {
			const taskId = await createTask('By a worker');
			await sim.waitFor(() => sim.tasks.get(taskId)!.audioUrl !== undefined);
			return undefined;
		},
		...setting,
	});

	it('a workflow that starts itself is ended by an error after ten times in a row', async () => {
		await start({ pace: 0.02 });
		const trigger = await activate(worker());
		await createTask('The first');
		const error = await trigger.failed();
		expect(error.message).toMatch(/started itself ten times in a row/);
		expect(error.message).not.toMatch(/Authorization/);
		expect(trigger.started.length).toBe(10);
	});

	it('goes on where no execution was running when the tasks came up', async () => {
		await start({ pace: 0 });
		const trigger = await activate(worker({ execute: undefined }));
		for (let n = 1; n <= 15; n++) {
			await createTask(`Number ${n}`);
			await trigger.has(n);
		}
		expect(trigger.errors).toEqual([]);
	});

	it('goes on where no Speak follows the trigger', async () => {
		await start({ pace: 0.02 });
		const behind = [{ ...node(speech('Again')), disabled: true }];
		const trigger = await activate(worker({ behind }));
		await createTask('The first');
		await trigger.has(15, 20_000);
		expect(trigger.errors).toEqual([]);
	});
});

it('an account that is busy does not end a workflow whose executions run here', async () => {
	await start({ pace: 0.02 });
	const workflow = speaking('busy');
	const setting = executed(workflow);
	const trigger = await activate(setting);
	await createTask('The first');
	await sim.waitFor(() => sim.tasks.size === 2);
	for (let n = 0; n < 15; n++) {
		sim.push(message(await createTask(`Number ${n}`), 5));
		await sim.waitFor(() => sim.tasks.size >= 2 * n + 4);
	}
	await trigger.has(16);
	expect(trigger.errors).toEqual([]);
});
