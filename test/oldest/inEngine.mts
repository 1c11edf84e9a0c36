/* The tests of oldest.test.mts, which runs them in the old n8n's engine. */
import assert from 'node:assert/strict';
import { after, afterEach, describe, it } from 'node:test';
import type { IDataObject, INodeExecutionData } from 'n8n-workflow';
import { runWorkflow, type WorkflowResult } from '../../demo/engine.mts';
import { loadPackage } from '../../demo/package.mts';
import { startSimulator } from '../../simulator/simulator.mts';
import { NODE, workflowOf } from '../faults/workflow.mts';
import { activateTrigger, triggerNode } from '../service/triggerNode.mts';

const hasSocket = typeof WebSocket === 'function';
const simulator = await startSimulator({ pace: 0.1, token: 'sk-oldest-7Qw2ZrXb9LmVtYc4' });
const { token, baseUrl } = simulator;
const credential = { apiToken: token, baseUrl };

const begin = async (parameters: IDataObject, signal?: AbortSignal) => {
	const messages: string[] = [];
	const result = await runWorkflow({
		workflow: workflowOf(parameters),
		credentials: { mediaGenerationApi: credential },
		onMessage: (text) => messages.push(text),
		signal,
	});
	return { ...result, items: result.items(NODE), messages };
};
const run = async (parameters: IDataObject) => {
	const result = await begin(parameters);
	const told = JSON.stringify([result.run, result.messages]);
	assert.ok(!told.includes(token), 'the token is nowhere in the run');
	assert.deepEqual(simulator.leaks, [], 'the token stays with the API');
	await allClosed();
	return result;
};
const allClosed = async () => {
	await simulator.waitFor(() => simulator.sockets() + simulator.openConnections() === 0);
};
/** The item's file is the one that the service serves at an address, to the byte. */
async function assertSameFile(
	{ bytes }: Pick<WorkflowResult, 'bytes'>,
	{ binary }: INodeExecutionData,
	address: unknown,
): Promise<void> {
	assert.ok(binary?.data);
	assert.ok(simulator.fileBytes(String(address))?.equals(await bytes(binary.data)));
}
const speak = (text: string): IDataObject => ({
	resource: 'speech',
	operation: 'speak',
	text,
	voiceId: { __rl: true, mode: 'id', value: simulator.voiceIds()[0] },
	options: { pollInterval: 1, timeout: 20 },
});
const lastTask = () => [...simulator.tasks.values()].at(-1)!;

describe(`the oldest n8n on Node ${process.versions.node}`, { timeout: 120_000 }, () => {
	afterEach(() => simulator.clearFaults());
	after(async () => await simulator.close());

	it('loads both nodes and the credential', async () => {
		const { nodeTypes, credentialTypes } = await loadPackage();
		const nodes = Object.keys(nodeTypes).sort();
		assert.deepEqual(nodes, ['mediaGeneration', 'mediaGenerationTrigger']);
		assert.deepEqual(Object.keys(credentialTypes), ['mediaGenerationApi']);
	});

	it(`speaks, and hears of it ${hasSocket ? 'over the WebSocket' : 'by looking'}`, async () => {
		const result = await run(speak('Good morning.'));
		assert.equal(result.error, undefined);
		const [item] = result.items as [INodeExecutionData];
		const task = lastTask();
		assert.equal(item.json.task_id, task.id);
		assert.equal(item.binary?.data?.fileName, `speech-${task.id}.wav`);
		assert.equal(item.binary.data.mimeType, 'audio/wav');
		await assertSameFile(result, item, item.json.audio_url);
		assert.equal(simulator.socketsEver, hasSocket ? 1 : 0);
		assert.ok(result.messages.some((text) => text.includes(`task ${task.id} completed`)));
	});

	for (const [parameters, type] of [
		[{ resource: 'video', operation: 'textToVideo', prompt: 'A paper boat' }, 'video/mp4'],
		[{ resource: 'image', operation: 'create', prompt: 'A lighthouse' }, 'image/png'],
	] as const) {
		it(`makes ${parameters.prompt}, ${type}, over the event stream`, async () => {
			const result = await run({ ...parameters, options: {} });
			assert.equal(result.error, undefined);
			assert.equal(result.items.length, 1);
			const [item] = result.items as [INodeExecutionData];
			assert.equal(item.json.file_url, simulator.history[0]?.file_url);
			assert.equal(item.binary?.data?.mimeType, type);
			await assertSameFile(result, item, item.json.file_url);
		});
	}

	for (const [method, status] of [
		['POST', 307],
		['GET', 302],
	] as const) {
		it(`never takes the token along when a ${method} is redirected to another origin`, async () => {
			const action = { redirect: `${simulator.fileOrigin}/elsewhere`, status };
			simulator.fault({ method, path: '/v1/labs/task', times: Infinity, action });
			const { error } = await run(speak('Who goes there?'));
			assert.match(String(error?.message), /^The service redirects to/);
			assert.ok(!simulator.requests.some(({ path }) => path === '/elsewhere'));
		});
	}

	it('follows redirects of files, without the token', async () => {
		simulator.dialect.redirectFiles = true;
		const { error, items } = await run(speak('Follow me.'));
		simulator.dialect.redirectFiles = false;
		assert.equal(error, undefined);
		assert.ok(String(items[0]?.json.audio_url).startsWith(baseUrl));
		assert.ok(items[0]?.binary?.data);
		const fetched = simulator.requests.findLast(({ on }) => on === 'file');
		assert.ok(fetched, 'the file came from the other origin');
		assert.equal(fetched.headers.authorization, undefined);
	});

	it('closes everything when the execution is canceled', async () => {
		const canceling = new AbortController();
		const canceled = begin(speak('[sim:slow=600] Wait.'), canceling.signal);
		await simulator.waitFor(() => lastTask().input.includes('slow=600'));
		canceling.abort();
		await canceled;
		await allClosed();
		const slow = lastTask();
		const { reads } = slow;
		await run(speak('After it.'));
		assert.equal(slow.reads, reads, 'nobody looks at the canceled task any more');
	});

	it('starts a workflow when a task is completed', async () => {
		const listen = async (taskIds: string, onItem: (json?: IDataObject) => void) => {
			const nodes = [triggerNode({ events: ['completed'], taskIds, options: {} })];
			const setting = { workflowId: 'listening', nodes, credential };
			return await activateTrigger(setting, ([items]) => onItem(items?.[0]?.json), assert.fail);
		};
		if (!hasSocket) {
			await assert.rejects(
				listen('', () => {}),
				/runs on a version of Node\.js without WebSocket/,
			);
		}
		const created = await run({ ...speak('Tell the trigger.'), waitForCompletion: false });
		const taskId = String(created.items[0]?.json.task_id);
		let close: (() => Promise<void>) | undefined;
		const heard = await new Promise<IDataObject | undefined>((resolve, reject) => {
			listen(taskId, resolve).then(({ closeFunction }) => (close = closeFunction), reject);
		});
		await close?.();
		const { event, task_id, audio_url } = heard!;
		assert.deepEqual(
			{ event, task_id, audio_url },
			{ event: 'completed', task_id: taskId, audio_url: lastTask().audioUrl },
		);
		await allClosed();
	});
});
