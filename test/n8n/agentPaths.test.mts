import assert from 'node:assert/strict';
import { after, afterEach, describe, it } from 'node:test';
import type { IDataObject } from 'n8n-workflow';
import { execute } from '../../tools/n8n/executions.mts';
import { itemsOf } from '../../tools/n8n/results.mts';
import { converseOverMcp, paths, type Tools } from './agentPaths.mts';
import { MODEL, startChatModel, toolResults, type ChatRequest } from './chatModel.mts';
import { changedExample, filesWith, HELD, setUp } from './setting.mts';
import { RemoteWorkflow } from './workflows.mts';

/* Whatever calls the tools in a complete n8n: each operation works, and each request is paid for once. */

const fromModel = (name: string) =>
	`={{ $fromAI('${name}', 'What the user wants', 'string', '') }}`;

const model = await startChatModel();
const { instance, simulator, rest, start, close } = await setUp({ pace: 0.02 });
after(async () => {
	await close();
	await model.close();
});
await model.introduceTo(instance);
await start();

afterEach(() => {
	const told = JSON.stringify(model.requests);
	assert.doesNotMatch(told, /"binary"|filesystem-v2|[A-Za-z0-9+/]{200}/, 'a model gets no files');
	assert.ok(!told.includes(simulator.token));
	const fetched = simulator.requests.filter(({ on }) => on === 'file');
	assert.deepEqual(fetched, [], 'no file is fetched that nobody gets');
});

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
	});
}

it('the example offers tools that a model understands, and the user gets the addresses', async () => {
	const begin = 'When a chat message comes';
	const workflow = changedExample('agent', (node) => {
		const byHand = { type: 'n8n-nodes-base.manualTrigger', typeVersion: 1, parameters: {} };
		Object.assign(node(begin), byHand);
		const task = { promptType: 'define', text: 'Say hello, and draw it.' };
		Object.assign(node('AI Agent').parameters, task);
		node('OpenAI Chat Model').credentials = { openAiApi: MODEL };
	});
	const paid = simulator.creates;
	model.script(
		calling(
			['Convert_text_to_speech', { text: 'Hello.' }],
			['Create_an_image', { prompt: 'A wave of the hand' }],
		),
		() => {
			const [spoken, drawn] = recordsOf(1).flat();
			return `Here they are: ${spoken!.audio_url} and ${drawn!.file_url}`;
		},
	);
	const { id } = await RemoteWorkflow.create(rest, workflow);
	const execution = await execute(rest, id, begin);
	assert.deepEqual(offered(model.requests[0]!), {
		Convert_text_to_speech: {
			about: 'Convert text to speech in Media Generation',
			text: { type: 'string', description: 'The words to be spoken, and nothing else' },
		},
		Create_an_image: {
			about: 'Generate image from text in Media Generation',
			prompt: {
				type: 'string',
				description: 'What is to be seen in the image, in one or two sentences',
			},
		},
	});
	assert.equal(simulator.creates - paid, 2, 'one task and one image, each paid once');
	const task = [...simulator.tasks.values()].at(-1);
	const [image] = simulator.history;
	assert.equal(task?.input, 'Hello.');
	assert.equal(image?.prompt, 'A wave of the hand');
	assert.equal(
		itemsOf(execution, 'AI Agent')[0]?.json.output,
		`Here they are: ${task.audioUrl} and ${image.file_url}`,
	);
	assert.doesNotMatch(JSON.stringify(execution.data.resultData), /"binary"|filesystem-v2/);
});

it('an MCP client that soon gives up starts now, collects later, and nothing is paid twice', async () => {
	const workflow = changedExample('mcp', (node) => {
		node('MCP Server Trigger').parameters.authentication = 'none';
		for (const name of ['Collect a speech', 'Make a video']) {
			assert.ok(node(name).parameters.options.timeout < 60, 'clients give up after a minute');
			node(name).parameters.options.timeout = 2;
		}
	});
	const paid = simulator.creates;
	const task = () => [...simulator.tasks.values()].at(-1)!;
	const boat = { prompt: '[sim:slow=150] A boat' };
	model.script(
		calling(['Start_a_speech', { text: `${HELD} Hello.` }], ['Make_a_video', boat]),
		(request) => calling(['Collect_a_speech', { taskId: task().id }])(request),
		(request) => {
			simulator.endTask(task().id);
			return calling(['Collect_a_speech', { taskId: task().id }], ['Make_a_video', boat])(request);
		},
		() => 'Done.',
	);
	await converseOverMcp(rest, workflow, 'media-generation');
	const [[started], [late]] = recordsOf(1) as [IDataObject[], IDataObject[]];
	assert.deepEqual(started, { task_id: task().id, status: 'pending' });
	const [[early]] = recordsOf(2) as [IDataObject[]];
	for (const told of [late, early]) assert.match(String(told!.error), /^No result after 2 seconds/);
	const [[collected], [video]] = recordsOf(3) as [IDataObject[], IDataObject[]];
	assert.equal(collected!.audio_url, task().audioUrl);
	assert.equal(video!.file_url, simulator.history[0]!.file_url);
	assert.equal(simulator.creates - paid, 2);
});

/** The tools by name: what the model is told of each, and of its parameters, all of which it must give. */
const offered = ({ tools = [] }: ChatRequest) =>
	Object.fromEntries(
		tools.map(({ function: { name, description: about, parameters } }) => {
			const { properties, required } = parameters as { properties: object; required: string[] };
			assert.deepEqual(required, Object.keys(properties));
			return [name, { about, ...properties }];
		}),
	);

it('the token is in no file', () => {
	assert.deepEqual(simulator.leaks, []);
	assert.deepEqual(filesWith(simulator.token, instance.folder), []);
});
