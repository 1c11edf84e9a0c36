import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { activate } from '../../tools/n8n/executions.mts';
import { eventually } from '../n8n/workflows.mts';
import { DataTable } from './dataTable.mts';
import { importCopy, NIGHT_MS, setUp, type Storage } from './setting.mts';

/* examples/failed-again.json: what failed executions have paid for is collected later. */

const ID = 'exampleFailedAgain';
/** Nothing is ready before the test says so. */
const HELD = '[sim:slow=36000]';

describe('what failed, once more', { timeout: 600_000 }, () => {
	let storage: Storage;
	let table: DataTable;

	before(async () => {
		storage = await setUp();
	});
	after(async () => await storage?.close());

	/** Runs speak-list with these texts, as a webhook does; this workflow is its error workflow. */
	async function speakInVain(texts: string[], splitLongerThan = 0): Promise<void> {
		const { rest } = storage;
		const path = `speak-${texts.length}-${splitLongerThan}`;
		const id = await importCopy(rest, 'speak-list', (text) => {
			const workflow = JSON.parse(text);
			const node = (name: string) => workflow.nodes.find((each: any) => each.name === name);
			Object.assign(node('When clicking ‘Execute workflow’'), {
				type: 'n8n-nodes-base.webhook',
				typeVersion: 2,
				webhookId: path,
				parameters: { httpMethod: 'POST', path, responseMode: 'onReceived' },
			});
			node('Lines').parameters.assignments.assignments[0].value = JSON.stringify(texts);
			const { options } = node('Speak each line').parameters;
			Object.assign(options, { timeout: 3, splitLongerThan });
			workflow.settings.errorWorkflow = ID;
			return JSON.stringify(workflow);
		});
		await activate(rest, id);
		const response = await fetch(`${rest.baseUrl}/webhook/${path}`, { method: 'POST' });
		assert.ok(response.ok);
	}

	it('collects the tasks that a failed execution names, and pays for nothing', async () => {
		const { rest, simulator, instance, night } = storage;
		assert.equal((await night(ID)).status, 'success');
		table = await DataTable.find(rest, 'tasks_to_collect');
		await activate(rest, ID);
		const texts = ['A', 'B', 'C'].map((name) => `${HELD} Late ${name}.`);
		await speakInVain(texts);
		const noted = await eventually('the tasks to be noted', NIGHT_MS, async () => {
			const rows = await table.rows();
			return rows.length === texts.length ? rows : undefined;
		});
		const tasks = [...simulator.tasks.keys()];
		assert.deepEqual(noted.map((row) => row.task_id).sort(), tasks.sort());
		assert.match(noted[0]!.workflow, /several lines/i);

		for (const id of tasks) simulator.endTask(id);
		assert.equal((await night(ID)).status, 'success');
		for (const { task_id: taskId, file, error } of await table.rows()) {
			assert.equal(error, null);
			const served = simulator.fileBytes(simulator.tasks.get(taskId)!.audioUrl!);
			assert.ok(served?.equals(readFileSync(join(instance.folder, file))));
		}
		assert.equal(simulator.creates, texts.length);
	});

	it('tries again what is not there yet, and gives up what the service could not make', async () => {
		const { simulator, night } = storage;
		await speakInVain(['[sim:task-fails] Never.']);
		const failed = await eventually('the task to be noted', NIGHT_MS, async () =>
			(await table.rows()).at(3),
		);
		await table.add({ task_id: '404404' });
		const reads = () => simulator.tasks.get(failed.task_id)!.reads;
		assert.equal((await night(ID)).status, 'success');
		const readsThen = reads();
		assert.equal((await night(ID)).status, 'success');
		const [given, unknown] = (await table.rows()).slice(3);
		assert.equal(given!.file, 'failed');
		assert.match(given!.error, /could not generate the speech/);
		assert.equal(reads(), readsThen);
		assert.equal(unknown!.file, null);
		assert.match(unknown!.error, /has no task with this ID/);
		assert.equal(simulator.creates, 4);
	});

	it('collects every part of a text that was split', async () => {
		const { simulator, night } = storage;
		const [before, tasksBefore] = [(await table.rows()).length, simulator.tasks.size];
		await speakInVain([['A', 'B', 'C'].map((part) => `${HELD} Part ${part}.`).join(' ')], 30);
		const parts = await eventually('the tasks to be noted', NIGHT_MS, async () => {
			const rows = (await table.rows()).slice(before);
			return rows.length === 3 ? rows : undefined;
		});
		const tasks = [...simulator.tasks.keys()].slice(tasksBefore);
		assert.equal(tasks.length, 3);
		for (const id of tasks) simulator.endTask(id);
		assert.equal((await night(ID)).status, 'success');
		assert.deepEqual(parts.map((row) => row.task_id).sort(), tasks.sort());
		for (const { file, error } of (await table.rows()).slice(before)) {
			assert.equal(error, null);
			assert.match(file, /speech-/);
		}
	});
});
