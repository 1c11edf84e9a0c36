import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { startSftp } from '../../tools/servers/sftp.mts';
import { startWebDav } from '../../tools/servers/webDav.mts';
import { HELD } from '../n8n/setting.mts';
import { DataTable, type Row } from './dataTable.mts';
import { NIGHT_MS, setUp } from './setting.mts';

/* examples/videos-sftp.json and images-webdav.json, with OpenSSH and a plain WebDAV server. */

const COLUMNS = ['title', 'prompt', 'file_url', 'file', 'error'];

const sftp = await startSftp();
const webDav = await startWebDav();
const { simulator, rest, begin, night, paid, powerCut, close } = await setUp([
	{ id: 'storageSftp', name: 'Any', type: 'sftp', data: sftp.credential },
	{ id: 'storageWebDav', name: 'Any', type: 'nextCloudApi', data: webDav.credential },
]);
after(async () => {
	await close();
	await sftp.stop();
	await webDav.stop();
});

describe('every night, videos and images go to a server', { timeout: 600_000 }, () => {
	const kinds = [
		{
			what: 'videos to SFTP',
			id: 'exampleVideosSftp',
			table: 'videos_to_make',
			folder: 'videos',
			extension: 'mp4',
			files: sftp.files,
		},
		{
			what: 'images to WebDAV',
			id: 'exampleImagesDav',
			table: 'images_to_make',
			folder: 'images',
			extension: 'png',
			files: webDav.files,
		},
	];

	for (const { what, id, table: tableName, folder, extension, files } of kinds) {
		describe(what, () => {
			let table: DataTable;
			const rowOf = async (rowId: number) => (await table.rows()).find((row) => row.id === rowId)!;

			/** The row's file lies on the server where it says, and is the service's to the byte. */
			function assertStored(row: Row): void {
				assert.equal(row.error, null);
				const served = simulator.fileBytes(row.file_url);
				assert.ok(served?.equals(readFileSync(join(files, row.file))), row.file);
			}

			it('makes its table, and an empty night is a good one', async () => {
				mkdirSync(join(files, folder));
				chmodSync(join(files, folder), 0o777);
				await night(id);
				table = await DataTable.find(rest, tableName);
				assert.deepEqual(await table.columns(), COLUMNS);
				assert.equal(paid(), 0);
			});

			it('stores a file for each row, whatever its title is', async () => {
				// More than are made at once.
				const rows = Array.from({ length: 7 }, (_, index) => ({
					prompt: `A boat, number ${index}`,
				}));
				await table.add({ title: '../Sea/2026: "a\\b"?', prompt: 'The sea' }, ...rows);
				await night(id);
				(await table.rows()).forEach(assertStored);
				assert.equal((await table.rows())[0]!.file, `${folder}/1--Sea-2026-a-b-.${extension}`);
				assert.equal(paid(), 8);
			});

			it('says why a row failed, and takes it up the next night, and no other', async () => {
				const [empty, unsafe] = await table.add({ prompt: '' }, { prompt: '[sim:unsafe] Two' });
				await night(id);
				assert.match((await rowOf(empty)).error, /'Prompt' is empty/);
				assert.match((await rowOf(unsafe)).error, /UNSAFE/);
				assert.equal(paid(), 1);
				await table.change(empty, { prompt: 'No more' });
				await table.change(unsafe, { prompt: 'Safe' });
				await night(id);
				(await table.rows()).forEach(assertStored);
				assert.equal(paid(), 3);
			});

			it('stores the next night what found no place on the server', async () => {
				const [row] = await table.add({ prompt: 'No place' });
				const place = join(files, folder);
				renameSync(place, `${place}-away`);
				writeFileSync(place, 'A file where the folder should be.');
				await night(id);
				rmSync(place);
				renameSync(`${place}-away`, place);
				const { file, error } = await rowOf(row);
				assert.equal(file, null);
				assert.ok(error);
				await night(id);
				assertStored(await rowOf(row));
				assert.equal(paid(), 1);
			});

			it('never pays again for what a cut night had begun, and stores what was made', async () => {
				const [made] = await table.add({ prompt: `Begun ${HELD}` });
				await begin(id);
				await simulator.waitFor(() => paid() === 1, NIGHT_MS);
				await powerCut();
				await night(id);
				assert.equal((await rowOf(made)).file, 'begun');
				assert.equal(paid(), 1);
				const { file_url: address } = (await table.rows())[0]!;
				await table.change(made, { file_url: address, file: null });
				await night(id);
				assertStored(await rowOf(made));
				assert.equal(paid(), 1);
			});
		});
	}
});
