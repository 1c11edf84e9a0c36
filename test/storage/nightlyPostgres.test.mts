import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { waitForEnd } from '../../tools/n8n/executions.mts';
import { startPostgres } from '../../tools/servers/postgres.mts';
import { startS3 } from '../../tools/servers/s3.mts';
import { HELD } from '../n8n/setting.mts';
import type { Row } from './dataTable.mts';
import { episodesOf } from './feed.mts';
import { importCopy, importSplitting, NIGHT_MS, setUp } from './setting.mts';
import { Texts } from './texts.mts';

/* examples/nightly-postgres.json and feed.json, with PostgreSQL and an S3 server. */

const ID = 'exampleNightlyPg';
const BUCKET = 'voice.nightly';

const postgres = await startPostgres();
const s3 = await startS3(BUCKET);
const name = 'Any';
const wrong = { ...s3.credential, secretAccessKey: 'wrong' };
const storage = await setUp([
	{ id: 'storagePostgres', name, type: 'postgres', data: postgres.credential },
	{ id: 'storageAws', name, type: 'aws', data: s3.credential },
	{ id: 'wrongAws', name, type: 'aws', data: wrong },
]);
const { simulator, rest, begin, paid, cutNight } = storage;
const texts = await Texts.connect(postgres);
after(async () => {
	await texts.close();
	await storage.close();
	await s3.stop();
	await postgres.stop();
});

describe('every night, rows of PostgreSQL become files in S3', { timeout: 600_000 }, () => {
	const night = async () => {
		await texts.dayPasses();
		await storage.night(ID);
	};
	const rowOf = async (id: string) => (await texts.rows()).find((row) => row.id === id)!;
	const objectOf = async (key: string) => await fetch(`${s3.url}/${BUCKET}/${key}`);

	/** The row's file lies in the bucket where it says, and is the service's to the byte. */
	async function assertStored(row: Row): Promise<void> {
		assert.equal(row.error, null);
		const [, key] = new RegExp(`^s3://${BUCKET}/(.+)$`).exec(row.file) ?? [];
		const object = await objectOf(key!);
		assert.equal(object.headers.get('content-type'), 'audio/wav');
		const served = simulator.fileBytes(simulator.tasks.get(row.task_id)!.audioUrl!);
		assert.ok(served?.equals(Buffer.from(await object.arrayBuffer())), row.file);
	}

	async function assertAllStored(): Promise<void> {
		for (const row of await texts.rows()) await assertStored(row);
	}

	it('makes its table, and an empty night is a good one', async () => {
		await storage.night(ID);
		assert.deepEqual(await texts.rows(), []);
		assert.equal(paid(), 0);
	});

	it('stores a file for each row, whatever its title is', async () => {
		await texts.add(
			{ title: 'Good morning', text: 'One.' },
			{ title: '../News/2026: "ü\\b"? #1 & more', text: 'Two.' },
			{ text: 'Without a title.' },
		);
		await night();
		await assertAllStored();
		assert.match((await texts.rows())[1]!.file, /\/speech\/2--News-2026-ü-b-1-more\.wav$/);
		assert.equal(paid(), 3);
	});

	it('gives each row to one of two nights that overlap', async () => {
		await texts.add(...Array.from({ length: 8 }, (_, index) => ({ text: `Overlap ${index}.` })));
		const nights = await Promise.all([begin(ID), begin(ID)]);
		for (const id of nights) assert.equal((await waitForEnd(rest, id, NIGHT_MS)).status, 'success');
		await assertAllStored();
		assert.equal(paid(), 8);
	});

	it('passes over a row that another one holds at this moment', async () => {
		const [held, free] = await texts.add({ text: 'Held.' }, { text: 'Free.' });
		const other = await Texts.connect(postgres);
		try {
			await other.query('BEGIN');
			await other.query('SELECT FROM texts_to_speak WHERE id = $1 FOR UPDATE', held);
			await storage.night(ID);
			await assertStored(await rowOf(free));
			assert.equal((await rowOf(held)).claimed_by, null);
		} finally {
			await other.close();
		}
		await night();
		await assertAllStored();
		assert.equal(paid(), 2);
	});

	it('says why a row failed, and takes it up the next night, and no other', async () => {
		const [empty, failing] = await texts.add({ text: ' ' }, { text: '[sim:task-fails] Two.' });
		await night();
		assert.match((await rowOf(empty)).error, /'Text' is empty/);
		assert.match((await rowOf(failing)).error, /could not generate the speech/);
		assert.equal(paid(), 1);
		const mend = 'UPDATE texts_to_speak SET text = $2 WHERE id = $1';
		await texts.query(mend, empty, 'No more.');
		await texts.query(mend, failing, 'Speaks.');
		await night();
		await assertAllStored();
		assert.equal(paid(), 3);
	});

	it('never sends again by itself what the service may have accepted', async () => {
		simulator.fault({ method: 'POST', action: { reset: true, accepted: true } });
		const [id] = await texts.add({ text: 'Unclear.' });
		for (const _ of ['first night', 'second night']) {
			await night();
			assert.equal((await rowOf(id)).file, 'unclear');
		}
		assert.equal(paid(), 1);
		await texts.query('UPDATE texts_to_speak SET file = NULL WHERE id = $1', id);
		await night();
		await assertAllStored();
	});

	const badStores: Array<[string, (text: string) => string, RegExp]> = [
		[
			'a bucket that does not exist',
			(text) => text.replace(BUCKET, 'no.such'),
			/could not be found/,
		],
		['a wrong key', (text) => text.replace('storageAws', 'wrongAws'), /403|forbidden|signature/i],
	];
	for (const [what, change, reason] of badStores) {
		it(`keeps what was paid when there is ${what}, and stores it the next night`, async () => {
			const id = await importCopy(rest, 'nightly-postgres', change);
			const [row] = await texts.add({ text: `There is ${what}.` });
			await storage.night(id);
			const { task_id: taskId, file, error } = await rowOf(row);
			assert.ok(taskId);
			assert.equal(file, null);
			assert.match(error, reason);
			await night();
			await assertAllStored();
			assert.equal(paid(), 1);
		});
	}

	it('collects what a night that was cut short has paid for, once its claim has ended', async () => {
		await texts.add(...['A', 'B', 'C'].map((name) => ({ text: `${HELD} Cut ${name}.` })));
		await cutNight(ID, 'Cut', 3);
		await storage.night(ID);
		assert.equal((await texts.rows()).filter(({ file }) => file === null).length, 3);
		await night();
		await assertAllStored();
		assert.equal(paid(), 3);
	});

	describe('the feed of the week', () => {
		it('lists the files with their lengths and types, well-formed', async () => {
			await storage.night('exampleFeed');
			const feed = await objectOf('feed.xml');
			assert.equal(feed.headers.get('content-type'), 'application/rss+xml');
			const episodes = episodesOf(await feed.text());
			const rows = await texts.rows();
			assert.equal(episodes.length, rows.length);
			for (const { url, length, type } of episodes) {
				const object = await objectOf(url.replace('https://podcast.example.com/', ''));
				assert.equal(object.status, 200);
				assert.equal(object.headers.get('content-type'), type);
				assert.equal((await object.arrayBuffer()).byteLength, length);
			}
			const titles = new Set(episodes.map(({ title }) => title));
			assert.ok(
				titles.has('Good morning') && titles.has('News 2026 ü b 1 more'),
				[...titles].join(),
			);
		});

		it('is well-formed with no file at all, and with marks in its title', async () => {
			const id = await importCopy(rest, 'feed', (text) =>
				text.replace('speech/', 'nothing/').replace('Our week', 'R&D <week> \\u0007'),
			);
			await storage.night(id);
			assert.deepEqual(episodesOf(await (await objectOf('feed.xml')).text()), []);
		});
	});

	it('pays once for a text that is split, and not by itself for one that failed in part', async () => {
		const id = await importSplitting(rest, 'nightly-postgres');
		const text = 'First part. Other part.';
		simulator.fault({ method: 'POST', after: 3, action: { reset: true, accepted: true } });
		const [whole, half] = await texts.add({ text }, { text });
		for (const _ of ['they are sent', 'they are collected', 'nothing is left']) {
			await storage.night(id);
			await texts.dayPasses();
		}
		const { task_id: taskIds, file, error } = await rowOf(whole);
		assert.equal(error, null);
		assert.equal(taskIds.split(',').length, 2);
		const key = file.replace(`s3://${BUCKET}/`, '');
		assert.equal((await objectOf(key)).status, 200);
		assert.equal((await rowOf(half)).task_id, null);
		assert.equal((await rowOf(half)).file, 'unclear');
		assert.equal(paid(), 4);
	});

	it('ends before anything is paid when the table lacks a column', async () => {
		await texts.add({ text: 'Not to be paid.' });
		for (const column of ['error', 'task_id', 'file', 'claimed_by', 'text']) {
			await texts.query(`ALTER TABLE texts_to_speak RENAME ${column} TO other`);
			const said = await storage.badNight(ID);
			await texts.query(`ALTER TABLE texts_to_speak RENAME other TO ${column}`);
			assert.match(said, new RegExp(`column.*${column}.*does not exist`));
		}
		assert.equal(paid(), 0);
	});
});
