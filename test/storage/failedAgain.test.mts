import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { eventually } from '../../tools/eventually.mts';
import { activate, postJson } from '../../tools/n8n/executions.mts';
import { HELD } from '../n8n/setting.mts';
import { RemoteWorkflow } from '../n8n/workflows.mts';
import { WorkflowFile } from '../queue/setting.mts';
import { DataTable, type Row } from './dataTable.mts';
import { NIGHT_MS, setUp } from './setting.mts';

/* examples/failed-again.json: what failed executions have paid for is collected later. */

const ID = 'exampleFailedAgain';

const { instance, simulator, rest, night, close } = await setUp();
after(close);

describe('what failed, once more', { timeout: 600_000 }, () => {
	let table: DataTable;

	/** Runs speak-list with these texts, as a webhook does; this workflow is its error workflow. */
	async function speakInVain(texts: string[], splitLongerThan = 0): Promise<void> {
		const path = `speak-${texts.length}-${splitLongerThan}`;
		const file = new WorkflowFile('speak-list', path).withLinesOfTheCall();
		Object.assign(file.node('Speak each line').parameters.options, { timeout: 3, splitLongerThan });
		const { id: _, ...content } = file.content;
		const settings = { ...content.settings, errorWorkflow: ID };
		await (await RemoteWorkflow.create(rest, { ...content, settings })).publish();
		await postJson(`${rest.baseUrl}/webhook/${path}`, { lines: texts });
	}

	/** The rows from `first` on, once this many tasks are noted there. */
	const noted = async (first: number, count: number): Promise<Row[]> =>
		await eventually('the tasks to be noted', NIGHT_MS, async () => {
			const rows = (await table.rows()).slice(first);
			return rows.length === count ? rows : undefined;
		});

	it('collects the tasks that a failed execution names, and pays for nothing', async () => {
		await night(ID);
		table = await DataTable.find(rest, 'tasks_to_collect');
		await activate(rest, ID);
		const texts = ['A', 'B', 'C'].map((name) => `${HELD} Late ${name}.`);
		await speakInVain(texts);
		const rows = await noted(0, texts.length);
		const tasks = [...simulator.tasks.keys()];
		assert.deepEqual(rows.map((row) => row.task_id).sort(), tasks.sort());
		assert.equal(rows[0]!.workflow, 'speak-3-0');

		for (const id of tasks) simulator.endTask(id);
		await night(ID);
		for (const { task_id: taskId, file, error } of await table.rows()) {
			assert.equal(error, null);
			const served = simulator.fileBytes(simulator.tasks.get(taskId)!.audioUrl!);
			assert.ok(served?.equals(readFileSync(join(instance.folder, file))));
		}
		assert.equal(simulator.creates, texts.length);
	});

	it('tries again what is not there yet, and gives up what the service could not make', async () => {
		await speakInVain(['[sim:task-fails] Never.']);
		const [failed] = await noted(3, 1);
		await table.add({ task_id: '404404' });
		const reads = () => simulator.tasks.get(failed!.task_id)!.reads;
		await night(ID);
		const readsThen = reads();
		await night(ID);
		const [given, unknown] = (await table.rows()).slice(3);
		assert.equal(given!.file, 'failed');
		assert.match(given!.error, /could not generate the speech/);
		assert.equal(reads(), readsThen);
		assert.equal(unknown!.file, null);
		assert.match(unknown!.error, /has no task with this ID/);
		assert.equal(simulator.creates, 4);
	});

	it('collects every part of a text that was split', async () => {
		const [before, tasksBefore] = [(await table.rows()).length, simulator.tasks.size];
		await speakInVain([['A', 'B', 'C'].map((part) => `${HELD} Part ${part}.`).join(' ')], 30);
		const parts = await noted(before, 3);
		const tasks = [...simulator.tasks.keys()].slice(tasksBefore);
		assert.equal(tasks.length, 3);
		for (const id of tasks) simulator.endTask(id);
		await night(ID);
		assert.deepEqual(parts.map((row) => row.task_id).sort(), tasks.sort());
		for (const { file, error } of (await table.rows()).slice(before)) {
			assert.equal(error, null);
			assert.match(file, /speech-/);
		}
	});
});
