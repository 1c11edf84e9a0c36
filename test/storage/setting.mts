import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { importInto } from '../../tools/n8n/examples.mts';
import { startManually, waitForEnd } from '../../tools/n8n/executions.mts';
import { startPostgres } from '../../tools/servers/postgres.mts';
import { startS3 } from '../../tools/servers/s3.mts';
import { startSftp } from '../../tools/servers/sftp.mts';
import { changedExample, setUp as setUpInstance } from '../n8n/setting.mts';
import { FakeService } from '../service/fakeService.mts';

/** How long a night may take, on a machine that is busy with other things. */
export const NIGHT_MS = 180_000;

/** A complete n8n that runs, with the examples and the servers on which they store files. */
export async function setUp() {
	const postgres = await startPostgres();
	const s3 = await startS3('voice.nightly', 'my.videos');
	const bucket = await FakeService.inFrontOf(s3.url);
	const sftp = await startSftp();
	const setting = await setUpInstance({ pace: 0.02 });
	const { instance, rest, start, add } = setting;
	const aws = { ...s3.credential, s3Endpoint: bucket.url };
	const name = 'Any';
	await importInto(instance, 'credentials', [
		{ id: 'storagePostgres', name, type: 'postgres', data: postgres.credential },
		{ id: 'storageAws', name, type: 'aws', data: aws },
		{ id: 'storageSftp', name, type: 'sftp', data: sftp.credential },
	]);
	await start();
	const videos = join(sftp.files, 'videos');
	mkdirSync(videos);
	chmodSync(videos, 0o777);
	// No folder can be made of a file.
	writeFileSync(join(sftp.files, 'nowhere'), 'A file.');
	return {
		...setting,
		postgres,
		s3,
		/** What n8n takes for S3: requests can be refused there. */
		bucket,
		/** The file that lies where a row says. */
		async fileAt(path: string): Promise<Buffer> {
			if (path.startsWith('s3://')) {
				const object = await fetch(path.replace('s3:/', s3.url));
				assert.equal(object.status, 200, path);
				return Buffer.from(await object.arrayBuffer());
			}
			return readFileSync(join(path.startsWith('videos/') ? sftp.files : instance.folder, path));
		},
		/** Starts a workflow as its schedule would; resolves to the execution's id. */
		begin: async (id: string) => await startManually(rest, id, 'Every night'),
		/** Resolves to what an execution says once it has ended, nothing when it has succeeded. */
		async ended(execution: string): Promise<string> {
			const { status, data } = await waitForEnd(rest, execution, NIGHT_MS);
			const { message, description } = data.resultData.error ?? {};
			return status === 'success' ? '' : `${status}: ${message}\n${description}`;
		},
		/** What a power cut does: n8n is killed, and started again. */
		async powerCut() {
			await instance.crash();
			await start();
		},
		/** Puts a copy of an example into n8n, with its text changed. */
		async addCopy(example: string, from: string, to: string) {
			const text = JSON.stringify(changedExample(example));
			assert.ok(text.includes(from), 'the copy differs from the example');
			return await add(JSON.parse(text.replaceAll(from, to)));
		},
		async close() {
			await setting.close();
			await bucket.stop();
			for (const server of [postgres, s3, sftp]) await server.stop();
		},
	};
}
