import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, afterEach, describe, it, test } from 'node:test';
import type { INodeExecutionData, INodePropertyOptions, INodeTypeDescription } from 'n8n-workflow';
import type { FaultRule } from '../../simulator/simulator.mts';
import { runManually } from '../../tools/n8n/executions.mts';
import { itemsOf, storedPath } from '../../tools/n8n/results.mts';
import { formsOf } from '../faults/canary.mts';
import { FakeService } from '../service/fakeService.mts';
import { schemaOf } from '../service/schemas.mts';
import { changedExample, example, filesWith, setUp } from './setting.mts';

/* The complete n8n, with the packed package as n8n's installer would have put it there. */

// Everything is logged: the token is searched for in it at the end.
const setting = await setUp({}, { N8N_LOG_LEVEL: 'debug' });
const { instance, simulator, rest, start, close, add, paid, written, lastTask, assertServed } =
	setting;
after(close);
await start();

afterEach(async () => {
	await simulator.waitFor(
		() => simulator.countOpenSockets() + simulator.countOpenConnections() === 0,
	);
	// A credential is tested where its Base URL says, be it the file server.
	const leaks = simulator.leaks.filter(({ path }) => path !== '/v1/video/me');
	assert.deepEqual(leaks, [], 'the token stays with the API');
});

const SPEECH = { address: 'audio_url', type: 'audio/wav' };

/** The file of an item, as n8n stored it and as it is on the disk, is the service's, byte for byte. */
function assertFile(
	{ json, binary }: INodeExecutionData,
	{ address, type }: typeof SPEECH,
	name = '',
) {
	const file = binary!.data!;
	assert.equal(file.mimeType, type);
	assertServed(json[address], readFileSync(storedPath(instance, file)));
	if (address === 'audio_url') assert.equal(file.fileName, `speech-${json.task_id}.wav`);
	if (name) assertServed(json[address], written(name));
}

test('one text becomes one audio file', async () => {
	const { id, nodeName } = example('speak');
	const [item, ...others] = itemsOf(await runManually(rest, id), nodeName);
	assert.deepEqual([item!.json.status, item!.pairedItem, others], ['completed', { item: 0 }, []]);
	assertFile(item!, SPEECH);
	assert.equal(paid(), 1);
});

/** A WAV file holds the samples of these tasks' files: all in front of the simulator's are 44 bytes. */
function assertJoined(file: Buffer, taskIds: unknown) {
	const tasks = (taskIds as string[]).map((id) => simulator.tasks.get(id)!);
	const samples = tasks.map(({ audioUrl }) => simulator.fileBytes(audioUrl!)!.subarray(44));
	assert.ok(Buffer.concat(samples).equals(file.subarray(44)));
	return tasks;
}

test('a dialogue becomes one file with subtitles, each line in its voice', async () => {
	const run = await runManually(rest, example('dialogue').id);
	const [item, ...others] = itemsOf(run, 'Collect the dialogue');
	assert.deepEqual(others, []);
	const [first] = item!.json.task_ids as string[];
	const tasks = assertJoined(written(`dialogue-${first}.wav`), item!.json.task_ids);
	const [one, two] = simulator.voiceIds();
	const said = tasks.map(({ input, voiceId }) => `${input.split(' ')[0]} ${voiceId}`);
	assert.deepEqual(said, [`Good ${one}`, `It ${two}`, `Then ${one}`]);
	assert.match(written(`dialogue-${first}.srt`).toString(), /^3$/m);
});

test('a failed row stops no other, and is all that is paid for once it is repaired', async () => {
	const workflow = changedExample('speak-sheet', (node) => {
		// While it is active, n8n offers it before the one by hand.
		node('Repaired rows').disabled = false;
	});
	const remote = await add(workflow);
	await assert.rejects(remote.run(), /The first reason: 'Text' is empty/);
	const rows = { greeting: 'Thank you for calling.', hold: 'Please stay on the line.' };
	for (const [title, text] of Object.entries(rows)) {
		const task = [...simulator.tasks.values()].find(({ input }) => input === text)!;
		assertServed(task.audioUrl, written(`${title}.wav`));
	}
	assert.equal(paid(), 2, 'one paid create call per row that can be sent');

	const list = written('failed-rows.csv').toString();
	assert.match(list, /\btitle\b.*\berror\b/);
	assert.match(list, /^closing,,.*'Text' is empty/m);
	await remote.publish();
	const form = new FormData();
	const repaired = list.replace('closing,,', 'closing,Goodbye.,');
	form.append('field-0', new Blob([repaired], { type: 'text/csv' }), 'failed-rows.csv');
	const { webhookId } = workflow.nodes.find(({ name }) => name === 'Repaired rows')!;
	await fetch(`${instance.baseUrl}/form/${webhookId}`, { method: 'POST', body: form });
	const [last] = await remote.ended(2);
	assert.equal(last!.status, 'success');
	assert.equal(paid(), 3);
	assertServed(lastTask().audioUrl, written('closing.wav'));
});

test("a feed's newest article becomes one file on the disk, spoken in parts", async () => {
	const article = (title: string, day: number, words: number) =>
		`<item><title>${title}</title><pubDate>${day} Nov 2026 08:00:00 GMT</pubDate><content:encoded><![CDATA[<p>${`Boats are in the <b>harbour</b> & wait. `.repeat(words)}</p>]]></content:encoded></item>`;
	const feed = `<?xml version="1.0"?><rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel><title>News</title>${article('Old', 1, 3)}${article('New', 2, 100)}${article('Older', 1, 3)}</channel></rss>`;
	const server = await FakeService.start((_, response) => {
		response.setHeader('Content-Type', 'application/rss+xml').end(feed);
	});
	after(() => server.stop());
	const workflow = changedExample('narrate-feed', (node) => {
		node('Read the feed').parameters.url = `${server.url}/`;
	});
	const run = await (await add(workflow)).run();
	const [item, ...others] = itemsOf(run, example('narrate-feed').nodeName);
	assert.deepEqual(others, []);
	assert.equal(paid(), 2);
	const file = written(String(item!.binary!.data!.fileName));
	const texts = assertJoined(file, item!.json.task_ids).map(({ input }) => input);
	const line = 'Boats are in the harbour & wait.';
	assert.equal(texts.join(' '), `New\n\n${Array.from({ length: 100 }, () => line).join(' ')}`);
});

test('prompts become images, and those become videos, on the disk', async () => {
	const run = await runManually(rest, example('images-and-videos').id);
	for (const [name, type] of [
		['Generate images', 'image/png'],
		['Generate videos', 'video/mp4'],
	] as const) {
		const items = itemsOf(run, name);
		assert.equal(items.length, 2);
		for (const item of items) {
			assertFile(item, { address: 'file_url', type }, item.binary!.data!.fileName);
		}
	}
	assert.equal(paid(), 4);
});

describe('failures of a service that says the token in its answers', () => {
	const { token } = simulator;
	const error = `not with ${token}, nor with ${encodeURIComponent(token)}`;
	const refuse = (status: number) => ({ respond: { status, body: { error } } });
	const sse = [`event: error\ndata: ${JSON.stringify({ error })}\n\n`, 'END'];
	const cases: Array<[name: string, fault: FaultRule, message: RegExp]> = [
		['speak', { method: 'POST', action: refuse(401) }, /refused the API token/],
		['speak', { on: 'file', action: refuse(410) }, /could not be downloaded/],
		['images-and-videos', { method: 'POST', action: refuse(500) }, /not available/],
		['images-and-videos', { method: 'POST', action: { sse } }, /could not generate/],
	];
	for (const [name, fault, message] of cases) {
		it(`${name}: ${message.source}`, async () => {
			simulator.fault(fault);
			await assert.rejects(runManually(rest, example(name).id), ({ message: said }: Error) => {
				assert.match(said, message);
				assert.match(said, /not with \*+, nor with \*+/);
				return true;
			});
			simulator.clearFaults();
		});
	}
});

describe('n8n knows the node, and the test button speaks plainly', async () => {
	const nodes: INodeTypeDescription[] = await rest.request('GET', '/types/nodes.json');
	const typeOf = (type: string) =>
		nodes.find(({ name }) => name === `n8n-nodes-media-generation.${type}`)!;

	it('what each operation, and the trigger, puts out is served beforehand', async () => {
		const assertServes = async (type: string, folder: string, ...operation: string[]) => {
			const { name, version } = typeOf(type);
			const path = [name, `${String(version)}.0.0`, ...operation].join('/');
			const schema = JSON.parse(await rest.text('GET', `/schemas/${path}.json`));
			assert.deepEqual(schema, schemaOf(folder, ...operation), operation.join());
		};
		for (const { name, displayOptions, options = [] } of typeOf('mediaGeneration').properties) {
			for (const { value } of (name === 'operation' ? options : []) as INodePropertyOptions[]) {
				const resource = String(displayOptions!.show!.resource![0]);
				await assertServes('mediaGeneration', 'MediaGeneration', resource, String(value));
			}
		}
		await assertServes('mediaGenerationTrigger', 'MediaGenerationTrigger');
	});

	const { token: apiToken, baseUrl, fileOrigin } = simulator;
	const notThis = /not come from a media generation service.*Base URL/;
	const cases: Array<[name: string, changed: object, status: string, message: RegExp]> = [
		['right', {}, 'OK', /accepts/],
		['wrong token', { apiToken: 'wrong-token' }, 'Error', /API token/],
		[
			'nobody there',
			{ baseUrl: 'http://127.0.0.1:1' },
			'Error',
			/refused the connection.*Base URL/,
		],
		['not this service', { baseUrl: fileOrigin }, 'Error', notThis],
	];
	for (const [name, changed, status, message] of cases) {
		it(`credential test: ${name}`, async () => {
			const data = { apiToken, baseUrl, ...changed };
			const credentials = { id: '', name: 'Tested', type: 'mediaGenerationApi', data };
			const result = await rest.request('POST', '/rest/credentials/test', { credentials });
			assert.equal(result.status, status);
			assert.match(result.message, message);
			assert.ok(!result.message.includes(apiToken));
		});
	}
});

test('the token is nowhere: not in the database, not in a log, not in a file', async () => {
	await instance.stop();
	const [voice] = simulator.voiceIds() as [string];
	const withVoice = filesWith(voice, instance.folder);
	assert.ok(
		withVoice.some((path) => path.includes('database.sqlite')),
		'the search finds what is there',
	);
	const log = readFileSync(instance.logFile, 'utf8');
	assert.match(log, /Media Generation, row 1: sending the text/, 'the log holds every step');
	for (const form of formsOf(simulator.token)) {
		assert.deepEqual(filesWith(form, instance.folder), []);
	}
});
