import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { INodeExecutionData, INodePropertyOptions, INodeTypeDescription } from 'n8n-workflow';
import type { FaultRule } from '../../simulator/simulator.mts';
import { execute, type Execution } from '../../tools/n8n/executions.mts';
import { itemsOf, storedAt } from '../../tools/n8n/results.mts';
import { formsOf } from '../faults/canary.mts';
import { FakeService } from '../service/fakeService.mts';
import { schemaOf } from '../service/schemas.mts';
import { changedExample, example, filesWith, setUp } from './setting.mts';
import { RemoteWorkflow } from './workflows.mts';

/* The complete n8n, with the packed package as n8n's installer would have put it there. */

// Everything is logged: the token is searched for in it at the end.
const { instance, simulator, rest, start, close } = await setUp({}, { N8N_LOG_LEVEL: 'debug' });
after(close);
await start();

/** Runs an example, and checks what holds for each of them. */
async function runExample(name: string, outputs: number): Promise<INodeExecutionData[]> {
	const { id, nodeName } = example(name);
	const paidBefore = simulator.creates;
	const run = await execute(rest, id);
	const items = itemsOf(run, nodeName);
	assert.equal(run.status, 'success');
	assert.equal(items.length, outputs);
	assert.equal(simulator.creates - paidBefore, outputs, 'one paid create call per item');
	assert.deepEqual(
		items.map(({ pairedItem }) => pairedItem),
		items.map((_, item) => ({ item })),
	);
	await assertClosedAndSecret(run);
	return items;
}

/** Sockets and requests are closed. */
async function assertClosedAndSecret(run: Execution): Promise<void> {
	await simulator.waitFor(() => simulator.sockets() + simulator.openConnections() === 0);
	assert.deepEqual(simulator.leaks, [], 'the token stays with the API');
	assert.ok(!JSON.stringify(run).includes(simulator.token), 'no token in the run data');
}

/** The file of an item, as n8n stored it, is the service's, byte for byte. */
function assertSameFile({ json, binary }: INodeExecutionData, address: string, type: RegExp): void {
	const file = binary?.data;
	assert.ok(file, 'there is a file in the field "data"');
	assert.match(file.mimeType, type);
	const stored = readFileSync(storedAt(instance, file));
	const served = simulator.fileBytes(String(json[address]));
	assert.ok(served?.equals(stored), `${file.fileName} is the file behind ${json[address]}`);
}

function assertSpeech(item: INodeExecutionData): void {
	assert.equal(typeof item.json.task_id, 'string');
	assert.equal(item.json.status, 'completed');
	assert.equal(item.binary?.data?.fileName, `speech-${item.json.task_id}.wav`);
	assertSameFile(item, 'audio_url', /^audio\/wav$/);
}

test('one text becomes one speech file', async () => {
	(await runExample('speak', 1)).forEach(assertSpeech);
});

test('a dialogue becomes one file with subtitles, each line in its voice', async () => {
	const run = await execute(rest, example('dialogue').id);
	const [item, ...others] = itemsOf(run, 'Collect the dialogue');
	assert.deepEqual(others, []);
	const tasks = (item!.json.task_ids as string[]).map((id) => simulator.tasks.get(id)!);
	assert.deepEqual(
		tasks.map(({ input }) => input.split(' ')[0]),
		['Good', 'It', 'Then'],
	);
	const [first, second] = simulator.voiceIds();
	assert.deepEqual(
		tasks.map(({ voiceId }) => voiceId),
		[first, second, first],
	);
	const written = (ending: string) =>
		readFileSync(join(instance.files, `dialogue-${tasks[0]!.id}.${ending}`));
	// All that a WAV file of the simulator's has in front of its samples are 44 bytes.
	const samples = tasks.map(({ audioUrl }) => simulator.fileBytes(audioUrl!)!.subarray(44));
	assert.ok(Buffer.concat(samples).equals(written('wav').subarray(44)));
	assert.match(written('srt').toString(), /^3$/m);
	await assertClosedAndSecret(run);
});

test('the rows of a spreadsheet become stored speech, named by their row', async () => {
	const items = await runExample('speak-sheet', 2);
	items.forEach(assertSpeech);
	for (const [index, title] of ['greeting', 'hold'].entries()) {
		const written = readFileSync(join(instance.files, `${title}.wav`));
		const served = simulator.fileBytes(String(items[index]?.json.audio_url));
		assert.ok(served?.equals(written));
	}
});

test('bad rows do not stop a spreadsheet, and end as a list with their columns', async () => {
	const rows = [
		{ title: 'welcome', text: 'Thank you.' },
		{ title: 'forgotten' },
		{ title: 'wait', text: 'Wait.' },
	];
	const workflow = changedExample('speak-sheet', (node) => {
		node('Rows').parameters.assignments.assignments[0].value = JSON.stringify(rows);
	});
	const paidBefore = simulator.creates;
	const { id } = await RemoteWorkflow.create(rest, workflow);
	await assert.rejects(execute(rest, id), /Not all rows were spoken: 'Text' is empty/);
	assert.equal(simulator.creates - paidBefore, 2);
	for (const title of ['welcome', 'wait']) {
		assert.ok(readFileSync(join(instance.files, `${title}.wav`)).length > 1000);
	}
	const list = readFileSync(join(instance.files, 'bad-rows.csv'), 'utf8');
	assert.match(list, /\btitle\b.*\berror\b/);
	assert.match(list, /^forgotten,.*'Text' is empty/m);
});

test("a feed's newest article becomes one file on the disk, spoken in parts", async () => {
	const article = (title: string, day: number, words: number) =>
		`<item><title>${title}</title><pubDate>${day} Nov 2026 08:00:00 GMT</pubDate><content:encoded><![CDATA[<p>${`Boats are in the <b>harbour</b> & wait. `.repeat(words)}</p>]]></content:encoded></item>`;
	const feed = `<?xml version="1.0"?><rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel><title>News</title>${article('Old', 1, 3)}${article('New', 2, 100)}${article('Older', 1, 3)}</channel></rss>`;
	const server = await FakeService.start((_, response) => {
		response.setHeader('Content-Type', 'application/rss+xml').end(feed);
	});
	try {
		const workflow = changedExample('narrate-feed', (node) => {
			node('Read the feed').parameters.url = `${server.url}/`;
		});
		const paidBefore = simulator.creates;
		const run = await execute(rest, (await RemoteWorkflow.create(rest, workflow)).id);
		const [item, ...others] = itemsOf(run, example('narrate-feed').nodeName);
		assert.ok(item);
		assert.deepEqual(others, []);
		assert.equal(item.json.parts, 2);
		assert.equal(simulator.creates - paidBefore, 2);
		const texts = (item.json.task_ids as string[]).map((id) => simulator.tasks.get(id)!.input);
		const line = 'Boats are in the harbour & wait.';
		assert.equal(texts.join(' '), `New\n\n${Array.from({ length: 100 }, () => line).join(' ')}`);
		const written = readFileSync(join(instance.files, String(item.binary?.data?.fileName)));
		const parts = (item.json.audio_urls as string[]).map((url) => simulator.fileBytes(url)!);
		const samples = parts.map((part) => part.subarray(44));
		assert.ok(Buffer.concat(samples).equals(written.subarray(44)));
		await assertClosedAndSecret(run);
	} finally {
		await server.stop();
	}
});

test('prompts become images, and those become videos, on the disk', async () => {
	const paidBefore = simulator.creates;
	const run = await execute(rest, example('images-and-videos').id);
	for (const [name, type] of [
		['Make the images', /^image\/png$/],
		['Make the videos', /^video\/mp4$/],
	] as const) {
		const items = itemsOf(run, name);
		assert.equal(items.length, 2);
		for (const item of items) assertWritten(item, type);
	}
	assert.equal(simulator.creates - paidBefore, 4);
	await assertClosedAndSecret(run);
});

/** The item's file, in n8n and on the disk, is the service's. */
function assertWritten(item: INodeExecutionData, type: RegExp): void {
	assertSameFile(item, 'file_url', type);
	const written = readFileSync(join(instance.files, String(item.binary?.data?.fileName)));
	assert.ok(simulator.fileBytes(String(item.json.file_url))?.equals(written));
}

test('failures of a service that says the token in its answers', async (t) => {
	const { token } = simulator;
	const text = `not with ${token}, nor with ${encodeURIComponent(token)}`;
	const refuse = (status: number) => ({ respond: { status, body: { error: text } } });
	const event = `event: error\ndata: ${JSON.stringify({ error: text })}\n\n`;
	const cases: Array<[name: string, fault: FaultRule, message: RegExp]> = [
		['speak', { method: 'POST', action: refuse(401) }, /refused the API token/],
		['speak', { on: 'file', action: refuse(410) }, /could not be downloaded/],
		['images-and-videos', { method: 'POST', action: refuse(500) }, /not available/],
		[
			'images-and-videos',
			{ method: 'POST', action: { sse: [event, 'END'] } },
			/could not generate/,
		],
	];
	for (const [name, fault, message] of cases) {
		await t.test(`${name}: ${message.source}`, async () => {
			simulator.fault(fault);
			await assert.rejects(execute(rest, example(name).id), ({ message: said }: Error) => {
				assert.match(said, message);
				assert.match(said, /not with \*+, nor with \*+/);
				return true;
			});
			simulator.clearFaults();
		});
	}
});

test('n8n knows the node, and the test button speaks plainly', async (t) => {
	const nodes: INodeTypeDescription[] = await rest.request('GET', '/types/nodes.json');
	const typeOf = (type: string) =>
		nodes.find(({ name }) => name === `n8n-nodes-media-generation.${type}`);

	await t.test('node and credential are listed', async () => {
		const ours: any = typeOf('mediaGeneration');
		assert.equal(ours?.displayName, 'Media Generation');
		const icon = await fetch(`${instance.baseUrl}/${ours.iconUrl.light}`);
		assert.match(icon.headers.get('content-type') ?? '', /svg/);
		const credentials = await rest.request('GET', '/types/credentials.json');
		assert.ok(credentials.some(({ name }: { name: string }) => name === 'mediaGenerationApi'));
	});

	await t.test('what each operation, and the trigger, puts out is served beforehand', async () => {
		const served = async (type: string, ...operation: string[]) => {
			const { name, version } = typeOf(type)!;
			const path = [name, `${String(version)}.0.0`, ...operation].join('/');
			return JSON.parse(await rest.text('GET', `/schemas/${path}.json`));
		};
		for (const { name, displayOptions, options = [] } of typeOf('mediaGeneration')!.properties) {
			for (const { value } of (name === 'operation' ? options : []) as INodePropertyOptions[]) {
				const operation = [String(displayOptions!.show!.resource![0]), String(value)];
				const schema = await served('mediaGeneration', ...operation);
				assert.deepEqual(schema, schemaOf('MediaGeneration', ...operation), operation.join());
			}
		}
		const ofTrigger = await served('mediaGenerationTrigger');
		assert.deepEqual(ofTrigger, schemaOf('MediaGenerationTrigger'));
	});

	const { token: apiToken, baseUrl, fileOrigin } = simulator;
	const cases: Array<[name: string, changed: object, message: RegExp]> = [
		['right', {}, /accepts/],
		['wrong token', { apiToken: 'wrong-token' }, /API token/],
		['unreachable address', { baseUrl: 'http://127.0.0.1:1' }, /refused the connection.*Base URL/],
		[
			'not this service',
			{ baseUrl: fileOrigin },
			/not come from a media generation service.*Base URL/,
		],
	];
	for (const [name, changed, message] of cases) {
		await t.test(`credential test: ${name}`, async () => {
			const data = { apiToken, baseUrl, ...changed };
			const credentials = { id: '', name: 'Tested', type: 'mediaGenerationApi', data };
			const result = await rest.request('POST', '/rest/credentials/test', { credentials });
			assert.equal(result.status, name === 'right' ? 'OK' : 'Error');
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
	assert.match(log, /Media Generation, Item 0: sending the text/, 'the log holds every step');
	for (const form of formsOf(simulator.token)) {
		assert.deepEqual(filesWith(form, instance.folder), []);
	}
});
