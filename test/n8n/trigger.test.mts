import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../../tools/eventually.mts';
import { DataTable } from '../storage/dataTable.mts';
import { example, setUp } from './setting.mts';
import { createCredential, NOTHING, RemoteWorkflow, resting, triggered } from './workflows.mts';
import { createTask } from '../service/order.mts';

/* The trigger in a complete n8n: published, unpublished and refused. */

const REVOCABLE = 'sk-n8ntest-revoked-Kd83hXq0';
/** Long enough for a machine that is busy with other things. */
const PATIENCE_MS = 60_000;
/** Heard of at once, and under way until the test ends it. */
const HELD = '[sim:messages-first] [sim:slow=3000]';

const { instance, simulator, rest, start, close } = await setUp({
	pace: 1,
	otherTokens: [REVOCABLE],
});
after(close);
await start();

describe('at the same time', { concurrency: true }, () => {
	it('the examples store files, keep a table and report, whether tasks complete or fail', async () => {
		const [speech, progress] = ['speech', 'progress'].map(
			(name) => new RemoteWorkflow(rest, example(`trigger-${name}`).id),
		) as [RemoteWorkflow, RemoteWorkflow];
		await Promise.all([speech, progress].map((workflow) => workflow.publish()));
		const good = await createTask(simulator, 'All is well.');
		const bad = await createTask(simulator, 'Not to be. [sim:task-fails-late] [sim:slow=4]');
		await simulator.waitFor(() => simulator.tasks.get(bad)?.status === 'failed');
		// The service says nothing of a failure; a socket that comes back is a reason to look.
		simulator.dropSockets();

		const ended = await speech.ended(2, PATIENCE_MS);
		assert.deepEqual(ended.map(({ status }) => status).sort(), ['error', 'success']);
		const file = readFileSync(join(instance.files, `speech-${good}.wav`));
		const { audioUrl } = simulator.tasks.get(good)!;
		assert.ok(simulator.fileBytes(audioUrl!)?.equals(file), 'the file is the service’s');
		const reported = ended.find(({ status }) => status === 'error')!;
		assert.ok(reported.data.includes(`Speech task ${bad} failed at 93 %: Speech synthesis failed`));

		const rows = await eventually('both rows to be final', PATIENCE_MS, async () => {
			const table = await DataTable.find(rest, 'Speech progress').catch(() => undefined);
			const found = (await table?.rows()) ?? [];
			const ends = found.filter(({ status }) => /completed|failed/.test(status));
			return ends.length === 2 ? found : undefined;
		});
		const rowOf = (id: string) => {
			const [row, ...others] = rows.filter(({ task_id }) => task_id === id);
			assert.equal(others.length, 0);
			return { percentage: row?.percentage, status: row?.status };
		};
		assert.deepEqual(rowOf(good), { percentage: 100, status: 'completed' });
		assert.deepEqual(rowOf(bad), { percentage: 93, status: 'failed' });
		for (const workflow of [speech, progress]) await workflow.unpublish();
		const states = (await progress.list()).map(({ status }) => status);
		assert.ok(states.length > 6 && states.every((status) => status === 'success'), `${states}`);
	});

	it('a refused token is named by the editor as what keeps the workflow from starting', async () => {
		const credential = await createCredential(rest, simulator, 'sk-nobody');
		const workflow = await RemoteWorkflow.create(
			rest,
			triggered('Refused', {}, NOTHING, credential),
		);
		await assert.rejects(workflow.publish(), ({ message }: Error) => {
			assert.match(message, /refused the API token/);
			assert.ok(!message.includes('sk-nobody'), message);
			return true;
		});
		await workflow.unpublish();
	});

	it('a token that is revoked in use starts the error workflow', async () => {
		const told = await RemoteWorkflow.create(rest, {
			name: 'Told of failures',
			nodes: [
				{
					type: 'n8n-nodes-base.errorTrigger',
					typeVersion: 1,
					parameters: {},
					id: 'error',
					name: 'On failure',
					position: [0, 0],
				},
			],
			connections: {},
		});
		await told.publish();
		const credential = await createCredential(rest, simulator, REVOCABLE);
		const workflow = triggered('Revoked', {}, NOTHING, credential);
		const listening = await RemoteWorkflow.create(rest, {
			...workflow,
			settings: { ...workflow.settings, errorWorkflow: told.id },
		});
		await listening.publish();
		simulator.revoke(REVOCABLE);
		// It is checked three times over two minutes.
		const [failure] = await told.ended(1, 120_000 + PATIENCE_MS);
		assert.match(failure!.data, /Authorization failed: the service refused the API token/);
		assert.match(failure!.data, /Revoked/);
		assert.ok(!failure!.data.includes(REVOCABLE), 'the token is not in it');
		await listening.unpublish();
	});
});

it('every completed task starts one execution: sockets are cut, n8n is killed', async (t) => {
	const earlier = simulator.tasks.size;
	const newest = () => [...simulator.tasks.values()].slice(earlier);
	const create = async (amount: number, text: string) =>
		await Promise.all(Array.from({ length: amount }, () => createTask(simulator, text)));
	const workflow = await RemoteWorkflow.create(rest, triggered('Every task', {}, resting(0.5)));
	await workflow.publish();
	await simulator.waitFor(() => simulator.sockets() === 1);
	const held = await create(6, HELD);
	/** Tasks of six to twelve seconds, and cuts of the socket while they run. */
	const wave = async () => {
		for (let seconds = 6; seconds <= 12; seconds++) {
			await create(6, `Wave. [sim:slow=${seconds}]`);
			await pause(1000);
			if (seconds % 3 > 0) continue;
			if (seconds === 9) simulator.setWebSocketMode('refuse');
			simulator.dropSockets();
			await pause(1000);
			simulator.setWebSocketMode('normal');
			await simulator.waitFor(() => simulator.sockets() > 0, PATIENCE_MS);
		}
	};

	await wave();
	// n8n saves what a trigger remembers whenever that starts an execution, and only then.
	await eventually('every task under way to be saved', PATIENCE_MS, async () => {
		const saved = new Set(await workflow.remembered());
		return newest().every(({ id, status }) => status === 'completed' || saved.has(id));
	});
	const crashedAt = Date.now();
	await instance.crash();
	for (const taskId of held) simulator.endTask(taskId);
	const unheard = await create(10, 'Nobody listens yet. [sim:slow=600]');
	await start();
	await simulator.waitFor(() => simulator.sockets() === 1);
	const listensAgain = Date.now();
	for (const taskId of unheard) simulator.endTask(taskId);
	await wave();

	// When some are missing, the assertions below say more than a timeout.
	const count = newest().length;
	const executions = await workflow.ended(count, 120_000).catch(() => workflow.executions());
	const ofTask = (id: string) => executions.filter(({ data }) => data.includes(`"${id}"`));
	const amounts = newest().map(({ id }) => ({ id, amount: ofTask(id).length }));
	const wrong = amounts.filter(({ amount }) => amount !== 1);
	assert.deepEqual(wrong, [], 'one execution for each task');
	assert.equal(executions.length, count);
	// Events that the kill cut off can't come before n8n is back, however long that takes.
	const late = newest().map(({ id, readyAt }) => {
		const began = Date.parse(ofTask(id)[0]!.startedAt);
		return began - (began > crashedAt ? Math.max(readyAt!, listensAgain) : readyAt!);
	});
	t.diagnostic(`of ${count} tasks the last event came ${Math.max(...late)} ms late`);
	assert.ok(Math.max(...late) < 30_000, `${late.sort((a, b) => b - a).slice(0, 20)} ms late`);
	for (const { status } of executions) assert.match(status, /^(success|crashed)$/);
	await workflow.unpublish();
});
