import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../../tools/eventually.mts';
import { activate, retryExecution } from '../../tools/n8n/executions.mts';
import { programPath } from '../../tools/servers/serve.mts';
import { example, HELD } from '../n8n/setting.mts';
import type { Execution, RemoteWorkflow } from '../n8n/workflows.mts';
import type { Handler } from '../service/fakeService.mts';
import { order } from '../service/order.mts';
import { openDataTable } from './dataTable.mts';
import { NIGHT_MS, setUp } from './setting.mts';
import { openTexts } from './texts.mts';

/* The examples that store files, with the servers on which they store them. */

const setting = await setUp();
const { simulator, rest, paid, s3, bucket, begin, ended, powerCut, fileAt, addCopy } = setting;
after(setting.close);

const night = async (id: string) => assert.equal(await ended(await begin(id)), '');

/** The file of a task or address that the service made lies there, as it is served. */
async function assertStored(made: string, path: string): Promise<void> {
	setting.assertServed(simulator.tasks.get(made)?.audioUrl ?? made, await fileAt(path));
}

type DataTable = Awaited<ReturnType<typeof openDataTable>>;
type Texts = Awaited<ReturnType<typeof openTexts>>;

const THREE_HELD = ['A', 'B', 'C'].map((part) => `${HELD} Part ${part}.`);

interface Recipe {
	openTable(): Promise<DataTable | Texts>;
	/** Where files go, and a change to the workflow by which there is no such place. */
	path: string;
	noPlace: [from: string, to: string];
}

/** The examples that, every night, make what their table's new rows say. */
const RECIPES: Record<string, Recipe> = {
	'nightly-table': {
		openTable: () => openDataTable(rest, 'texts_to_speak'),
		path: '.n8n-files/',
		noPlace: ['"=.n8n-files/', '"=.n8n-files/nowhere/'],
	},
	'nightly-postgres': {
		openTable: () => openTexts(setting.postgres),
		path: 's3://voice.nightly/speech/',
		noPlace: ['voice.nightly', 'no.such'],
	},
	'videos-sftp': {
		openTable: () => openDataTable(rest, 'videos_to_make'),
		path: 'videos/',
		noPlace: ['"=videos/', '"=nowhere/'],
	},
};

for (const [name, recipe] of Object.entries(RECIPES)) {
	describe(`every night: ${name}`, { timeout: 900_000 }, () => nightly(name, recipe));
}

function nightly(name: string, { openTable, path, noPlace }: Recipe) {
	const { id } = example(name);
	const isSpeech = name.startsWith('nightly');
	/** The columns of what is to be made and of what the service calls it; and how its files end. */
	const [input, made, extension] = isSpeech
		? ['text', 'task_id', 'wav']
		: ['prompt', 'file_url', 'mp4'];
	let table: DataTable | Texts;
	const dayPasses = async () => await ('dayPasses' in table && table.dayPasses());
	after(async () => await ('close' in table && table.close()));
	const nextNight = async (workflow = id) => {
		await dayPasses();
		await night(workflow);
	};
	const rowOf = async (row: unknown) => (await table.rows()).find((each) => each.id === row)!;
	const add = async (...texts: string[]) =>
		await table.add(...texts.map((text) => ({ [input]: text })));

	/** Every row's file lies where it says, and is the service's, byte for byte. */
	async function assertAllStored(): Promise<void> {
		for (const row of await table.rows()) {
			assert.equal(row.error, null);
			await assertStored(row[made], row.file);
		}
	}

	it('makes its table, and an empty night is a good one', async () => {
		await night(id);
		table = await openTable();
		assert.deepEqual(await table.rows(), []);
		assert.equal(paid(), 0);
	});

	it('stores a file for each row, whatever its title is', async () => {
		await table.add({ title: '../Sea/2026: "ü\\b"? #1', [input]: 'The sea.' });
		await add(...Array.from({ length: 6 }, (_, index) => `A boat, number ${index}.`));
		await nextNight();
		await assertAllStored();
		const [first, second] = await table.rows();
		assert.equal(first!.file, `${path}${first!.id}--Sea-2026-ü-b-1.${extension}`);
		assert.equal(second!.file, `${path}${second!.id}-untitled.${extension}`);
		assert.equal(paid(), 7);
	});

	it('says why a row failed, and takes it up the next night, and no other', async () => {
		const fails = isSpeech ? '[sim:task-fails] Two.' : '[sim:unsafe] Two.';
		const [empty, failing] = await add('', fails);
		await nextNight();
		assert.match((await rowOf(empty)).error, /is empty/);
		assert.match((await rowOf(failing)).error, /could not generate/);
		assert.equal(paid(), 1);
		await table.change(empty, { [input]: 'No more.' });
		await table.change(failing, { [input]: 'Works.' });
		await nextNight();
		await assertAllStored();
		assert.equal(paid(), 3);
	});

	it('keeps what found no place, and stores it the next night', async () => {
		const [row] = await add('No place.');
		const workflow = await addCopy(name, ...noPlace);
		for (let nights = 0; nights < 2; nights++) await nextNight(workflow.id);
		const { file, error, [made]: kept } = await rowOf(row);
		assert.ok(kept && error);
		assert.equal(file, null);
		await nextNight();
		await assertAllStored();
		assert.equal(paid(), 1);
	});

	it('ends before anything is paid when the table lacks a column', async () => {
		await add('Not to be paid yet.');
		for (const missing of ['file', 'error', made]) {
			await dayPasses();
			await table.rename(missing, 'other');
			assert.match(await ended(await begin(id)), /column/i);
			await table.rename('other', missing);
		}
		assert.equal(paid(), 0);
		await nextNight();
		await assertAllStored();
	});

	it('pays once for each row when a night begins while another is at work', async () => {
		await add(...Array.from({ length: 8 }, (_, index) => `Overlap ${index}.`));
		const first = await begin(id);
		await simulator.waitFor(() => paid() > 1, NIGHT_MS);
		await dayPasses();
		for (const execution of [await begin(id), first]) assert.equal(await ended(execution), '');
		await nextNight();
		await assertAllStored();
		assert.equal(paid(), 8);
	});

	it('collects what a night cut short has paid for, and says what may be paid had begun', async () => {
		const held = isSpeech ? THREE_HELD : [];
		const known = simulator.tasks.size;
		const cut = () => [...simulator.tasks.values()].slice(known, known + held.length);
		await add(...held);
		await begin(id);
		const collecting = () => cut().filter(({ readCount: reads }) => reads > 0);
		await simulator.waitFor(() => collecting().length === held.length, NIGHT_MS);
		simulator.fault({ method: 'POST', action: { hang: true, accepted: true } });
		const [row] = await add('Right then.');
		await begin(id);
		await simulator.waitFor(() => paid() > held.length, NIGHT_MS);
		await powerCut();
		for (const task of cut()) simulator.endTask(task.id);
		await nextNight();
		assert.equal((await rowOf(row)).file, 'begun');
		assert.equal(paid(), held.length + 1);
		await table.change(row, { file: null });
		await nextNight();
		await assertAllStored();
	});

	if (!isSpeech) return;

	it('never sends again by itself what the service may have accepted', async () => {
		simulator.fault({ method: 'POST', action: { reset: true, accepted: true } });
		const [row] = await add('Unclear.');
		for (let nights = 0; nights < 2; nights++) {
			await nextNight();
			assert.equal((await rowOf(row)).file, 'unclear');
		}
		assert.equal(paid(), 1);
		await table.change(row, { file: null });
		await nextNight();
		await assertAllStored();
	});

	it('pays once for a text that is split, and not by itself for one that failed in part', async () => {
		const parted = '"options":{"splitLongerThan":12}';
		const workflow = await addCopy(name, '"options":{}', parted);
		simulator.fault({ method: 'POST', after: 3, action: { reset: true, accepted: true } });
		const [whole, half] = await add(...Array<string>(2).fill('First part. Other part.'));
		for (let nights = 0; nights < 3; nights++) await nextNight(workflow.id);
		const { task_id: taskIds, file, error } = await rowOf(whole);
		assert.equal(error, null);
		assert.equal(taskIds.split(',').length, 2);
		assert.ok((await fileAt(file)).length > 44);
		const failed = await rowOf(half);
		assert.deepEqual([failed.task_id, failed.file], [null, 'unclear']);
		assert.equal(paid(), 4);
	});
}

it('the feed of the week lists the files with their lengths and types, well-formed', async () => {
	await night('exampleFeed');
	const feed = String(await fileAt('s3://voice.nightly/feed.xml'));
	execFileSync(programPath('xmllint'), ['--nonet', '--noout', '-'], { input: feed });
	assert.match(feed, /<rss version="2.0".*<channel>.*<title>.*<link>.*<description>.*<item>/s);
	const items = feed.match(/<item>.*?<\/item>/gs) ?? [];
	assert.ok(items.length > 7, feed);
	for (const item of items) {
		const [, title] = /<title>(.*?)<\/title>/.exec(item)!;
		const [, key, length] =
			/<enclosure url="https:\/\/podcast.example.com\/(.*?)" length="(\d+)" type="audio\/wav"/.exec(
				item,
			)!;
		assert.ok(decodeURI(key!).includes(title!.replaceAll(' ', '-')), key);
		assert.equal(Number(length), (await fileAt(`s3://voice.nightly/${key}`)).length);
	}
});

describe('failed-again: what failed executions have paid for', { timeout: 600_000 }, () => {
	const id = 'exampleFailedAgain';
	let table: DataTable;

	/** Runs speak-sheet with these texts, as a webhook does; this workflow is its error workflow. */
	async function speakInVain(texts: readonly string[], splitLongerThan = 0): Promise<void> {
		const speak = await setting.addOnCall('speak-sheet', (node, settings) => {
			const rows = JSON.stringify(texts.map((text) => ({ text })));
			node('Sample rows').parameters.assignments.assignments[0].value = rows;
			const row = node('Convert each row');
			delete row.onError;
			Object.assign(row.parameters.options, { timeout: 3, splitLongerThan });
			settings.errorWorkflow = id;
		});
		await speak();
	}

	/** The ids of the rows after the first `before`, once there are so many. */
	const noted = async (before: number, count: number): Promise<string[]> =>
		await eventually('the tasks to be noted', NIGHT_MS, async () => {
			const rows = (await table.rows()).slice(before);
			return rows.length === count && rows.map((row) => row.task_id).sort();
		});

	before(async () => {
		await night(id);
		table = await openDataTable(rest, 'tasks_to_collect');
		await activate(rest, id);
	});

	for (const [what, texts, splitLongerThan] of [
		['of several items', THREE_HELD, 0],
		['of every part of a text', [THREE_HELD.join(' ')], 30],
	] as const) {
		it(`collects the tasks ${what}, and pays for nothing`, async () => {
			const [rowsBefore, tasksBefore] = [(await table.rows()).length, simulator.tasks.size];
			await speakInVain(texts, splitLongerThan);
			const ids = await noted(rowsBefore, 3);
			assert.deepEqual(ids, [...simulator.tasks.keys()].slice(tasksBefore).sort());
			for (const task of ids) simulator.endTask(task);
			await night(id);
			for (const { task_id: task, file, error } of (await table.rows()).slice(rowsBefore)) {
				assert.equal(error, null);
				await assertStored(task, file);
			}
			assert.equal(paid(), 3);
		});
	}

	it('tries again what is not there yet, and gives up what the service could not make', async () => {
		const before = (await table.rows()).length;
		await speakInVain(['[sim:task-fails] Never.']);
		const [failed] = await noted(before, 1);
		await table.add({ task_id: '404404' });
		await night(id);
		const { readCount: reads } = simulator.tasks.get(failed!)!;
		await night(id);
		assert.equal(simulator.tasks.get(failed!)!.readCount, reads);
		const [given, unknown] = (await table.rows()).slice(before);
		assert.equal(given!.file, 'failed');
		assert.match(given!.error, /could not generate the speech/);
		assert.equal(unknown!.file, null);
		assert.match(unknown!.error, /has no task with this ID/);
	});
});

describe('videos-to-s3: every new video of the account', { timeout: 600_000 }, () => {
	/** How often the node that stores tries, and the one that fetches a file again. */
	const TRIES = 5;
	let workflow: RemoteWorkflow;
	let refused = 0;
	/** From now on this many requests to the bucket are refused, and no others. */
	function refuse(times: number): void {
		refused = 0;
		const handle: Handler = (request, response) => {
			refused++;
			request.resume();
			response.writeHead(503).end();
		};
		bucket.clearRules();
		bucket.on(/./, handle, times);
	}
	const gone = (times: number) =>
		simulator.fault({ on: 'file', times, action: { respond: { status: 410 } } });
	const make = async (what: 'text-to-video' | 'create-image', prompt: string) => {
		await order(simulator, `video/${what}`, { prompt });
		return simulator.history.find((item) => item.prompt === prompt)!;
	};

	before(async () => {
		const often = '"download":true,"options":{"checkInterval":10}';
		workflow = await addCopy('videos-to-s3', '"download":true,"options":{}', often);
		await make('text-to-video', 'Made before');
		await workflow.publish();
	});

	let seen = 0;
	/** The newest of the executions, once so many more are over. */
	async function nextExecution(count = 1): Promise<Execution> {
		seen += count;
		const all = await workflow.ended(seen, NIGHT_MS);
		assert.equal(all.length, seen);
		return all.sort((a, b) => Number(b.id) - Number(a.id))[0]!;
	}

	for (const [what, hinder, status] of [
		['goes to S3, and no image', () => make('create-image', 'A picture'), 'success'],
		['goes there when the bucket refuses at first', () => refuse(2), 'success'],
		// The trigger's request, and the first one of the node behind it.
		['goes there when it could not be downloaded at first', () => gone(2), 'success'],
		['goes there by a retry when the bucket is away for long', () => refuse(Infinity), 'error'],
		['goes there by a retry when it could not be downloaded', () => gone(1 + TRIES), 'error'],
		['goes there by a retry after a power cut', () => refuse(Infinity), 'crashed'],
	] as const) {
		it(what, async () => {
			const isImage = Boolean(await hinder());
			const video = await make('text-to-video', what);
			if (status === 'crashed') {
				await eventually('the bucket to be tried', NIGHT_MS, () => refused > 0);
				await powerCut();
			}
			const execution = await nextExecution(isImage ? 2 : 1);
			assert.equal(execution.status, status);
			refuse(0);
			const paidSoFar = simulator.chargedCalls;
			if (status !== 'success') {
				assert.equal((await retryExecution(rest, execution.id, true)).status, 'success');
				await nextExecution();
			}
			await assertStored(video.file_url, `s3://my.videos/videos/${video.id}.mp4`);
			const list = await (await fetch(`${s3.url}/my.videos?list-type=2`)).text();
			assert.doesNotMatch(list, /\.png/);
			assert.equal(simulator.chargedCalls, paidSoFar);
		});
	}
});
