import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { INodeExecutionData } from 'n8n-workflow';
import { runByHand, waitForEnd, waitForStatus } from '../../tools/n8n/executions.mts';
import { itemsOf } from '../../tools/n8n/results.mts';
import { example, HELD } from '../n8n/setting.mts';
import { RemoteWorkflow, triggered } from '../n8n/workflows.mts';
import { createTask } from '../service/order.mts';
import { DataTable } from '../storage/dataTable.mts';
import { setUp, WorkflowFile } from './setting.mts';

/* n8n's own distributed engine: main, Redis, PostgreSQL and two workers, one job each at a time. */

const SPEAK = 'Speak each row';

const PATIENCE_MS = 60_000;

const lines = (count: number, about: string) =>
	Array.from({ length: count }, (_, index) => `Line ${index} of ${about}.`);
const heldLines = (count: number, about: string) =>
	lines(count, about).map((line) => `${HELD} ${line}`);

function rests(): WorkflowFile {
	const file = new WorkflowFile('durable', 'rests');
	file.node('Speak').parameters.text = `${HELD} A chapter.`;
	return file;
}

const { cluster, simulator, rest, call, tasksAbout, endTasksAbout, close } = await setUp([
	new WorkflowFile('speak-sheet', 'plain').withLinesOfTheCall(),
	new WorkflowFile('nightly-table', 'ledger', 'Every night'),
	rests(),
]);
after(close);

describe('the queue mode', { timeout: 400_000 }, () => {
	it('runs a batch as a single n8n does, and main reads its files', async () => {
		const texts = lines(12, 'the batch');
		const execution = await call('plain', { lines: texts });
		const done = await waitForEnd(rest, execution);
		assert.equal(done.status, 'success');
		assert.equal((await cluster.workersOf(execution)).length, 1, 'one worker ran it');
		const items = itemsOf(done, SPEAK);
		assert.deepEqual(
			items.map(({ json, pairedItem }) => [json.input, json.status, pairedItem]),
			texts.map((text, item) => [text, 'completed', { item }]),
		);
		assert.equal(simulator.creates, texts.length);
		for (const item of items) {
			const served = simulator.fileBytes(String(item.json.audio_url));
			assert.ok(served?.equals(await fileOf(item)), 'main reads the same bytes');
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

		before(async () => {
			rested = await call('rests');
			await waitForStatus(rest, rested, ['waiting']);
			const columns = ['title', 'text', 'task_id', 'file', 'error'];
			const table = await DataTable.create(rest, 'texts_to_speak', columns);
			await table.add(...heldLines(4, 'the ledger').map((text) => ({ text })));
			await call('ledger');
			const collecting = () => {
				const tasks = tasksAbout('the ledger');
				return tasks.length === 4 && tasks.every(({ reads }) => reads > 0);
			};
			await simulator.waitFor(collecting, PATIENCE_MS);
			await Promise.all(cluster.workers.map((worker) => worker.crash()));
			endTasksAbout('A chapter');
			endTasksAbout('the ledger');
			await Promise.all([cluster.addWorker(), cluster.addWorker()]);
		});

		it('an execution that waits goes on with the next worker', async () => {
			assert.equal((await waitForEnd(rest, rested, 2 * PATIENCE_MS)).status, 'success');
		});

		it('a list in a table is started again and collected, without paying again', async () => {
			const again = await call('ledger');
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
	});
});
