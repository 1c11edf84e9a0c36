import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { IConnections, IDataObject, INode } from 'n8n-workflow';
import { n8nWorkflow } from '../../demo/n8n.mts';
import { imagePng } from '../../simulator/media/clips.mts';
import { CREDENTIAL } from '../../tools/examples.mts';
import { importInto } from '../../tools/n8n/examples.mts';
import { postJson, waitForEnd } from '../../tools/n8n/executions.mts';
import { itemsOf } from '../../tools/n8n/results.mts';
import { FakeService } from '../service/fakeService.mts';
import { createTask, order } from '../service/order.mts';
import { createDataTable } from '../storage/dataTable.mts';
import { ACTION, catalog, definitionFolders, ofN8n, TRIGGER } from './catalog.mts';
import { setUp } from './setting.mts';
import { node, workflowOf, type RemoteWorkflow } from './workflows.mts';

/*
 * What people ask of a builder, each with the workflow that it should make of it: n8n's own validation
 * accepts it, and it does what was asked.
 */

const { setSchemaBaseDirs, validateWorkflow } = ofN8n('@n8n/workflow-sdk');
const { NodeHelpers } = n8nWorkflow;

const ARTICLE = 'The boats are in the harbour and wait. '.repeat(60);

/** A feed, the weather, photos, a bucket and a chat. */
const others = await FakeService.start(({ url = '' }, response) => {
	const item = `<item><title>News</title><description>${ARTICLE}</description></item>`;
	if (url.endsWith('.png')) {
		response.setHeader('Content-Type', 'image/png').end(imagePng(url));
	} else if (url === '/feed') {
		response.end(`<rss version="2.0"><channel><title>All</title>${item}</channel></rss>`);
	} else if (url.includes('location')) {
		response.end('<LocationConstraint xmlns="s3">here</LocationConstraint>');
	} else response.setHeader('Content-Type', 'application/json').end('{"weather":"rain"}');
});
const { instance, simulator, rest, start, close, add, paid } = await setUp({ pace: 0.02 });
after(async () => {
	await close();
	await others.stop();
});

const base = (type: string, typeVersion: number, parameters = {}, more = {}) =>
	node('', `n8n-nodes-base.${type}`, typeVersion, parameters, more);
const credentials = { mediaGenerationApi: CREDENTIAL };
const ours = (resource: string, operation: string, parameters = {}, more = {}) =>
	node('', ACTION, 1, { resource, operation, ...parameters }, { credentials, ...more });
const event = (name: string, options: IDataObject = {}) =>
	node('', TRIGGER, 1, { events: [name], options }, { credentials });

const [ada, ben] = simulator.voiceIds();
const say = (text: string, options: IDataObject = {}, more = {}, voice = ada) => {
	const voiceId = { __rl: true, mode: 'id', value: voice };
	return ours('speech', 'speak', { text, voiceId, options }, more);
};
const list = (...rows: IDataObject[]) =>
	base('set', 3.4, { mode: 'raw', jsonOutput: JSON.stringify({ rows }) });
const rows = (operation: string, condition: IDataObject, more: IDataObject = {}) => {
	const dataTableId = { __rl: true, mode: 'name', value: 'texts' };
	const filters = { conditions: [condition] };
	return base('dataTable', 1.1, { operation, dataTableId, filters, ...more });
};
const http = (url: string, parameters = {}) =>
	base('httpRequest', 4.2, { url: url.startsWith('=') ? url : others.url + url, ...parameters });
const post = (body: IDataObject) => http('/chat', { method: 'POST', sendBody: true, ...body });
const tell = (text: string) =>
	post({ specifyBody: 'json', jsonBody: `={{ JSON.stringify({ text: ${text} }) }}` });

const ALL_FILES = { binaryPropertyName: "={{ Object.keys($binary).join(', ') }}" };
const AS_FILE = { options: { response: { response: { responseFormat: 'file' } } } };
const ANSWERED = { responseMode: 'responseNode' };
const ID = { webhookId: 'sound' };
const NAME = '{{ $binary.data.fileName }}';
const BUCKET = { credentials: { s3: { id: 's3', name: 's3' } } };
const PER_ROW = { onError: 'continueErrorOutput' };

/** The nodes by their names in the workflows. */
const NODES: Record<string, INode> = {
	byHand: base('manualTrigger', 1),
	daily: base('scheduleTrigger', 1.3, { rule: { interval: [{ triggerAtHour: 2 }] } }),
	webhook: base('webhook', 2, { httpMethod: 'POST', path: 'sound', ...ANSWERED }, ID),
	onVideo: event('generated', { checkInterval: 10 }),
	onFailure: event('failed'),
	onSpeech: event('completed'),

	texts: list({ text: 'One' }, { text: 'Two' }, { text: 'Three' }),
	products: list({ name: 'A cup' }, { name: '[sim:unsafe]' }, { name: 'A lamp' }),
	photos: list({ at: `${others.url}/1.png` }, { at: `${others.url}/2.png` }),
	shapes: list({ shape: '16:9' }, { shape: '9:16' }),
	dialogue: list({ voice: ada, text: 'Who is it?' }, { voice: ben, text: 'Me.' }),
	each: base('splitOut', 1, { fieldToSplitOut: 'rows' }),
	newRows: rows('get', { keyName: 'file', condition: 'isEmpty' }),
	tickOff: rows(
		'update',
		{ keyName: 'id', condition: 'eq', keyValue: "={{ $('newRows').item.json.id }}" },
		{ columns: { mappingMode: 'defineBelow', value: { file: 'stored' }, schema: [] } },
	),
	readFeed: base('rssFeedRead', 1.2, { url: `${others.url}/feed` }),
	newest: base('limit', 1),
	getPhoto: http('={{ $json.at }}', AS_FILE),
	weather: http('/weather'),

	speak: say('Good morning.'),
	speakText: say('={{ $json.text }}'),
	speakBody: say('={{ $json.body.text }}'),
	speakWeather: say('=Today: {{ $json.weather }}'),
	speakArticle: say('={{ $json.contentSnippet }}', { splitLongerThan: 1000 }),
	speakChapter: say(ARTICLE, { splitLongerThan: 1000, subtitles: true }),
	speakForTwo: say('={{ $json.text }}', { maxPaidPerExecution: 2 }, PER_ROW),
	speakInRole: say('={{ $json.text }}', {}, {}, '={{ $json.voice }}'),
	deleteTask: ours('speech', 'delete', { taskId: "={{ $('speakText').item.json.task_id }}" }),
	draw: ours('image', 'create', { prompt: 'A harbour' }),
	drawProduct: ours('image', 'create', { prompt: '={{ $json.name }}' }, PER_ROW),
	film: ours('video', 'textToVideo', { prompt: 'A boat', aspectRatio: '={{ $json.shape }}' }),
	animate: ours('video', 'ingredientsToVideo', { prompt: 'Boats leave the harbour' }),
	slideshow: ours('video', 'framesToVideo', ALL_FILES),
	voices: ours('voice', 'getAll', { returnAll: true, options: { language: 'de' } }),
	history: ours('history', 'getAll', { limit: 5, options: { download: true } }),
	account: ours('account', 'get'),

	inOneItem: base('aggregate', 1, {
		aggregate: 'aggregateAllItemData',
		options: { includeBinaries: true },
	}),
	zip: base('compression', 1.1, { operation: 'compress', ...ALL_FILES, fileName: 'sounds.zip' }),
	sheet: base('convertToFile', 1.1),
	toDisk: base('readWriteFile', 1.1, { operation: 'write', fileName: `=.n8n-files/${NAME}` }),
	toS3: base('s3', 1, { operation: 'upload', bucketName: 'audio', fileName: `=${NAME}` }, BUCKET),
	answer: base('respondToWebhook', 1.4, { respondWith: 'binary' }),
	sendFile: post({ contentType: 'binaryData', inputDataFieldName: 'data' }),
	tellError: tell('$json.error'),
	tellAddress: tell('$json.file_url'),
	tellQuota: tell('$json.available_quota'),
};

/**
 * What is asked; the nodes in a row, `!` at a second output; and what comes of it: create calls, items
 * of the last node, and what others are sent.
 */
const REQUESTS = `
Read this sentence aloud and keep the file: byHand speak toDisk: 1 paid, 1 out
Every night, speak the new rows of a table and put the files on S3: daily newRows speakText toS3 tickOff: 2 paid, 2 out, PUT /audio, PUT /audio
Narrate the newest article of a feed, however long, as one file: byHand readFeed newest speakArticle toDisk: 3 paid, 1 out
Make one video out of the photos at these addresses: byHand photos each getPhoto inOneItem slideshow: 1 paid, 1 out
A picture of each product, and tell our chat which failed: byHand products each drawProduct !tellError toDisk: 3 paid, 2 out, POST /chat
Whenever somebody makes a video, send its address to our chat: onVideo tellAddress: 1 paid, 1 out, POST /chat
Tell our chat when a speech task fails: onFailure tellError: 1 paid, 1 out, POST /chat
Put every speech that anybody makes on S3: onSpeech toS3: 1 paid, 1 out, PUT /audio
An address that turns the text sent to it into sound: webhook speakBody answer: 1 paid, 1 out
Give me the German voices as a spreadsheet: byHand voices sheet: 0 paid, 1 out
Tell our chat every day how much quota is left: daily account tellQuota: 0 paid, 1 out, POST /chat
Every morning, say the weather and send the sound to our chat: daily weather speakWeather sendFile: 1 paid, 1 out, POST /chat
The same idea as a wide and as a tall video: byHand shapes each film toDisk: 2 paid, 2 out
Draw a harbour, then make a video of it: byHand draw animate: 2 paid, 1 out
A chapter as one file, with subtitles: byHand speakChapter toDisk: 3 paid, 1 out
A dialogue in two voices: byHand dialogue each speakInRole toDisk: 2 paid, 2 out
Delete each task once its file is stored: byHand texts each speakText toDisk deleteTask: 3 paid, 3 out
Keep the newest five videos and images as files: byHand history toDisk: 0 paid, 5 out
Put the sounds of a list into one ZIP file: byHand texts each speakText inOneItem zip: 3 paid, 1 out
Speak a list, but never pay for more than two in a run: byHand texts each speakForTwo !tellError: 0 paid, 3 out, POST /chat, POST /chat, POST /chat`;

/** What starts a published workflow, by its first node. */
const CAUSES: Record<string, () => Promise<unknown>> = {
	onVideo: async () => await order(simulator, 'video/create-image', { prompt: 'A boat' }),
	onSpeech: async () => await createTask(simulator, 'Hello'),
	onFailure: async () => await createTask(simulator, '[sim:task-fails-late] Hello'),
	webhook: async () => await postJson(`${instance.baseUrl}/webhook/sound`, { text: 'Hello' }),
};

const getByNameAndVersion = (type: string, version: number) => {
	const versions = catalog.filter(({ name }) => name === type);
	return { description: versions.find((each) => [each.version].flat().includes(version))! };
};

before(async () => {
	const keys = { accessKeyId: 'key', secretAccessKey: 'secret', region: 'here' };
	const data = { endpoint: others.url, forcePathStyle: true, ...keys };
	await importInto(instance, 'credentials', [{ id: 's3', name: 's3', type: 's3', data }]);
	await start();
	const table = await createDataTable(rest, 'texts', ['text', 'file']);
	await table.add({ text: 'A' }, { text: 'B' });
	for (let n = 0; n < 5; n++) await order(simulator, 'video/create-image', { prompt: `${n}` });
	setSchemaBaseDirs(definitionFolders);
});

describe('a plain request', { timeout: 600_000 }, () => {
	for (const line of REQUESTS.trim().split('\n')) {
		const [requestName, row, outcome] = line.split(': ');
		it(`${requestName}: ${outcome}`, async () => {
			const workflow = workflowFor(requestName!, row!.split(' '));
			assertValid(workflow);
			const sent = others.requests.length;
			const out = await run(await add(workflow), workflow.nodes);
			const calls = others.requests.slice(sent).filter((call) => !call.startsWith('GET'));
			const reported = calls.map((call) => `, ${call.split('/', 2).join('/')}`);
			assert.equal(`${paid()} paid, ${out} out${reported.join('')}`, outcome);
		});
	}
});

describe('a loop over nine rows, three of which fail', { timeout: 120_000 }, () => {
	const texts = ['1', '', '3', '4', '', '', '7', '8', '9'].map((text) => ({ text }));
	const row = [
		{ ...base('manualTrigger', 1), name: 'byHand' },
		{ ...list(...texts), name: 'texts' },
		{ ...NODES.each!, name: 'each' },
		{ ...base('splitInBatches', 3, { batchSize: 3 }), name: 'loop' },
		{ ...say('={{ $json.text }}', {}, PER_ROW), name: 'speak' },
	];
	const behind = { ...NODES.draw!, name: 'draw' };
	const merge = { ...base('merge', 3.2), name: 'merge' };
	const to = (name: string, index = 0) => [{ node: name, type: 'main' as const, index }];
	/** Resolves with how many images are charged after the loop. */
	async function imagesAfter(backToLoop: IConnections): Promise<number> {
		const { connections, ...workflow } = workflowOf('Loop', row);
		const loop = { main: [to('draw'), to('speak')] };
		const remote = await add({
			...workflow,
			nodes: [...row, merge, behind],
			connections: { ...connections, loop, ...backToLoop },
		});
		await remote.run('byHand');
		return paid() - 6;
	}

	it('charges each once after the loop, if both outputs go through a Merge node', async () => {
		const speak = { main: [to('merge'), to('merge', 1)] };
		assert.equal(await imagesAfter({ speak, merge: { main: [to('loop')] } }), 9);
	});

	it('charges some several times, if both outputs go directly to the loop', async () => {
		assert.equal(await imagesAfter({ speak: { main: [to('loop'), to('loop')] } }), 22);
	});
});

function workflowFor(requestName: string, names: string[]) {
	const nodes = names.map((name) => ({ ...NODES[name.replace('!', '')]!, name }));
	const row = nodes.filter(({ name }) => !name.startsWith('!'));
	const { connections, ...workflow } = workflowOf(requestName, row);
	for (const [at, name] of names.entries()) {
		if (!name.startsWith('!')) continue;
		const { main = [] } = (connections[names[at - 1]!] ??= { main: [[]] });
		main.push([{ node: name, type: 'main', index: 0 }]);
	}
	return { ...workflow, nodes, connections };
}

/** By what a builder's workflow is checked, and by what the editor marks red. */
function assertValid(workflow: ReturnType<typeof workflowFor>): void {
	const { errors, warnings } = validateWorkflow(workflow, {
		nodeTypesProvider: { getByNameAndVersion },
	});
	const isGrave = ({ severity }: { severity: string }) => severity !== 'informational';
	assert.deepEqual([...errors, ...warnings.filter(isGrave)], []);
	for (const node of workflow.nodes) {
		const { description } = getByNameAndVersion(node.type, node.typeVersion);
		const { properties } = description;
		const given = [node.parameters, true, false, node, description] as const;
		const whole = { ...node, parameters: NodeHelpers.getNodeParameters(properties, ...given)! };
		const issues = NodeHelpers.getNodeParametersIssues(properties, whole, description);
		assert.equal(issues, null, node.name);
	}
}

/** Runs it by hand, or publishes it and causes what starts it; resolves to the items of its last node. */
async function run(remote: RemoteWorkflow, nodes: INode[]): Promise<number> {
	const [first, last] = [nodes[0]!.name, nodes.at(-1)!.name];
	const cause = CAUSES[first];
	if (!cause) return itemsOf(await remote.run(first), last).length;
	await remote.publish();
	await cause();
	const [ended] = await remote.ended(1);
	await remote.unpublish();
	return itemsOf(await waitForEnd(rest, ended!.id), last).length;
}
