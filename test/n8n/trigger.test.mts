import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../../tools/eventually.mts';
import { createTask } from '../service/order.mts';
import { openDataTable } from '../storage/dataTable.mts';
import { example, setUp } from './setting.mts';
import {
	followTasks,
	node,
	publishThenAdd,
	remoteWorkflow,
	resting,
	speaking,
	triggered,
	workflowOf,
	type RemoteWorkflow,
} from './workflows.mts';

/* The trigger in a complete n8n: published, unpublished and refused. */

const REVOCABLE = 'sk-n8ntest-revoked-Kd83hXq0';
const HISTORY = 'sk-n8ntest-history-Vb52hQm8';
/** Long enough for a machine that is busy with other things. */
const PATIENCE_MS = 60_000;

const setting = await setUp({
	pace: 1,
	otherTokens: [REVOCABLE, HISTORY],
	dialect: { history: 'paged', historyShowsInProgress: true },
});
const { instance, simulator, rest, start, close, add, addCredential } = setting;
after(close);
await start();

describe('at the same time', { concurrency: true }, () => {
	it('the examples store files, keep a table and report, whether tasks complete or fail', async () => {
		const [speech, progress] = ['speech', 'progress'].map((name) =>
			remoteWorkflow(rest, example(`trigger-${name}`).id),
		) as [RemoteWorkflow, RemoteWorkflow];
		await Promise.all([speech, progress].map((workflow) => workflow.publish()));
		const good = await createTask(simulator, 'All is well.');
		const bad = await createTask(simulator, 'Not to be. [sim:task-fails-late] [sim:slow=4]');
		await simulator.waitFor(() => simulator.tasks.get(bad)?.status === 'failed');
		// The service says nothing of a failure; a socket that comes back is a reason to look.
		simulator.dropSockets();

		const ended = await speech.ended(2);
		assert.deepEqual(ended.map(({ status }) => status).sort(), ['error', 'success']);
		const { audioUrl } = simulator.tasks.get(good)!;
		setting.assertServed(audioUrl, setting.written(`speech-${good}.wav`));
		const reported = ended.find(({ status }) => status === 'error')!;
		assert.ok(reported.data.includes(`Speech task ${bad} failed at 93 %: Speech synthesis failed`));

		const rows = await eventually('both rows to be final', PATIENCE_MS, async () => {
			const table = await openDataTable(rest, 'Speech progress').catch(() => undefined);
			const found = (await table?.rows()) ?? [];
			const ends = found.filter(({ status }) => /completed|failed/.test(status));
			return ends.length === 2 && found;
		});
		const rowsOf = (id: string) =>
			rows
				.filter(({ task_id }) => task_id === id)
				.map(({ percentage, status }) => `${percentage} ${status}`);
		assert.deepEqual([rowsOf(good), rowsOf(bad)], [['100 completed'], ['93 failed']]);
		for (const workflow of [speech, progress]) await workflow.unpublish();
		const states = (await progress.list()).map(({ status }) => status);
		assert.ok(states.length > 2 && states.every((status) => status === 'success'), `${states}`);
	});

	it('a refused token is named by the editor as what keeps the workflow from starting', async () => {
		const credential = await addCredential('sk-nobody');
		const workflow = await add(triggered('Refused', {}, undefined, credential));
		await assert.rejects(workflow.publish(), ({ message }: Error) => {
			assert.match(message, /refused the API token/);
			assert.ok(!message.includes('sk-nobody'), message);
			return true;
		});
		await workflow.unpublish();
	});

	it('a token that is revoked in use starts the error workflow', async () => {
		const onFailure = node('On failure', 'n8n-nodes-base.errorTrigger', 1);
		const notified = await add(workflowOf('Told of failures', [onFailure]));
		await notified.publish();
		const workflow = triggered('Revoked', {}, undefined, await addCredential(REVOCABLE));
		const settings = { ...workflow.settings, errorWorkflow: notified.id };
		const listening = await add({ ...workflow, settings });
		await listening.publish();
		simulator.revoke(REVOCABLE);
		// It is checked three times over two minutes.
		const [failure] = await notified.ended(1, 120_000 + PATIENCE_MS);
		assert.match(failure!.data, /Authorization failed: the service refused the API token/);
		assert.match(failure!.data, /Revoked/);
		assert.ok(!failure!.data.includes(REVOCABLE), 'the token is not in it');
		await listening.unpublish();
	});
});

describe('a node that is added after a published trigger, which n8n does not restart,', () => {
	const called = (id: string) => {
		const workflowId = { __rl: true, mode: 'id', value: id };
		return node('Call', 'n8n-nodes-base.executeWorkflow', 1.2, { workflowId });
	};
	const texts = () => [...simulator.tasks.values()].map(({ input }) => input);

	const AGAIN = '={{ "After " + $json.task_id }}';
	const made = () => texts().filter((text) => text.startsWith('After'));

	it('and speaks, is refused before anything is paid', async () => {
		const workflow = await publishThenAdd(rest, 'A node that speaks', speaking(simulator, AGAIN));
		await createTask(simulator, 'Somebody else’s');
		const [execution] = await workflow.ended(1);
		await workflow.unpublish();
		assert.ok(execution!.data.includes("'Speak' generates what the trigger listens for"));
		assert.deepEqual(made(), []);
	});

	it('and calls a sub-workflow, starts nothing by what that creates', async () => {
		const start = node('Called', 'n8n-nodes-base.executeWorkflowTrigger', 1.1);
		start.parameters = { inputSource: 'passthrough' };
		const subWorkflow = await add(workflowOf('Called', [start, speaking(simulator, AGAIN)]));
		await subWorkflow.publish();
		const workflow = await publishThenAdd(rest, 'A node that calls', called(subWorkflow.id));
		const foreign: string[] = [];
		// The second execution ends after those that the first one would have started.
		for (let round = 1; round <= 2; round++) {
			foreign.push(await createTask(simulator, `Somebody else’s, ${round}`));
			await simulator.waitFor(() => texts().includes(`After ${foreign.at(-1)}`), PATIENCE_MS);
			await workflow.ended(round);
		}
		await workflow.unpublish();
		assert.deepEqual(
			made(),
			foreign.map((id) => `After ${id}`),
		);
	});
});

describe('each task and each new video starts one execution', { timeout: 900_000 }, () => {
	let videos: RemoteWorkflow;
	let tasks: ReturnType<typeof followTasks>;
	const { history } = simulator;
	const record = (id: string, minutesAgo = 0) =>
		history.unshift({
			...{ id, prompt: 'A paper boat', type: 'video', status: 'completed', owner: HISTORY },
			file_url: `${simulator.fileOrigin}/files/video/${id}.mp4`,
			created_at: new Date(Date.now() - minutesAgo * 60_000).toISOString(),
		});
	const recorded: string[] = [];
	const recordNew = (amount: number) => {
		for (let n = 0; n < amount; n++) {
			recorded.push(`video-${recorded.length}`);
			record(recorded.at(-1)!);
			// Deleted on the service's side: older entries move up.
			if (n % 10 > 0) continue;
			const oldest = history.findIndex(({ id }) => id.startsWith('old'));
			history.splice(oldest, 1);
		}
	};

	before(async () => {
		for (let n = 400; n > 0; n--) record(`old-${n}`, 3 * n);
		const generated = { events: ['generated'], options: { checkInterval: 10 } };
		const credential = await addCredential(HISTORY);
		videos = await add(triggered('Every video', generated, resting(0.3), credential));
		const ofTasks = await add(triggered('Every task', {}, resting(0.5)));
		for (const workflow of [videos, ofTasks]) await workflow.publish();
		tasks = followTasks(simulator, ofTasks);
	});

	type Disrupt = (meanwhile: () => Promise<void>) => Promise<void>;
	const disruptions: Record<string, Disrupt> = {
		'when sockets and readings are cut': async (meanwhile) => {
			simulator.setWebSocketMode('refuse');
			simulator.dropSockets();
			const reads = { path: '/v1/video/histories', times: 2 };
			simulator.fault({ ...reads, action: { reset: true } });
			await meanwhile();
			simulator.setWebSocketMode('normal');
		},
		'when n8n is killed': async (meanwhile) => {
			await instance.crash();
			await meanwhile();
			await start();
		},
		'when n8n is halted': async (meanwhile) => {
			instance.sleep();
			await meanwhile();
			instance.wake();
		},
	};
	for (const [when, disrupt] of Object.entries(disruptions)) {
		it(when, async () => {
			const started = await tasks.begin(12);
			let unheard: string[] = [];
			recordNew(10);
			await disrupt(async () => {
				tasks.end(started.slice(6));
				unheard = await tasks.create(6);
				// More than a page at once.
				recordNew(60);
				await pause(12_000);
			});
			await simulator.waitFor(() => simulator.countOpenSockets() === 1, PATIENCE_MS);
			tasks.end([...started.slice(0, 6), ...unheard]);
			await tasks.startedOnceEach();
			await videos.startedOnceEach(recorded);
		});
	}
});
