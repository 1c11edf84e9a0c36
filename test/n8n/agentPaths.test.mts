import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { IDataObject } from 'n8n-workflow';
import { Rest } from '../../tools/n8n/rest.mts';
import { paths, type Tools } from './agentPaths.mts';
import { startChatModel, toolResults, type ChatRequest } from './chatModel.mts';
import { filesWith, setUp } from './setting.mts';

/* Whatever calls the tools in a complete n8n: each operation works, and each request is paid for once. */

const fromModel = (name: string) =>
	`={{ $fromAI('${name}', 'What the user wants', 'string', '') }}`;

const model = await startChatModel();
const { instance, simulator, close } = await setUp({ pace: 0.02 });
after(async () => {
	await close();
	await model.close();
});
await model.introduceTo(instance);
await instance.start();
const rest = await Rest.of(instance);

const SPEAK: IDataObject = {
	resource: 'speech',
	operation: 'speak',
	text: fromModel('text'),
	voiceId: { __rl: true, mode: 'id', value: simulator.voiceIds()[0] },
	options: { pollInterval: 1 },
};

/** The model calls tools whose names end like this: the beginning depends on who offers them. */
const calling =
	(...calls: Array<[name: string, given: IDataObject]>) =>
	({ tools = [] }: ChatRequest) =>
		calls.map(([name, given]) => {
			const offered = tools.find((tool) => tool.function.name.endsWith(name));
			if (!offered) throw new Error(`No tool ${name} in ${JSON.stringify(tools)}`);
			return { tool: offered.function.name, arguments: given };
		});

/** What the tools answered to the model's call number `round`, as texts. */
const textsOf = (round: number) => toolResults(model.requests.at(-1)!, round);

/** The same, as the records that the nodes put out. */
const recordsOf = (round: number): IDataObject[][] => textsOf(round).map(recordsIn);

/** Each of n8n's ways wraps records in its own way. */
function recordsIn(said: unknown): IDataObject[] {
	if (typeof said === 'string') return recordsIn(JSON.parse(said));
	if (Array.isArray(said)) {
		return said.flatMap((part) => (part.type === 'text' ? recordsIn(part.text) : part));
	}
	const { data, content } = said as { data?: Array<{ json: IDataObject }>; content?: unknown };
	if (content !== undefined) return recordsIn(content);
	return data?.map(({ json }) => json) ?? [said as IDataObject];
}

/** One tool for each operation. */
const EVERY_TOOL: Tools = {
	Speak: SPEAK,
	Get: { resource: 'speech', operation: 'get', taskId: fromModel('taskId') },
	Wait: { resource: 'speech', operation: 'wait', taskId: fromModel('taskId') },
	Delete: { resource: 'speech', operation: 'delete', taskId: fromModel('taskId') },
	Voices: { resource: 'voice', operation: 'getAll', limit: 3 },
	Video: { resource: 'video', operation: 'textToVideo', prompt: fromModel('prompt') },
	Ingredients: { resource: 'video', operation: 'ingredientsToVideo', prompt: fromModel('prompt') },
	Frames: { resource: 'video', operation: 'framesToVideo' },
	Image: { resource: 'image', operation: 'create', prompt: fromModel('prompt') },
	History: { resource: 'history', operation: 'getAll', limit: 2 },
	Account: { resource: 'account', operation: 'get' },
};

for (const [path, converse] of Object.entries(paths)) {
	describe(path, () => {
		it('works with every operation', async () => {
			const paid = simulator.creates;
			let taskId = '';
			model.script(
				calling(
					['Speak', { text: 'Hello.' }],
					['Video', { prompt: 'A boat' }],
					['Image', { prompt: 'A bird' }],
					['Ingredients', { prompt: 'A boat' }],
					['Frames', {}],
					['Voices', {}],
					['Account', {}],
				),
				(request) => {
					taskId = String(recordsOf(1)[0]![0]!.task_id);
					return calling(['Get', { taskId }], ['Wait', { taskId }], ['History', {}])(request);
				},
				(request) => calling(['Delete', { taskId }])(request),
				() => 'Done.',
			);
			await converse(rest, EVERY_TOOL);

			const [spoken, video, image, ingredients, frames, voices, account] = recordsOf(1);
			const [read, waited, history] = recordsOf(2);
			for (const url of [spoken![0]!.audio_url, video![0]!.file_url, image![0]!.file_url]) {
				assert.ok(simulator.fileBytes(String(url)), `there is a file at ${url}`);
			}
			assert.equal(read![0]!.audio_url, spoken![0]!.audio_url);
			assert.equal(waited![0]!.audio_url, spoken![0]!.audio_url);
			for (const [failed] of [ingredients!, frames!]) {
				assert.match(String(failed!.error), /No file in 'data'/);
			}
			assert.equal(voices!.length, 3);
			assert.equal(history!.length, 2);
			assert.equal(account!.length, 1);
			assert.deepEqual(recordsOf(3), [[{ task_id: taskId, deleted: true }]]);
			assert.equal(simulator.creates - paid, 3);
		});

		it('pays for each of two calls at once, and once for a call that is repeated', async () => {
			const paid = simulator.creates;
			const hello = { text: 'Hello to both.' };
			const again = { text: 'Once more.' };
			model.script(
				calling(['Speak', hello], ['Speak', hello]),
				(request) => {
					const respond = { status: 400, body: { error: 'Not now' } };
					simulator.fault({ method: 'GET', path: '/v1/labs/task/', action: { respond } });
					return calling(['Speak', again])(request);
				},
				calling(['Speak', again]),
				calling(['Speak', {}], ['Get', { taskId: 'nobody' }]),
				() => 'Done.',
			);
			await converse(rest, EVERY_TOOL);

			const [[one], [other]] = recordsOf(1) as [IDataObject[], IDataObject[]];
			assert.notEqual(one!.audio_url, other!.audio_url, 'each call has a file of its own');
			const [[failed], [collected]] = [recordsOf(2)[0]!, recordsOf(3)[0]!];
			assert.match(String(failed!.error), /Not now/);
			assert.equal(collected!.task_id, failed!.task_id);
			assert.equal(simulator.creates - paid, 3);
			const [[empty], [unknown]] = recordsOf(4) as [IDataObject[], IDataObject[]];
			assert.equal(empty!.error, "'Text' is empty");
			assert.match(String(empty!.description), /^Change 'Text'/);
			assert.match(String(unknown!.error), /nobody/);
		});

		it('leaves nothing behind after a hundred rounds', async (t) => {
			const paid = simulator.creates;
			const before = instance.memory();
			const rounds = Array.from({ length: 100 }, (_, n) =>
				calling(['Speak', { text: `No ${n}.` }]),
			);
			model.script(...rounds, () => 'Done.');
			await converse(rest, { Speak: SPEAK });
			assert.equal(model.requests.length, 101);
			assert.equal(simulator.creates - paid, 100);
			const texts = new Set([...simulator.tasks.values()].slice(-100).map(({ input }) => input));
			assert.equal(texts.size, 100);
			assert.equal(recordsOf(100)[0]![0]!.input, 'No 99.');
			await simulator.waitFor(() => simulator.sockets() + simulator.openConnections() === 0);
			t.diagnostic(`${Math.round((instance.memory() - before) / 2 ** 20)} MiB more`);
		});
	});
}

it('the token is in no file and in nothing that the model got', () => {
	assert.deepEqual(simulator.leaks, []);
	assert.ok(!JSON.stringify(model.requests).includes(simulator.token));
	assert.deepEqual(filesWith(simulator.token, instance.folder), []);
});
