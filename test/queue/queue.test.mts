import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, describe, it } from 'node:test';
import type { INodeExecutionData } from 'n8n-workflow';
import { eventually } from '../../tools/eventually.mts';
import {
	MANUAL_TRIGGER_NAME,
	startManually,
	waitForEnd,
	waitForStatus,
} from '../../tools/n8n/executions.mts';
import { itemsOf } from '../../tools/n8n/results.mts';
import { example, HELD } from '../n8n/setting.mts';
import { publishThenAdd, speaking, triggered } from '../n8n/workflows.mts';
import { createTask } from '../service/order.mts';
import { setUp } from './setting.mts';

/* n8n's own distributed engine: main, Redis, PostgreSQL and two workers, one job each at a time. */

const PATIENCE_MS = 60_000;

const lines = (count: number, about: string) =>
	Array.from({ length: count }, (_, index) => `Line ${index} of ${about}.`);

const setting = await setUp();
const { cluster, simulator, rest, start, close, add, addOnCall, lastTask } = setting;
after(close);
await start();
/** Speaks the lines that come with a call; a bad one ends the run, none is stored. */
const speakLines = await addOnCall('speak-sheet', (node) => {
	const texts = `$('${MANUAL_TRIGGER_NAME}').first().json.body.lines`;
	const { assignments } = node('Sample rows').parameters;
	assignments.assignments[0].value = `={{ ${texts}.map((text) => ({ text })) }}`;
	node('Store the audio').disabled = true;
	delete node('Convert each row').onError;
});

describe('the queue mode', { timeout: 400_000 }, () => {
	it('runs a batch as a single n8n does, and main reads its files', async () => {
		const texts = lines(12, 'the batch');
		const execution = await speakLines({ lines: texts });
		const done = await waitForEnd(rest, execution);
		assert.equal(done.status, 'success');
		assert.equal((await cluster.workersOf(execution)).length, 1, 'one worker ran it');
		const items = itemsOf(done, 'Convert each row');
		assert.deepEqual(
			items.map(({ json, pairedItem }) => [json.input, json.status, pairedItem]),
			texts.map((text, item) => [text, 'completed', { item }]),
		);
		assert.equal(simulator.chargedCalls, texts.length);
		for (const item of items) await assertFile(item);
	});

	/** The file of an item, as main hands it to the editor, is the service's. */
	async function assertFile({ json, binary }: INodeExecutionData): Promise<void> {
		const { id = '', fileName, mimeType } = binary?.data ?? {};
		assert.match(id, /^database:/);
		assert.equal(fileName, `speech-${json.task_id}.wav`);
		assert.equal(mimeType, 'audio/wav');
		const path = `/rest/binary-data?id=${encodeURIComponent(id)}&action=download`;
		setting.assertServed(json.audio_url, await rest.download(path));
	}

	describe('by hand, on a worker', () => {
		const listening = async () => {
			const parameters = { events: ['completed'], download: true };
			const { id } = await add(triggered('By hand', parameters));
			const execution = await startManually(rest, id, 'When it happens');
			await simulator.waitFor(() => simulator.countOpenSockets() === 1, PATIENCE_MS);
			return execution;
		};
		for (const [what, nodeName, begin] of [
			['the node speaks', 'Text to Speech', () => startManually(rest, example('speak').id)],
			['the trigger hears an event, with its file', 'When it happens', listening],
		] as const) {
			it(what, async () => {
				const execution = await begin();
				if (begin === listening) await createTask(simulator, 'Somebody else has this said.');
				const done = await waitForEnd(rest, execution);
				assert.equal(done.status, 'success');
				assert.equal((await cluster.workersOf(execution)).length, 1, 'a worker ran it');
				const [item] = itemsOf(done, nodeName);
				assert.equal(item!.json.task_id, lastTask().id);
				await assertFile(item!);
				await simulator.waitFor(() => simulator.countOpenSockets() === 0);
			});
		}

		it('the socket closes when one stops listening', async () => {
			const execution = await listening();
			await rest.request('POST', `/rest/executions/${execution}/stop`, {});
			await simulator.waitFor(() => simulator.countOpenSockets() === 0, PATIENCE_MS);
			assert.equal((await waitForEnd(rest, execution)).status, 'canceled');
		});
	});

	it('opens one WebSocket per process, however many items it waits for', async () => {
		const [socketsBefore, tasksBefore] = [simulator.openedSocketCount, simulator.tasks.size];
		const held = lines(6, 'a half').map((line) => `${HELD} ${line}`);
		const executions = [await speakLines({ lines: held }), await speakLines({ lines: held })];
		const tasks = () => [...simulator.tasks.keys()].slice(tasksBefore);
		await simulator.waitFor(() => tasks().length === 12, PATIENCE_MS);
		await simulator.waitFor(() => simulator.countOpenSockets() === 2, PATIENCE_MS);
		for (const id of tasks()) simulator.endTask(id);
		for (const execution of executions) {
			assert.equal((await waitForEnd(rest, execution)).status, 'success');
		}
		const workers = await Promise.all(executions.map((each) => cluster.workersOf(each)));
		assert.equal(new Set(workers.flat()).size, 2, 'each worker ran one of them');
		assert.equal(simulator.openedSocketCount - socketsBefore, 2);
		// The next execution may be about to begin: they rest for a moment.
		await simulator.waitFor(() => simulator.countOpenSockets() === 0);
	});

	it('a node that is added behind a published trigger refuses to pay for a loop', async () => {
		const charged = simulator.chargedCalls;
		const workflow = await publishThenAdd(rest, 'Extended', speaking(simulator, 'Again'));
		await createTask(simulator, 'Somebody else’s');
		const [execution] = await workflow.ended(1, PATIENCE_MS);
		await workflow.unpublish();
		assert.ok(execution!.data.includes("'Speak' generates what the trigger listens for"));
		assert.equal(simulator.chargedCalls, charged + 1, 'only the task of somebody else');
	});

	// What else a killed worker leaves behind, test:nightly decides.
	it('an execution that waits goes on with the next worker when both are killed', async () => {
		const begin = await addOnCall('durable', (node) => {
			node('Text to Speech').parameters.text = `${HELD} A chapter.`;
		});
		const execution = await begin();
		await waitForStatus(rest, execution, ['waiting']);
		// Main takes the service's call only once it has heard that the worker's part is over.
		const part = new RegExp(`Execution ${execution} \\(job \\d+\\) finished`);
		const log = () => readFileSync(cluster.main.logFile, 'utf8');
		await eventually('its part to be over', PATIENCE_MS, () => part.test(log()));
		await Promise.all(cluster.workers.map((worker) => worker.crash()));
		await Promise.all([cluster.addWorker(), cluster.addWorker()]);
		simulator.endTask(lastTask().id);
		assert.equal((await waitForEnd(rest, execution, 2 * PATIENCE_MS)).status, 'success');
	});
});
