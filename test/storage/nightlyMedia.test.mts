import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { startSftp, type Sftp } from '../../tools/servers/sftp.mts';
import { startWebDav, type WebDav } from '../../tools/servers/webDav.mts';
import { HELD } from '../n8n/setting.mts';
import { DataTable, type Row } from './dataTable.mts';
import { NIGHT_MS, setUp, type Storage } from './setting.mts';

/* examples/videos-sftp.json and images-webdav.json, with OpenSSH and a plain WebDAV server. */

const COLUMNS = ['title', 'prompt', 'file_url', 'file', 'error'];

describe('every night, videos and images go to a server', { timeout: 600_000 }, () => {
	let storage: Storage;
	let sftp: Sftp;
	let webDav: WebDav;

	before(async () => {
		sftp = await startSftp();
		webDav = await startWebDav();
		storage = await setUp([
			{ id: 'storageSftp', name: 'Any', type: 'sftp', data: sftp.credential },
			{ id: 'storageWebDav', name: 'Any', type: 'nextCloudApi', data: webDav.credential },
		]);
	});
	after(async () => {
		await storage?.close();
		await sftp?.stop();
		await webDav?.stop();
	});

	const kinds = [
		{
			what: 'videos to SFTP',
			id: 'exampleVideosSftp',
			table: 'videos_to_make',
			folder: 'videos',
			extension: 'mp4',
			filesOf: () => sftp.files,
		},
		{
			what: 'images to WebDAV',
			id: 'exampleImagesDav',
			table: 'images_to_make',
			folder: 'images',
			extension: 'png',
			filesOf: () => webDav.files,
		},
	];

	for (const { what, id, table: tableName, folder, extension, filesOf } of kinds) {
		describe(what, () => {
			let table: DataTable;
			const rowOf = async (rowId: number) => (await table.rows()).find((row) => row.id === rowId)!;

			/** The row's file lies on the server where it says, and is the service's to the byte. */
			function assertStored(row: Row): void {
				assert.equal(row.error, null);
				const served = storage.simulator.fileBytes(row.file_url);
				assert.ok(served?.equals(readFileSync(join(filesOf(), row.file))), row.file);
			}

			it('makes its table, and an empty night is a good one', async () => {
				const paid = storage.simulator.creates;
				mkdirSync(join(filesOf(), folder));
				chmodSync(join(filesOf(), folder), 0o777);
				await storage.night(id);
				table = await DataTable.find(storage.rest, tableName);
				assert.deepEqual(await table.columns(), COLUMNS);
				assert.equal(storage.paidSince(paid), 0);
			});

			it('stores a file for each row, whatever its title is', async () => {
				const paid = storage.simulator.creates;
				// More than are made at once.
				const rows = Array.from({ length: 7 }, (_, index) => ({
					prompt: `A boat, number ${index}`,
				}));
				await table.add({ title: '../Sea/2026: "a\\b"?', prompt: 'The sea' }, ...rows);
				await storage.night(id);
				(await table.rows()).forEach(assertStored);
				assert.equal((await table.rows())[0]!.file, `${folder}/1--Sea-2026-a-b-.${extension}`);
				assert.equal(storage.paidSince(paid), 8);
			});

			it('says why a row failed, and takes it up the next night, and no other', async () => {
				const paid = storage.simulator.creates;
				const [empty, unsafe] = (await table.add(
					{ prompt: '' },
					{ prompt: '[sim:unsafe] Two' },
				)) as [number, number];
				await storage.night(id);
				assert.match((await rowOf(empty)).error, /'Prompt' is empty/);
				assert.match((await rowOf(unsafe)).error, /UNSAFE/);
				assert.equal(storage.paidSince(paid), 1);
				await table.change(empty, { prompt: 'No more' });
				await table.change(unsafe, { prompt: 'Safe' });
				await storage.night(id);
				(await table.rows()).forEach(assertStored);
				assert.equal(storage.paidSince(paid), 3);
			});

			it('stores the next night what found no place on the server', async () => {
				const paid = storage.simulator.creates;
				const [row] = (await table.add({ prompt: 'No place' })) as [number];
				const place = join(filesOf(), folder);
				renameSync(place, `${place}-away`);
				writeFileSync(place, 'A file where the folder should be.');
				await storage.night(id);
				rmSync(place);
				renameSync(`${place}-away`, place);
				const { file, error } = await rowOf(row);
				assert.equal(file, null);
				assert.ok(error);
				await storage.night(id);
				assertStored(await rowOf(row));
				assert.equal(storage.paidSince(paid), 1);
			});

			it('never pays again for what a cut night had begun, and stores what was made', async () => {
				const { simulator, begin, powerCut } = storage;
				const paid = simulator.creates;
				const [made] = (await table.add({ prompt: `Begun ${HELD}` })) as [number];
				await begin(id);
				await simulator.waitFor(() => storage.paidSince(paid) === 1, NIGHT_MS);
				await powerCut();
				await storage.night(id);
				assert.equal((await rowOf(made)).file, 'begun');
				assert.equal(storage.paidSince(paid), 1);
				const { file_url: address } = (await table.rows())[0]!;
				await table.change(made, { file_url: address, file: null });
				await storage.night(id);
				assertStored(await rowOf(made));
				assert.equal(storage.paidSince(paid), 1);
			});
		});
	}
});
