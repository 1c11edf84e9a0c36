import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { onExit, temporaryFolder, type TemporaryFolder } from '../../tools/cleanup.mts';
import { eventually } from '../../tools/eventually.mts';
import { waitForEnd } from '../../tools/n8n/executions.mts';
import { HELD } from '../n8n/setting.mts';
import { RemoteWorkflow } from '../n8n/workflows.mts';
import { DataTable, type Row } from './dataTable.mts';
import { importCopy, importSplitting, NIGHT_MS, setUp } from './setting.mts';

/* examples/nightly-table.json: Schedule Trigger, n8n's Data Table, speech, a file on the disk. */

const ID = 'exampleNightlyTable';
const COLUMNS = ['title', 'text', 'task_id', 'file', 'error'];
/** A disk without any room; undefined where none can be mounted. */
function smallDisk(): TemporaryFolder | undefined {
	const folder = temporaryFolder('disk');
	try {
		execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4k', 'tmpfs', folder.path]);
	} catch {
		folder.remove();
		return undefined;
	}
	const unmount = () => void execFileSync('umount', ['--lazy', folder.path]);
	const forget = onExit(unmount);
	return {
		path: folder.path,
		remove() {
			forget();
			unmount();
			folder.remove();
		},
	};
}

const storage = await setUp([], { N8N_RESTRICT_FILE_ACCESS_TO: tmpdir() });
const { instance, simulator, rest, begin, night, badNight, paid, cutNight, powerCut } = storage;
after(storage.close);

describe('every night, new rows of a data table', { timeout: 600_000 }, () => {
	let table: DataTable;
	const rowOf = async (id: number) => (await table.rows()).find((row) => row.id === id)!;

	/** The row's file lies where it says, and is the service's to the byte. */
	function assertStored(row: Row): void {
		assert.equal(row.error, null);
		const served = simulator.fileBytes(simulator.tasks.get(row.task_id)!.audioUrl!);
		assert.ok(served?.equals(readFileSync(join(instance.folder, row.file))));
	}

	it('is published, makes its table, and an empty night is a good one', async () => {
		const often = await importCopy(rest, 'nightly-table', (text) =>
			text.replace('"days"', '"seconds"').replace('"daysInterval"', '"secondsInterval"'),
		);
		const workflow = new RemoteWorkflow(rest, often);
		await workflow.publish();
		const first = await eventually('a night', NIGHT_MS, async () => (await workflow.list()).at(-1));
		await workflow.unpublish();
		assert.equal((await waitForEnd(rest, first.id, NIGHT_MS)).status, 'success');
		table = await DataTable.find(rest, 'texts_to_speak');
		assert.deepEqual(await table.columns(), COLUMNS);
		assert.equal(paid(), 0);
	});

	it('stores a file for each row, whatever its title is', async () => {
		const ids = await table.add(
			{ title: 'Good morning', text: 'One.' },
			{ title: '../News/2026: "a\\b"?', text: 'Two.' },
			{ text: 'Without a title.' },
			{ title: 'Good morning', text: 'The same title.' },
		);
		await night(ID);
		const rows = await table.rows();
		rows.forEach(assertStored);
		assert.deepEqual(
			rows.map(({ file }) => basename(file)),
			[
				`${ids[0]}-Good-morning.wav`,
				`${ids[1]}--News-2026-a-b-.wav`,
				`${ids[2]}-untitled.wav`,
				`${ids[3]}-Good-morning.wav`,
			],
		);
		assert.equal(readdirSync(instance.files).length, 4);
		assert.equal(paid(), 4);
	});

	it('says why a row failed, and takes it up the next night, and no other', async () => {
		const [empty, failing] = await table.add(
			{ title: 'Empty', text: '' },
			{ title: 'Fails', text: '[sim:task-fails] Two.' },
		);
		await night(ID);
		assert.match((await rowOf(empty)).error, /'Text' is empty/);
		assert.match((await rowOf(failing)).error, /could not generate the speech/);
		assert.equal(paid(), 1);

		await table.change(empty, { text: 'No more.' });
		await table.change(failing, { text: 'Speaks.' });
		await night(ID);
		(await table.rows()).forEach(assertStored);
		assert.equal(paid(), 3);
	});

	it('never sends again by itself what the service may have accepted', async () => {
		simulator.fault({ method: 'POST', action: { reset: true, accepted: true } });
		const [id] = await table.add({ title: 'Who knows', text: 'Unclear.' });
		for (const _ of ['first night', 'second night']) {
			await night(ID);
			const { file, error } = await rowOf(id);
			assert.equal(file, 'unclear');
			assert.match(error, /did not respond/);
		}
		assert.equal(paid(), 1);
		await table.change(id, { file: null });
		await night(ID);
		assertStored(await rowOf(id));
	});

	it('collects what a night that was cut short paid for', async () => {
		await table.add(...['A', 'B', 'C'].map((title) => ({ title, text: `${HELD} Cut ${title}.` })));
		await cutNight(ID, 'Cut', 3);
		await night(ID);
		(await table.rows()).forEach(assertStored);
		assert.equal(paid(), 3);
	});

	it('pays once for a text that is split, and stores it as one file', async () => {
		const [id] = await table.add({ title: 'Parts', text: 'First part. Other part.' });
		const workflow = await importSplitting(rest, 'nightly-table');
		for (const _ of ['its parts are sent', 'they are collected', 'nothing is left']) {
			await night(workflow);
		}
		const { task_id: taskIds, file, error } = await rowOf(id);
		assert.equal(error, null);
		assert.equal(taskIds.split(',').length, 2);
		assert.ok(readFileSync(join(instance.folder, file)).length > 0);
		assert.equal(paid(), 2);
		await table.remove(id);
	});

	it('gives each part a file of its own when they cannot be joined', async () => {
		const headers = { 'Content-Type': 'audio/ogg' };
		const bodies = ['OggS, the one', 'OggS, the other'];
		for (const body of bodies) {
			simulator.fault({ on: 'file', action: { respond: { status: 200, headers, body } } });
		}
		const [id] = await table.add({ title: 'Ogg', text: 'First part. Other part.' });
		const workflow = await importSplitting(rest, 'nightly-table');
		for (const _ of ['its parts are sent', 'they are collected']) {
			await night(workflow);
		}
		const { file, error } = await rowOf(id);
		assert.equal(error, null);
		assert.match(file, /-Ogg-part-2\.\w+$/);
		const stored = [1, 2].map((part) => file.replace('part-2', `part-${part}`));
		const read = stored.map((path) => readFileSync(join(instance.folder, path), 'utf8'));
		assert.deepEqual(read.sort(), bodies);
		await table.remove(id);
	});

	it('never sends a split text again by itself once a part was paid for', async () => {
		simulator.fault({ method: 'POST', after: 1, action: { reset: true, accepted: true } });
		const [id] = await table.add({ title: 'Half', text: 'First part. Other part.' });
		const workflow = await importSplitting(rest, 'nightly-table');
		for (const _ of ['first night', 'second night']) {
			await night(workflow);
			const { task_id: taskIds, file, error } = await rowOf(id);
			assert.deepEqual({ taskIds, file }, { taskIds: null, file: 'unclear' });
			assert.ok(error);
		}
		assert.equal(paid(), 2);
		await table.remove(id);
	});

	it('pays for at most one row again when the power is cut while it pays', async () => {
		const rows = ['A', 'B', 'C', 'D'].map((title) => ({ title, text: `Right then ${title}.` }));
		await table.add(...rows);
		const sent = () => simulator.requests.filter(({ method }) => method === 'POST').length;
		const sentBefore = sent();
		simulator.fault({ method: 'POST', after: 2, action: { hang: true, accepted: true } });
		await begin(ID);
		await simulator.waitFor(() => sent() - sentBefore === 3, NIGHT_MS);
		await powerCut();
		await night(ID);
		(await table.rows()).forEach(assertStored);
		assert.equal(paid(), rows.length + 1);
	});

	/** A night in which a row's file can't be stored in this folder, and the next one, in which it can. */
	async function storedOneNightLate(folder: string, reason: RegExp): Promise<void> {
		const hindered = await importCopy(rest, 'nightly-table', (text) =>
			text.replace('"=.n8n-files/', `"=${folder}/`),
		);
		const [id] = await table.add({ title: 'Later', text: 'Later.' });
		await night(hindered);
		const { task_id: taskId, file, error } = await rowOf(id);
		assert.ok(taskId);
		assert.equal(file, null);
		assert.match(error, reason);
		await night(ID);
		assertStored(await rowOf(id));
		assert.equal(paid(), 1);
	}

	it('keeps a task whose folder is not there, and stores its file the next night', async () => {
		await storedOneNightLate(join(instance.folder, 'nowhere'), /does not exist/);
	});

	it('keeps a task whose file finds no room on the disk', async (t) => {
		const disk = smallDisk();
		if (!disk) return t.skip('this user may not mount a disk');
		try {
			await storedOneNightLate(disk.path, /ENOSPC|no space left/);
		} finally {
			disk.remove();
		}
	});

	for (const missing of COLUMNS.slice(1)) {
		it(`ends before anything is paid when the table has no column ${missing}`, async () => {
			const name = `without_${missing}`;
			const columns = COLUMNS.filter((column) => column !== missing);
			const other = await DataTable.create(rest, name, columns);
			await other.add(missing === 'text' ? { title: 'Any' } : { text: 'A text.' });
			const id = await importCopy(rest, 'nightly-table', (text) =>
				text.replaceAll('texts_to_speak', name),
			);
			if (missing === 'text') {
				await night(id);
				const [row] = await other.rows();
				assert.match(row!.error, /'Text' is empty/);
			} else {
				assert.match(await badNight(id), /[Cc]olumn/);
			}
			assert.equal(paid(), 0);
		});
	}
});
