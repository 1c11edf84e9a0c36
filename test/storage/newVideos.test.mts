import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { HistoryItem } from '../../simulator/simulator.mts';
import { eventually } from '../../tools/eventually.mts';
import { retry } from '../../tools/n8n/executions.mts';
import { startS3 } from '../../tools/servers/s3.mts';
import { RemoteWorkflow, type Execution } from '../n8n/workflows.mts';
import { order } from '../service/order.mts';
import { FakeService } from '../service/fakeService.mts';
import { importCopy, setUp, NIGHT_MS } from './setting.mts';

/* examples/videos-to-s3.json, with an S3 server that is not always there. */

const BUCKET = 'my.videos';
/** How often the node that stores tries, and the one that fetches a file again. */
const TRIES = 5;

const s3 = await startS3(BUCKET);
const gate = await FakeService.inFrontOf(s3.url);
let refused = 0;
/** From now on this many requests to the bucket are refused, and no others. */
function refuse(times: number): void {
	refused = 0;
	gate.forget();
	gate.on(
		/./,
		(request, response) => {
			refused++;
			request.resume();
			response.writeHead(503).end();
		},
		times,
	);
}
const data = { ...s3.credential, s3Endpoint: gate.url };
const { simulator, rest, powerCut, close } = await setUp([
	{ id: 'storageAws', name: 'Any', type: 'aws', data },
]);
after(async () => {
	await close();
	await gate.stop();
	await s3.stop();
});
const often = await importCopy(rest, 'videos-to-s3', (text) =>
	text.replace('"download":true', '"download":true,"checkInterval":10'),
);
const workflow = new RemoteWorkflow(rest, often);

describe('every new video of the account goes to S3', { timeout: 600_000 }, () => {
	before(async () => {
		await make('text-to-video', 'Made before');
		await workflow.publish();
	});

	/** Somebody makes something with the service, without n8n. */
	async function make(
		what: 'text-to-video' | 'create-image',
		prompt: string,
	): Promise<HistoryItem> {
		await order(simulator, `video/${what}`, { prompt });
		return simulator.history.find((item) => item.prompt === prompt)!;
	}

	const objectOf = async ({ id }: HistoryItem) =>
		await fetch(`${s3.url}/${BUCKET}/videos/${id}.mp4`);

	/** It lies in the bucket, and is the service's, byte for byte. */
	async function assertStored(video: HistoryItem): Promise<void> {
		const object = await objectOf(video);
		assert.equal(object.headers.get('content-type'), 'video/mp4');
		const served = simulator.fileBytes(video.file_url);
		assert.ok(served?.equals(Buffer.from(await object.arrayBuffer())), video.prompt);
	}

	let seen = 0;
	/** The next `count` executions, once they are over; the newest first. */
	async function nextExecutions(count: number): Promise<Execution[]> {
		seen += count;
		const all = await workflow.ended(seen, NIGHT_MS);
		assert.equal(all.length, seen);
		return all.sort((a, b) => Number(b.id) - Number(a.id)).slice(0, count);
	}

	/** "Retry with currently saved workflow" of the list of executions. */
	async function retryByHand({ id }: Execution): Promise<void> {
		assert.equal((await retry(rest, id, true)).status, 'success');
		await nextExecutions(1);
	}

	it('each by itself, and no image', async () => {
		const videos = [];
		for (const prompt of ['One', 'Two', 'Three']) videos.push(await make('text-to-video', prompt));
		await make('create-image', 'A picture');
		const executions = await nextExecutions(4);
		assert.ok(executions.every(({ status }) => status === 'success'));
		for (const video of videos) await assertStored(video);
		const list = await (await fetch(`${s3.url}/${BUCKET}?list-type=2`)).text();
		assert.equal(list.match(/<Key>/g)?.length, videos.length);
	});

	it('also one that the bucket refuses at first', async () => {
		refuse(2);
		const video = await make('text-to-video', 'Refused at first');
		const [execution] = await nextExecutions(1);
		assert.equal(execution!.status, 'success');
		assert.equal(refused, 2);
		await assertStored(video);
	});

	it('also one that came while the bucket was away for long, by a retry', async () => {
		refuse(Infinity);
		const video = await make('text-to-video', 'While it was away');
		const [execution] = await nextExecutions(1);
		assert.equal(execution!.status, 'error');
		assert.equal(refused, TRIES);
		assert.equal((await objectOf(video)).status, 404);
		refuse(0);
		const paid = simulator.creates;
		await retryByHand(execution!);
		await assertStored(video);
		assert.equal(simulator.creates, paid);
	});

	it('also one for which the bucket was not there, once the node names another', async () => {
		const nameBucket = async (from: string, to: string) => {
			const path = `/rest/workflows/${workflow.id}`;
			const { name, nodes, connections, settings } = await rest.request('GET', path);
			const changed = JSON.parse(JSON.stringify(nodes).replace(from, to));
			await rest.request('PATCH', path, { name, nodes: changed, connections, settings });
			await workflow.publish();
		};
		await nameBucket(BUCKET, 'no.such');
		const video = await make('text-to-video', 'Without a bucket');
		const [execution] = await nextExecutions(1);
		assert.equal(execution!.status, 'error');
		await nameBucket('no.such', BUCKET);
		await retryByHand(execution!);
		await assertStored(video);
	});

	it('also one that could not be downloaded at first', async () => {
		// The trigger's request, and the first one of the node behind it.
		simulator.fault({ on: 'file', times: 2, action: { respond: { status: 410 } } });
		const video = await make('text-to-video', 'Not to be had');
		const [execution] = await nextExecutions(1);
		assert.equal(execution!.status, 'success');
		await assertStored(video);
	});

	it('also one that could not be downloaded for long, by a retry', async () => {
		simulator.fault({ on: 'file', times: 1 + TRIES, action: { respond: { status: 410 } } });
		const video = await make('text-to-video', 'Not to be had for long');
		const [execution] = await nextExecutions(1);
		assert.equal(execution!.status, 'error');
		await retryByHand(execution!);
		await assertStored(video);
	});

	it('also one whose execution a power cut has ended, by a retry', async () => {
		refuse(Infinity);
		const video = await make('text-to-video', 'In the dark');
		await eventually('the bucket to be tried', NIGHT_MS, () => refused > 0);
		await powerCut();
		refuse(0);
		const [execution] = await nextExecutions(1);
		assert.equal(execution!.status, 'crashed');
		await retryByHand(execution!);
		await assertStored(video);
	});
});
