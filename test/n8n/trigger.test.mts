import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../../tools/eventually.mts';
import { DataTable } from '../storage/dataTable.mts';
import { createWave, cutAgainAndAgain, type Cut } from './outages.mts';
import { example, setUp } from './setting.mts';
import { createCredential, NOTHING, RemoteWorkflow, resting, triggered } from './workflows.mts';
import { createTask } from '../service/order.mts';

/* The trigger in a complete n8n: published, unpublished and refused. */

const REVOCABLE = 'sk-n8ntest-revoked-Kd83hXq0';
/** Long enough for a machine that is busy with other things. */
const PATIENCE_MS = 60_000;
/** Heard of at once, and under way until the test ends it. */
const HELD = '[sim:messages-first] [sim:slow=3000]';
/** Half of the ten cuts. */
const CUTS: Cut[] = ['dropped', 'dropped', 'refused', 'dropped', 'dropped'];

const { instance, simulator, rest, start, close } = await setUp({
	pace: 1,
	otherTokens: [REVOCABLE],
});
after(close);
await start();

describe('at the same time', { concurrency: true }, () => {
	it('the examples store files, keep a table and report, whether tasks complete or fail', async () => {
		const [completed, failed, progress] = ['completed', 'failed', 'progress'].map(
			(name) => new RemoteWorkflow(rest, example(`trigger-${name}`).id),
		) as [RemoteWorkflow, RemoteWorkflow, RemoteWorkflow];
		await Promise.all([completed, failed, progress].map((workflow) => workflow.publish()));
		const good = await createTask(simulator, 'All is well.');
		const bad = await createTask(simulator, 'Not to be. [sim:task-fails-late] [sim:slow=4]');
		await simulator.waitFor(() => simulator.tasks.get(bad)?.status === 'failed');
		// The service says nothing of a failure; a socket that comes back is a reason to look.
		simulator.dropSockets();

		const [stored] = await completed.ended(1, PATIENCE_MS);
		assert.equal(stored?.status, 'success');
		const file = readFileSync(join(instance.files, `speech-${good}.wav`));
		const { audioUrl } = simulator.tasks.get(good)!;
		assert.ok(
			simulator.fileBytes(audioUrl!)?.equals(file),
			'the file is the service’s to the byte',
		);

		const [reported] = await failed.ended(1, PATIENCE_MS);
		assert.equal(reported?.status, 'error');
		assert.ok(
			reported?.data.includes(`Speech task ${bad} failed at 93 %: Speech synthesis failed`),
		);

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
		for (const workflow of [completed, failed, progress]) await workflow.unpublish();
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
	const running = () => newest().filter(({ status }) => status !== 'completed');
	const workflow = await RemoteWorkflow.create(rest, triggered('Every task', {}, resting(0.5)));
	await workflow.publish();
	await simulator.waitFor(() => simulator.sockets() === 1);
	const held = await Promise.all(Array.from({ length: 6 }, () => createTask(simulator, HELD)));

	// Three waves, each begun while tasks of the one before are under way; some end while n8n is down.
	const [, , cutsBefore] = await Promise.all([
		createWave(simulator, 0, 45, 15),
		pause(6000).then(async () => await createWave(simulator, 45, 90, 12)),
		pause(6000).then(async () => await cutAgainAndAgain(simulator, CUTS)),
	]);
	// n8n saves what a trigger remembers whenever that starts an execution, and only then.
	await eventually('every task under way to be saved', PATIENCE_MS, async () => {
		const saved = new Set(await workflow.remembered());
		return running().every(({ id }) => saved.has(id));
	});
	const runningThen = running().length;
	const crashedAt = Date.now();
	await instance.crash();
	for (const taskId of held) simulator.endTask(taskId);
	const unheard = await Promise.all(
		Array.from({ length: 10 }, () => createTask(simulator, 'Nobody listens yet. [sim:slow=600]')),
	);
	await start();
	await simulator.waitFor(() => simulator.sockets() === 1);
	const listensAgain = Date.now();
	for (const taskId of unheard) simulator.endTask(taskId);
	const [, cutsAfter] = await Promise.all([
		createWave(simulator, 90, 184, 30),
		pause(6000).then(async () => await cutAgainAndAgain(simulator, CUTS)),
	]);

	// When some are missing, the assertions below say more than a timeout.
	const executions = await workflow.ended(200, 120_000).catch(() => workflow.executions());
	assert.equal(newest().length, 200);
	const missing = [...cutsBefore, ...cutsAfter];
	const amounts = newest().map(({ id }) => ({
		id,
		amount: executions.filter(({ data }) => data.includes(`"${id}"`)).length,
	}));
	assert.deepEqual(
		amounts.filter(({ amount }) => amount !== 1),
		[],
		'one execution for each task',
	);
	assert.equal(executions.length, 200);
	// Events that the kill cut off can't come before n8n is back, however long that takes.
	const late = newest().map(({ id, readyAt }) => {
		const { startedAt } = executions.find(({ data }) => data.includes(`"${id}"`))!;
		const began = Date.parse(startedAt);
		return began - (began > crashedAt ? Math.max(readyAt!, listensAgain) : readyAt!);
	});
	t.diagnostic(
		`sockets were missing for ${missing} ms; the last event came ${Math.max(...late)} ms late`,
	);
	assert.ok(Math.max(...late) < 30_000, `${late.sort((a, b) => b - a).slice(0, 20)} ms late`);
	const crashed = executions.filter(({ status }) => status === 'crashed').length;
	t.diagnostic(`${runningThen} tasks ran and ${crashed} executions were under way at the kill`);
	const states = new Set(executions.map(({ status }) => status));
	assert.ok(
		[...states].every((status) => /^(success|crashed)$/.test(status)),
		`${[...states]}`,
	);
	await workflow.unpublish();
});
