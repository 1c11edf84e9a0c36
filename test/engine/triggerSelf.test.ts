import type { IDataObject } from 'n8n-workflow';
import { good } from './seen';
import { ALWAYS, answer, message, onCreate, onRead, posts, readings, tasks } from './service';
import { begin, node, run, sim, speech, start } from './setup';
import {
	activate,
	type ActiveTrigger,
	areMade,
	createTask,
	creating,
	executed,
	onAll,
	told,
	type TriggerSetting,
} from './triggerSetup';

/** The trigger has ended with the error of a workflow that starts itself, after ten executions. */
async function expectEnded(trigger: ActiveTrigger) {
	const { message } = await trigger.failed();
	expect(message).toMatch(/started itself ten times in a row/);
	// By this word n8n would give the workflow up.
	expect(message).not.toMatch(/Authorization/);
	expect(trigger.started.length).toBe(10);
}

/** Speak behind the trigger. */
const speaking = (id: string, options: IDataObject = {}) =>
	creating(id, { options }, node(speech('Again'), { name: 'Speak' }));

describe('a task that an execution of the workflow itself created', () => {
	it('starts nothing, though it is told of before its id is known', async () => {
		await start({ pace: 0.1 });
		const trigger = await activate({ workflowId: 'workflow-under-test', parameters: onAll });
		good(await run(speech('[sim:messages-first] Mine')));
		const foreign = await createTask('Somebody else’s');
		await trigger.has(6);
		expect(told(trigger)).toEqual(new Set([foreign]));
	});

	it('starts one where the user wants that', async () => {
		const trigger = await activate({
			workflowId: 'workflow-under-test',
			parameters: { options: { includeOwnTasks: true } },
		});
		await run(speech('Mine'));
		await trigger.has(1);
		expect(trigger.events()).toEqual([`completed ${tasks()[0]!.id} 100`]);
	});

	it('holds up the events of other tasks only until its create call is answered', async () => {
		await start({ pace: 0 });
		const trigger = await activate({ workflowId: 'workflow-under-test' });
		onCreate({ hang: true });
		const running = await begin(speech('Never answered'));
		await sim.waitFor(() => posts() === 1);
		const foreign = await createTask('Somebody else’s');
		await sim.waitFor(() => readings(foreign).length === 1);
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
		await sim.waitFor(() => sim.tasks.size === 4 && areMade());
		await trigger.has(2);
		expect(trigger.started.length).toBe(2);
		expect(posts()).toBe(4);
	});

	it('is ended by an error after ten times in a row where the user wants its own tasks', async () => {
		await start({ pace: 0.01 });
		const trigger = await activate(executed(speaking('chain', { includeOwnTasks: true })));
		await createTask('The first');
		await expectEnded(trigger);
		await sim.waitFor(areMade);
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
		await sim.waitFor(areMade);
		expect(posts()).toBeLessThan(30);
	});
});

describe('a workflow whose create calls are accepted but lose their answers', () => {
	/** The service makes a task of each call, and cuts the connection. */
	const cut = () => onCreate({ accepted: true, reset: true }, ALWAYS);

	it('starts once for a task of somebody else, and not for its own', async () => {
		await start({ pace: 0.02 });
		const trigger = await activate(executed(speaking('cut')));
		const foreign = await createTask('Somebody else’s');
		cut();
		await sim.waitFor(() => sim.tasks.size === 2 && areMade());
		const own = [...sim.tasks.keys()].find((taskId) => taskId !== foreign)!;
		await sim.waitFor(() => sim.tasks.get(own)!.reads > 0);
		sim.clearFaults();
		const another = await createTask('Another');
		await trigger.until(`completed ${another} 100`);
		expect(trigger.events()).toEqual([`completed ${foreign} 100`, `completed ${another} 100`]);
	});

	it('is ended by an error after ten times in a row where the service does not tell the texts of tasks', async () => {
		await start({ pace: 0.02 });
		const trigger = await activate(executed(speaking('cut-nameless')));
		onRead(answer(200, { status: 'completed', audio_url: '/a.wav' }), ALWAYS);
		await createTask('Somebody else’s');
		cut();
		await expectEnded(trigger);
	});
});

describe('where executions run in workers', () => {
	/** A worker: this process knows nothing of what it creates, but it lasts until the trigger has read that. */
	const worker = (setting: TriggerSetting = {}): TriggerSetting => ({
		behind: speaking('elsewhere').nodes.slice(1),
		workflowId: `elsewhere-${Math.random()}`,
		execute: async () => {
			const taskId = await createTask('By a worker');
			await sim.waitFor(() => sim.tasks.get(taskId)!.reads > 0);
			return undefined;
		},
		...setting,
	});

	it('a workflow that starts itself is ended by an error after ten times in a row', async () => {
		await start({ pace: 0.02 });
		const trigger = await activate(worker());
		await createTask('The first');
		await expectEnded(trigger);
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
		const behind = [node(speech('Again'), { disabled: true })];
		const trigger = await activate(worker({ behind }));
		await createTask('The first');
		await trigger.has(15);
		expect(trigger.errors).toEqual([]);
	});
});

it('an account that is busy does not end a workflow whose executions run here', async () => {
	await start({ pace: 0.02 });
	const trigger = await activate(executed(speaking('busy')));
	await createTask('The first');
	await sim.waitFor(() => sim.tasks.size === 2);
	for (let n = 0; n < 15; n++) {
		sim.push(message(await createTask(`Number ${n}`), 5));
		await sim.waitFor(() => sim.tasks.size >= 2 * n + 4);
	}
	await trigger.has(16);
	expect(trigger.errors).toEqual([]);
});
