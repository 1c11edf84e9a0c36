import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { INodeExecutionData } from 'n8n-workflow';
import {
	postJson,
	retry,
	runByHand,
	waitForEnd,
	waitForStatus,
} from '../../tools/n8n/executions.mts';
import { itemsOf } from '../../tools/n8n/results.mts';
import { example, HELD } from '../n8n/setting.mts';
import { RemoteWorkflow, triggered } from '../n8n/workflows.mts';
import { createTask } from '../service/order.mts';
import { setUp, WorkflowFile } from './setting.mts';

/* n8n's own distributed engine: main, Redis, PostgreSQL and two workers, one job each at a time. */

const SPEAK = 'Speak each line';
const PAUSE = 'Until somebody calls';
const DIGEST = 'Digest';

const PATIENCE_MS = 60_000;

const lines = (count: number, about: string) =>
	Array.from({ length: count }, (_, index) => `Line ${index} of ${about}.`);
const heldLines = (count: number, about: string) =>
	lines(count, about).map((line) => `${HELD} ${line}`);

/** Speaks, waits until it is called, and then reads the files. */
function speakRestRead(): WorkflowFile {
	const file = new WorkflowFile('speak-list', 'handed-over').withLinesOfTheCall();
	const base = (name: string) => `n8n-nodes-base.${name}`;
	file.add(
		{
			name: PAUSE,
			type: base('wait'),
			typeVersion: 1.1,
			webhookId: 'pause',
			parameters: { resume: 'webhook', httpMethod: 'POST', options: {} },
		},
		[SPEAK],
	);
	// The call takes the place of the items: after it, those of Speak are used again.
	file.add(
		{
			name: 'Items again',
			type: base('merge'),
			typeVersion: 3.2,
			parameters: { mode: 'chooseBranch', useDataOfInput: 2 },
		},
		[PAUSE, SPEAK],
	);
	return file.add(
		{
			name: DIGEST,
			type: base('crypto'),
			typeVersion: 1,
			parameters: {
				action: 'hash',
				type: 'SHA256',
				binaryData: true,
				binaryPropertyName: 'data',
				dataPropertyName: 'sha256',
			},
		},
		['Items again'],
	);
}

function rests(): WorkflowFile {
	const file = new WorkflowFile('durable', 'rests');
	file.node('Speak').parameters.text = `${HELD} A chapter.`;
	return file;
}

const { cluster, simulator, rest, call, tasksAbout, endTasksAbout, close } = await setUp([
	speakRestRead(),
	new WorkflowFile('speak-list', 'plain').withLinesOfTheCall(),
	new WorkflowFile('paid-once', 'ledger').withLinesOfTheCall(),
	rests(),
]);
after(close);

describe('the queue mode', { timeout: 400_000 }, () => {
	it('runs a batch as a single n8n does, and another worker reads its files', async () => {
		const texts = lines(12, 'the batch');
		const execution = await call('handed-over', { lines: texts });
		const resting = await waitForStatus(rest, execution, ['waiting']);
		const [first, ...others] = await cluster.workersOf(execution);
		assert.ok(first && others.length === 0, 'one worker ran it so far');
		const items = itemsOf(resting, SPEAK);
		assert.deepEqual(
			items.map(({ json, pairedItem }) => [json.input, json.status, pairedItem]),
			texts.map((text, item) => [text, 'completed', { item }]),
		);
		assert.equal(simulator.creates, texts.length);

		await first.stop();
		const { metadata } = resting.data.resultData.runData[PAUSE]!.at(-1)!;
		await postJson(String(metadata?.resumeUrl), {});
		const done = await waitForEnd(rest, execution);
		await cluster.addWorker();
		assert.equal(done.status, 'success');
		assert.equal(
			(await cluster.workersOf(execution, 2)).length,
			2,
			'the other worker ran the rest',
		);
		const served = items.map(({ json }) => simulator.fileBytes(String(json.audio_url))!);
		assert.deepEqual(
			itemsOf(done, DIGEST).map(({ json }) => json.sha256),
			served.map((bytes) => createHash('sha256').update(bytes).digest('hex')),
		);
		for (const [index, item] of items.entries()) {
			assert.ok((await fileOf(item)).equals(served[index]!), 'main reads the same bytes');
		}
	});

	/** The file of an item, as main hands it to the editor. */
	async function fileOf({ json, binary }: INodeExecutionData): Promise<Buffer> {
		const { id = '', fileName, mimeType } = binary?.data ?? {};
		assert.match(id, /^database:/);
		assert.equal(fileName, `speech-${json.task_id}.wav`);
		assert.equal(mimeType, 'audio/wav');
		return await rest.download(`/rest/binary-data?id=${encodeURIComponent(id)}&action=download`);
	}

	describe('by hand, on a worker', () => {
		const listening = async () => {
			const parameters = { events: ['completed'], options: { download: true } };
			const { id } = await RemoteWorkflow.create(rest, triggered('By hand', parameters));
			const execution = await runByHand(rest, id, 'When it happens');
			await simulator.waitFor(() => simulator.sockets() === 1, PATIENCE_MS);
			return execution;
		};
		const ranOnOneWorker = async (execution: string) =>
			assert.equal((await cluster.workersOf(execution)).length, 1, 'a worker ran it');

		it('the node speaks', async () => {
			const execution = await runByHand(rest, example('speak').id);
			const done = await waitForEnd(rest, execution);
			assert.equal(done.status, 'success');
			await ranOnOneWorker(execution);
			const [item] = itemsOf(done, 'Speak a text');
			const served = simulator.fileBytes(String(item!.json.audio_url))!;
			assert.ok((await fileOf(item!)).equals(served));
			await simulator.waitFor(() => simulator.sockets() === 0);
		});

		it('the trigger hears an event, with its file', async () => {
			const execution = await listening();
			const taskId = await createTask(simulator, 'Somebody else has this said.');
			const done = await waitForEnd(rest, execution);
			assert.equal(done.status, 'success');
			await ranOnOneWorker(execution);
			const [item] = itemsOf(done, 'When it happens');
			assert.equal(item!.json.task_id, taskId);
			assert.ok((await fileOf(item!)).equals(simulator.fileBytes(String(item!.json.audio_url))!));
			await simulator.waitFor(() => simulator.sockets() === 0);
		});

		it('the socket closes when one stops listening', async () => {
			const execution = await listening();
			await rest.request('POST', `/rest/executions/${execution}/stop`, {});
			await simulator.waitFor(() => simulator.sockets() === 0, PATIENCE_MS);
			assert.equal((await waitForEnd(rest, execution)).status, 'canceled');
		});
	});

	it('opens one WebSocket per process, however many items it waits for', async () => {
		const before = simulator.socketsEver;
		const executions = [
			await call('plain', { lines: heldLines(6, 'the first half') }),
			await call('plain', { lines: heldLines(6, 'the second half') }),
		];
		await simulator.waitFor(() => tasksAbout('half').length === 12, PATIENCE_MS);
		await simulator.waitFor(() => simulator.sockets() === 2, PATIENCE_MS);
		endTasksAbout('half');
		for (const execution of executions) {
			assert.equal((await waitForEnd(rest, execution)).status, 'success');
		}
		const workers = await Promise.all(executions.map((each) => cluster.workersOf(each)));
		assert.equal(new Set(workers.flat()).size, 2, 'each worker ran one of them');
		assert.equal(simulator.socketsEver - before, 2);
		// The next execution may be about to begin: they rest for a moment.
		await simulator.waitFor(() => simulator.sockets() === 0);
	});

	describe('when both workers are killed', () => {
		let rested: string;
		let noted: string;
		let plain: string;

		before(async () => {
			rested = await call('rests');
			await waitForStatus(rest, rested, ['waiting']);
			noted = await call('ledger', { lines: heldLines(4, 'the ledger') });
			plain = await call('plain', { lines: heldLines(4, 'the lost batch') });
			const collecting = () => {
				const tasks = tasksAbout('the ledger');
				return tasks.length === 4 && tasks.every(({ reads }) => reads > 0);
			};
			await simulator.waitFor(() => tasksAbout('the lost batch').length === 4, PATIENCE_MS);
			await simulator.waitFor(collecting, PATIENCE_MS);
			await Promise.all(cluster.workers.map((worker) => worker.crash()));
			endTasksAbout('A chapter');
			endTasksAbout('the ledger');
			await Promise.all([cluster.addWorker(), cluster.addWorker()]);
		});

		it('an execution that waits goes on with the next worker', async () => {
			assert.equal((await waitForEnd(rest, rested, 2 * PATIENCE_MS)).status, 'success');
		});

		it('a list in a ledger is started again and collected, without paying again', async () => {
			const again = await call('ledger', { lines: heldLines(4, 'the ledger') });
			const done = await waitForEnd(rest, again);
			assert.equal(done.status, 'success');
			const items = itemsOf(done, 'Collect the speech');
			assert.equal(items.length, 4);
			for (const item of items) {
				const served = simulator.fileBytes(String(item.json.audio_url));
				assert.ok(served?.equals(await fileOf(item)));
			}
			assert.equal(tasksAbout('the ledger').length, 4);
		});

		it('n8n itself runs nothing again', async () => {
			for (const lost of [plain, noted]) {
				const { status, data } = await waitForEnd(rest, lost, 90_000);
				assert.equal(status, 'error');
				assert.match(String(data.resultData.error?.message), /failed to be processed too many/);
				// What a retry would need is gone.
				assert.deepEqual(data.resultData.runData, {});
				const retried = await retry(rest, lost);
				assert.deepEqual(retried.data.resultData.runData, {});
			}
			assert.equal(tasksAbout('the lost batch').length, 4);
		});
	});
});
