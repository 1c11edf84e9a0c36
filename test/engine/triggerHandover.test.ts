import type { IRun } from 'n8n-workflow';
import { ALWAYS, answer, made, message, onRead } from './service';
import { triggerNode } from '../service/triggerNode.mts';
import { fakeTime, sim, start } from './setup';
import { pass, passUntil, passWhile } from './time';
import { activate, activateListening, createTask, type TriggerSetting } from './triggerSetup';

/* What one activation of a trigger leaves to the next one in the same process, and what n8n says too late. */

const busy = () => new Error('SQLITE_BUSY: database is locked');

/** The first execution fails to start when `refuse` is called; all others start at once. */
function refusedLate() {
	let refuse = (_: Error) => {};
	const execute = async (_: unknown, number: number) =>
		number === 0 ? await new Promise<IRun>((__, reject) => (refuse = reject)) : ({} as IRun);
	return { execute, refuse: () => refuse(busy()) };
}

describe('an event that n8n fails to start', () => {
	it.each([1, 2])(
		'is told by the trigger that was published again meanwhile, %d times',
		async (times) => {
			await start({ pace: 0 });
			const { execute, refuse } = refusedLate();
			const setting = { nodeId: `refused ${times}` };
			const first = await activateListening({ ...setting, execute });
			const taskId = await createTask('Busy');
			await first.has(1);
			await first.close();
			let next = await activate(setting);
			if (times === 2) {
				await next.close();
				next = await activate(setting);
			}
			refuse();
			await next.has(1);
			expect(next.events()).toEqual([`completed ${taskId} 100`]);
			expect(next.started[0]!.key).toBe(first.started[0]!.key);
		},
	);

	it('is told by the next one if it was published again and unpublished meanwhile', async () => {
		await start({ pace: 0 });
		const { execute, refuse } = refusedLate();
		const setting = { nodeId: 'refused, then unpublished' };
		const first = await activateListening({ ...setting, execute });
		const taskId = await createTask('Busy');
		await first.has(1);
		await first.close();
		await (await activate(setting)).close();
		refuse();
		const next = await activate(setting);
		await next.has(1);
		expect(next.events()).toEqual([`completed ${taskId} 100`]);
	});

	it('is told by the trigger that was published again meanwhile, if it is about a video', async () => {
		fakeTime();
		const { execute, refuse } = refusedLate();
		const setting: TriggerSetting = {
			nodeId: 'refused video',
			parameters: { events: ['generated'] },
		};
		const first = await passWhile(activate({ ...setting, execute }));
		sim.history.unshift(made('late'));
		await passUntil(() => first.started.length === 1, 120);
		await first.close();
		const next = await passWhile(activate(setting));
		await pass(120);
		expect(next.started).toEqual([]);
		refuse();
		await passUntil(() => next.started.length === 1, 70);
		expect(next.started[0]!.key).toBe(first.started[0]!.key);
		await pass(120);
		expect(next.started).toHaveLength(1);
	});

	it('is told again if n8n says so after more than a minute, as when it waited for capacity', async () => {
		await start({ pace: 0 });
		fakeTime();
		const { execute, refuse } = refusedLate();
		const trigger = await passWhile(activate({ execute }));
		const taskId = await passWhile(createTask('Waits'));
		await passUntil(() => trigger.started.length === 1);
		await pass(90);
		refuse();
		await passUntil(() => trigger.started.length === 2);
		expect(trigger.events()).toEqual(Array(2).fill(`completed ${taskId} 100`));
	});

	it('is told again if n8n throws', async () => {
		await start({ pace: 0 });
		fakeTime();
		const execute = (_: unknown, number: number) => {
			if (number === 0) throw busy();
			return Promise.resolve({} as IRun);
		};
		const trigger = await passWhile(activate({ execute }));
		const taskId = await passWhile(createTask('Throws'));
		await passUntil(() => trigger.started.length === 2);
		expect(trigger.events()).toEqual(Array(2).fill(`completed ${taskId} 100`));
	});
});

describe('a task whose only message comes', () => {
	const ended = () => onRead(answer(200, { status: 'completed', audio_url: '/a.wav' }), ALWAYS);

	it('between two activations is told', async () => {
		ended();
		const setting = { nodeId: 'between' };
		const first = await activateListening(setting);
		await first.close();
		sim.broadcast(message('between', 100));
		await new Promise((resolve) => setTimeout(resolve, 20));
		const next = await activate(setting);
		await next.has(1);
		expect(next.events()).toEqual(['completed between 100']);
	});

	it('in the seconds that n8n takes to publish again is told, if the socket is open for another trigger', async () => {
		ended();
		const setting = { nodeId: 'slow n8n' };
		await activate();
		const first = await activateListening(setting);
		await first.close();
		await new Promise((resolve) => setTimeout(resolve, 1500));
		sim.broadcast(message('between', 100));
		await new Promise((resolve) => setTimeout(resolve, 500));
		const next = await activate(setting);
		await next.has(1);
		expect(next.events()).toEqual(['completed between 100']);
	});

	it('while the next activation checks the token is told', async () => {
		ended();
		const setting = { nodeId: 'check' };
		const first = await activateListening(setting);
		await first.close();
		const before = sim.countRequests('GET', '/v1/video/me');
		sim.fault({ path: '/v1/video/me', action: { delayMs: 1000 } });
		const publishing = activate(setting);
		await sim.waitFor(() => sim.countRequests('GET', '/v1/video/me') > before);
		// The connection of the first one would be closed by now.
		await new Promise((resolve) => setTimeout(resolve, 600));
		sim.broadcast(message('checked', 100));
		const next = await publishing;
		await next.has(1);
		expect(next.events()).toEqual(['completed checked 100']);
	});
});

it('what a trigger has taken over is saved when it is published', async () => {
	onRead(answer(200, { status: 'processing' }), ALWAYS);
	const setting = { nodeId: 'saved' };
	const first = await activateListening(setting);
	sim.broadcast(message('heard', 50));
	await new Promise((resolve) => setTimeout(resolve, 50));
	await first.close();
	const next = await activate(setting);
	expect(JSON.stringify(next.saved())).toContain('heard');
});

it('what a trigger remembers is saved also with another trigger of the workflow, published later', async () => {
	await start({ pace: 0 });
	const [one, two] = ['One', 'Two'].map((name) => ({ ...triggerNode({}, name), name }));
	const setting = { workflowId: 'two triggers' };
	const first = await activate({ ...setting, nodeId: 'One', nodeName: 'One', beside: [two!] });
	const saved = first.saved();
	// n8n loads the workflow again for the trigger that has changed, and saves it whole.
	const more = { nodeId: 'Two', nodeName: 'Two', beside: [one!], staticData: saved };
	const second = await activate({ ...setting, ...more });
	const taskId = await createTask('For both');
	await Promise.all([first.has(1), second.has(1)]);
	const latest = await createTask('Again for both');
	await Promise.all([first.has(2), second.has(2)]);
	for (const trigger of [first, second])
		for (const name of ['node:One', 'node:Two'])
			expect(JSON.stringify(trigger.saved()[name])).toContain(taskId);
	expect(latest).not.toBe(taskId);
	await first.close();
	await createTask('For the second');
	await second.has(3);
});
