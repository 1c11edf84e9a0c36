import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import type { IDataObject } from 'n8n-workflow';
import { startSimulator, type Simulator } from '../../simulator/simulator.mts';
import { workflowOf } from '../faults/workflow.mts';
import { OLDEST_NODE, OldEngine } from './engine.mts';

/*
 * The packed package in the engine of the oldest n8n that README names, on that n8n's oldest Node
 * (which has no WebSocket) and on the newest.
 */

const TOKEN = 'sk-oldest-7Qw2ZrXb9LmVtYc4';

for (const { name, path, hasSocket } of [
	{ name: 'its oldest Node', path: OLDEST_NODE, hasSocket: false },
	{ name: 'the newest Node', path: process.execPath, hasSocket: true },
]) {
	describe(`the oldest n8n on ${name}`, { timeout: 120_000 }, () => {
		let engine: OldEngine;
		let simulator: Simulator;
		before(async () => {
			simulator = await startSimulator({ pace: 0.1, token: TOKEN });
			engine = await OldEngine.start(path);
		});
		afterEach(() => simulator.clearFaults());
		after(async () => {
			await engine?.stop();
			await simulator?.close();
		});

		const credential = () => ({ apiToken: TOKEN, baseUrl: simulator.baseUrl });
		const run = async (parameters: IDataObject) => {
			const answer = await engine.run(workflowOf(parameters), credential());
			assert.ok(!JSON.stringify(answer).includes(TOKEN), 'the token is nowhere in the run');
			assert.deepEqual(simulator.leaks, [], 'the token stays with the API');
			await allClosed();
			return answer;
		};
		const allClosed = async () => {
			await simulator.waitFor(() => simulator.sockets() + simulator.openConnections() === 0);
		};
		const speak = (text: string) => ({
			resource: 'speech',
			operation: 'speak',
			text,
			voiceId: { __rl: true, mode: 'id', value: simulator.voiceIds()[0] },
			options: { pollInterval: 1, timeout: 20 },
		});
		const lastTask = () => [...simulator.tasks.values()].at(-1)!;

		it('loads both nodes and the credential', async () => {
			const { nodes, credentials } = await engine.load();
			assert.deepEqual(nodes.sort(), ['mediaGeneration', 'mediaGenerationTrigger']);
			assert.deepEqual(credentials, ['mediaGenerationApi']);
		});

		it(`speaks, and hears of it ${hasSocket ? 'over the WebSocket' : 'by looking'}`, async () => {
			const { error, items, messages } = await run(speak('Good morning.'));
			assert.equal(error, undefined);
			const [{ json, file } = {}] = items;
			const task = lastTask();
			assert.equal(json?.task_id, task.id);
			assert.equal(file?.name, `speech-${task.id}.wav`);
			assert.equal(file.type, 'audio/wav');
			const served = simulator.fileBytes(String(json.audio_url));
			assert.ok(served?.equals(Buffer.from(file.bytes, 'base64')), 'the file to the byte');
			assert.equal(simulator.socketsEver, hasSocket ? 1 : 0);
			assert.ok(messages.some((text) => text.includes(`task ${task.id} completed`)));
		});

		it('makes a video and an image over their event streams', async () => {
			const video = { resource: 'video', operation: 'textToVideo', prompt: 'A paper boat' };
			const image = { resource: 'image', operation: 'create', prompt: 'A lighthouse' };
			for (const [parameters, type] of [
				[video, 'video/mp4'],
				[image, 'image/png'],
			] as const) {
				const { error, items } = await run({ ...parameters, options: {} });
				assert.equal(error, undefined);
				assert.equal(items.length, 1);
				const [{ json, file } = {}] = items;
				assert.equal(json?.file_url, simulator.history[0]?.file_url);
				assert.equal(file?.type, type);
				const served = simulator.fileBytes(String(json?.file_url));
				assert.ok(served?.equals(Buffer.from(file.bytes, 'base64')));
			}
		});

		it('says what went wrong in the same words', async () => {
			const failing = await run(speak('[sim:task-fails] Hello.'));
			assert.match(
				failing.error?.message ?? '',
				/^The service could not generate the speech.*task/,
			);
			const poor = await run(speak('[sim:no-credits] Hello.'));
			assert.match(poor.error?.message ?? '', /^The account is out of credit/);
			assert.match(poor.error?.description ?? '', /^Add credit/);
		});

		it('never takes the token along when the service redirects to another origin', async () => {
			const redirect = `${simulator.fileOrigin}/elsewhere`;
			for (const [method, status] of [
				['POST', 307],
				['GET', 302],
			] as const) {
				const action = { redirect, status };
				simulator.fault({ method, path: '/v1/labs/task', times: Infinity, action });
				const { error } = await run(speak('Who goes there?'));
				simulator.clearFaults();
				assert.match(error?.message ?? '', /^The service redirects to/);
				assert.ok(
					!simulator.requests.some(({ path: asked }) => asked === '/elsewhere'),
					'nobody else is asked',
				);
			}
		});

		it('follows redirects of files, without the token', async () => {
			simulator.dialect.redirectFiles = true;
			const { error, items } = await run(speak('Follow me.'));
			simulator.dialect.redirectFiles = false;
			assert.equal(error, undefined);
			assert.ok(String(items[0]?.json.audio_url).startsWith(simulator.baseUrl));
			assert.ok(items[0]?.file);
			const fetched = simulator.requests.findLast(({ on }) => on === 'file');
			assert.ok(fetched, 'the file came from the other origin');
			assert.equal(fetched.headers.authorization, undefined);
		});

		it('closes everything when the execution is canceled', async () => {
			const running = engine.begin(workflowOf(speak('[sim:slow=600] Wait.')), credential());
			await simulator.waitFor(() => lastTask().input.includes('slow=600'));
			await running.cancel();
			await running.finished;
			await allClosed();
			const reads = lastTask().reads;
			await run(speak('After it.'));
			const slow = [...simulator.tasks.values()].at(-2)!;
			assert.equal(slow.reads, reads, 'nobody looks at the canceled task any more');
		});

		it('starts a workflow when a task is completed', async () => {
			const listen = async (taskIds: string, onItem: (json: IDataObject) => void) => {
				const parameters = { events: ['completed'], taskIds, options: {} };
				const type = 'n8n-nodes-media-generation.mediaGenerationTrigger';
				const [, trigger] = workflowOf(parameters, { type }).nodes;
				return await engine.listen({ nodes: [trigger!], connections: {} }, credential(), onItem);
			};
			if (!hasSocket) {
				await assert.rejects(
					listen('', () => {}),
					/runs on a version of Node\.js without WebSocket/,
				);
			}
			const created = await run({ ...speak('Tell the trigger.'), waitForCompletion: false });
			const taskId = String(created.items[0]?.json.task_id);
			const { promise, resolve } = Promise.withResolvers<IDataObject>();
			const listening = await listen(taskId, resolve);
			const { event, task_id, audio_url } = await promise;
			await listening.close();
			assert.deepEqual(
				{ event, task_id, audio_url },
				{ event: 'completed', task_id: taskId, audio_url: lastTask().audioUrl },
			);
			await allClosed();
		});
	});
}
