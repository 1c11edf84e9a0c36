import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { after, beforeEach, describe, it } from 'node:test';
import type { INodeTypeDescription } from 'n8n-workflow';
import { n8nWorkflow } from '../../demo/n8n.mts';
import { eventually } from '../../tools/eventually.mts';
import { temporaryFolder } from '../../tools/cleanup.mts';
import { readExample, type FileNode } from '../../tools/examples.mts';
import { importInto, readExamples } from '../../tools/n8n/examples.mts';
import { postJson } from '../../tools/n8n/executions.mts';
import { FakeService } from '../service/fakeService.mts';
import { MODEL, startChatModel } from './chatModel.mts';
import { startGoogle } from './google.mts';
import { changedExample, setUp } from './setting.mts';
import type { RemoteWorkflow } from './workflows.mts';

/* The recipes with Google, Telegram and a model, which are servers of this machine here. */

const COLUMNS = ['title', 'text', 'status', 'reason', 'file', 'task_id', 'run'];
const CHAT = 123456789;

const folder = temporaryFolder('google');
const google = await startGoogle(folder.path, COLUMNS);
const model = await startChatModel();
/** What the bot was asked to do. */
let calls: Array<{ method: string; body: Buffer; said: any }> = [];
const telegram = await FakeService.start(async (request, response) => {
	const body = await buffer(request);
	const isJson = request.headers['content-type']?.startsWith('application/json');
	const said = isJson ? JSON.parse(body.toString()) : undefined;
	calls.push({ method: request.url!.split('/').pop()!, body, said });
	response.setHeader('Content-Type', 'application/json');
	response.end(JSON.stringify({ ok: true, result: { message_id: calls.length } }));
});
const setting = await setUp({}, google.environment);
const { instance, simulator, rest, start, close, add, lastTask, paid, assertServed } = setting;
after(async () => {
	await close();
	for (const service of [model, google]) await service.close();
	await telegram.stop();
	folder.remove();
});

const token = { oauthTokenData: { access_token: 'a token', token_type: 'Bearer' } };
const CREDENTIALS = {
	telegramApi: { accessToken: '1:bot', baseUrl: telegram.url },
	googleSheetsOAuth2Api: token,
	googleDriveOAuth2Api: token,
};
await importInto(
	instance,
	'credentials',
	Object.entries(CREDENTIALS).map(([type, data]) => ({ id: type, name: type, type, data })),
);
await model.introduceTo(instance);
await start();

/** Puts a recipe into n8n, with what is to be chosen, and changed so that a test need not wait. */
async function recipe(name: string): Promise<RemoteWorkflow> {
	const workflow = changedExample(name);
	for (const node of workflow.nodes) {
		const kind = node.type.split('.').pop()!;
		if (kind === 'lmChatOpenAi') node.credentials = { openAiApi: MODEL };
		const type = Object.keys(CREDENTIALS).find((each) =>
			kind.startsWith(each.split(/OAuth|Api/)[0]!),
		);
		if (type) node.credentials = { [type]: { id: type, name: type } };
		if (node.parameters.chatId === '') node.parameters.chatId = String(CHAT);
		if (kind === 'wait') node.parameters.amount = 2;
		Object.assign(node, { waitBetweenTries: 50 });
	}
	return await add(workflow);
}

beforeEach(() => void (calls = []));

/** The parameters of a node that n8n does not show with these values, or whose value it doesn't know. */
function wrongWith(node: FileNode, description: INodeTypeDescription): string[] {
	const { displayParameter, getNodeParameters } = n8nWorkflow.NodeHelpers;
	const { properties } = description;
	// n8n gives these to each node that is a tool.
	const { descriptionType: _, toolDescription: __, ...parameters } = node.parameters;
	// With the values that a file leaves out, since they are n8n's own.
	const root: any = getNodeParameters(properties, parameters, true, true, node, description);
	const isShown = (values: any, each: any) =>
		displayParameter(values, each, node, description, root);
	const look = (given: object, filled: any, known: any[]): string[] =>
		Object.entries<any>(given).flatMap(([name, value]) => {
			const property = known.find((each) => each.name === name && isShown(filled, each));
			if (!property) return [`${name} is not shown`];
			const { type, options = [] } = property;
			if (type === 'collection') return look(value, filled[name], options);
			if (type === 'fixedCollection')
				return Object.entries<any>(value).flatMap(([group, entries]) => {
					const { values } = options.find((each: any) => each.name === group);
					const all = [filled[name][group]].flat();
					return [entries].flat().flatMap((entry, at) => look(entry, all[at], values));
				});
			if (!/options/i.test(type) || options.length === 0) return [];
			const values = options.map((each: any) => each.value);
			const isKnown = [value].flat().every((each) => values.includes(each));
			return isKnown || String(value).startsWith('=') ? [] : [`${name} can't be ${value}`];
		});
	return look(parameters, root, properties);
}

describe('every example', async () => {
	const types: INodeTypeDescription[] = await rest.request('GET', '/types/nodes.json');
	for (const { name, path } of readExamples()) {
		it(`${name} has parameters that n8n's own descriptions know, with their values`, () => {
			const wrong = readExample(path).nodes.flatMap((node: FileNode) => {
				const versions = types.filter((type) => type.name === node.type.replace(/Tool$/, ''));
				const description = versions.find((type) =>
					[type.version].flat().includes(node.typeVersion),
				);
				if (!description) return [`${node.name}: no ${node.type} ${node.typeVersion}`];
				return wrongWith(node, description).map((each) => `${node.name}: ${each}`);
			});
			assert.deepEqual(wrong, []);
		});
	}
});

describe('sheets-drive', { timeout: 400_000 }, async () => {
	const workflow = await recipe('sheets-drive');
	const night = async () => await workflow.run('Every night');
	const rows = () =>
		google.cells
			.slice(1)
			.map((row) => Object.fromEntries(COLUMNS.map((name, at) => [name, row[at] ?? ''])));
	const statuses = () => String(rows().map(({ status }) => status));
	const fill = (...rows: string[][]) => google.cells.splice(1, Infinity, ...rows);

	it('stores a file for each new row, and nothing more the next night', async () => {
		const old = ['Old', 'Said.', 'done'];
		fill(['Sea', 'The sea.'], ['', ''], ['Draft'], old, ['Bad', '[sim:task-fails]']);
		for (let nights = 0; nights < 2; nights++) await night();
		assert.equal(statuses(), 'done,,,done,failed');
		const [sea, , , , bad] = rows();
		assert.equal(sea!.reason, '');
		assert.equal(sea!.file, 'https://drive.google.com/file/d/file-0/view');
		assert.match(bad!.reason!, /could not generate/);
		assert.equal(google.files.length, 1);
		const [stored] = google.files;
		assert.equal(stored!.name, 'Sea.wav');
		const { audioUrl } = simulator.tasks.get(sea!.task_id!)!;
		assertServed(audioUrl, stored!.bytes!);
		assert.equal(paid(), 2);
	});

	it('pays once for each row when two runs overlap', async () => {
		fill(['A', 'First.'], ['B', 'Second.']);
		await Promise.all([night(), night()]);
		await night();
		assert.equal(statuses(), 'done,done');
		assert.equal(paid(), 2);
	});

	it('finds its row when the sheet is sorted meanwhile', async () => {
		fill(['A', 'First.'], ['B', 'Second.']);
		const known = paid();
		google.onRequest = () => {
			if (paid() > known && google.cells[1]![0] === 'A')
				google.cells.splice(1, 2, ...google.cells.slice(1).reverse());
		};
		await night();
		google.onRequest = () => {};
		assert.equal(statuses(), 'done,done');
		for (const { text, task_id: task } of rows())
			assert.equal(simulator.tasks.get(task!)!.input, text);
	});

	it('says of what may be paid that it is unclear, and sends it no second time', async () => {
		simulator.fault({ method: 'POST', action: { reset: true, accepted: true } });
		fill(['A', 'Unclear.']);
		for (let nights = 0; nights < 2; nights++) await night();
		assert.equal(statuses(), 'unclear');
		assert.equal(paid(), 1);
	});

	it('ends before anything is paid when the sheet lacks a column', async () => {
		for (const missing of COLUMNS.slice(2)) {
			fill(['A', 'Not to be paid.']);
			google.cells[0] = COLUMNS.map((name) => (name === missing ? 'other' : name));
			await assert.rejects(night(), /column/i, missing);
		}
		google.cells[0] = COLUMNS;
		assert.equal(paid(), 0);
	});
});

describe('telegram', { timeout: 200_000 }, async () => {
	const workflow = await recipe('telegram');
	await workflow.publish();
	const { url, secret_token: secret } = calls.find(({ method }) => method === 'setWebhook')!.said;
	let ended = 0;
	for (const [what, chat, text, answer, tasks] of [
		['what the owner writes is spoken', CHAT, 'Good evening.', 'sendAudio', 1],
		['a stranger spends nothing', 5, 'Good evening.', undefined, 0],
		['a command is not spoken', CHAT, '/start', undefined, 0],
		['a message without text is not spoken', CHAT, undefined, undefined, 0],
		['a failure is told', CHAT, '[sim:task-fails] <b', 'sendMessage', 1],
	] as const) {
		it(what, async () => {
			const message = { message_id: 7, chat: { id: chat }, text };
			await postJson(url, { message }, { 'X-Telegram-Bot-Api-Secret-Token': secret });
			const executions = await workflow.ended(++ended);
			assert.ok(executions.every(({ status }) => status === 'success'));
			assert.equal(paid(), tasks);
			const [call, ...others] = calls;
			assert.deepEqual([call?.method, others], [answer, []]);
			const served = () => simulator.fileBytes(lastTask().audioUrl!)!;
			if (answer === 'sendAudio') assert.ok(call!.body.includes(served()));
			if (answer === 'sendMessage') assert.match(call!.said.text, /could not generate/);
		});
	}
});

describe('approve', { timeout: 200_000 }, async () => {
	const workflow = await recipe('approve');
	await workflow.publish();
	const { nodes } = await rest.request('GET', `/rest/workflows/${workflow.id}`);
	const form = nodes.find(({ type }: FileNode) => type.endsWith('formTrigger')).webhookId;
	let ended = 0;
	for (const [what, button, videos] of [
		['a no costs nothing', 'No', 0],
		['a yes makes the video of the model’s prompt', 'Generate it', 1],
	] as const) {
		it(what, async () => {
			model.words = `A [paper_boat] sails, take ${videos}`;
			const idea = new FormData();
			idea.append('field-0', 'A boat');
			assert.ok(
				(await fetch(`${instance.baseUrl}/form/${form}`, { method: 'POST', body: idea })).ok,
			);
			const question = await eventually('the bot to ask', 60_000, () =>
				calls.find(({ method }) => method === 'sendMessage'),
			);
			const { text, reply_markup: markup } = question.said;
			assert.equal(text, `Generate this video?\n\nA  paper boat] sails, take ${videos}`);
			assert.equal(paid(), 0);
			const buttons: any[] = markup.inline_keyboard.flat();
			const { url } = buttons.find((each) => each.text === button);
			// n8n takes no yes of programs that only look at a link, nor before it has begun to wait.
			const headers = { 'User-Agent': 'Mozilla/5.0 Firefox/140.0' };
			await eventually('the answer to count', 60_000, async () => {
				return (await fetch(url, { headers })).ok;
			});
			const executions = await workflow.ended(++ended);
			assert.ok(executions.every(({ status }) => status === 'success'));
			assert.equal(paid(), videos);
			const sent = calls.find(({ method }) => method === 'sendVideo');
			assert.equal(Boolean(sent), videos === 1);
			if (!sent) return;
			const [{ prompt, file_url: address }] = simulator.history as [any];
			assert.equal(prompt, model.words);
			assert.ok(sent.body.includes(simulator.fileBytes(address)!));
		});
	}
});

it('scenes: at most five become images and upright videos, named in their order', async () => {
	const scenes = Array.from({ length: 7 }, (_, at) => ({
		title: `Scene/${at}!`,
		prompt: `Prompt ${at}`,
	}));
	model.words = JSON.stringify({ output: { scenes } });
	const workflow = await recipe('scenes');
	await workflow.run();
	assert.equal(paid(), 10);
	const names = [1, 2, 3, 4, 5].flatMap((n) => [
		`0${n}-Scene-${n - 1}-.mp4`,
		`0${n}-Scene-${n - 1}-.png`,
	]);
	assert.deepEqual(readdirSync(instance.filesFolder).sort(), names);
	const videos = simulator.requests.filter(({ path }) => path.endsWith('text-to-video')).slice(-5);
	assert.ok(videos.every(({ body }) => body.aspect_ratio === 'VIDEO_ASPECT_RATIO_PORTRAIT'));
});
