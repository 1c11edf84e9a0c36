import assert from 'node:assert/strict';
import { after, afterEach, describe, it } from 'node:test';
import type { IDataObject } from 'n8n-workflow';
import { itemsOf } from '../../tools/n8n/results.mts';
import { converseOverMcp, paths, type Tools } from './agentPaths.mts';
import { MODEL, startChatModel, type ChatRequest } from './chatModel.mts';
import { changedExample, filesWith, HELD, setUp } from './setting.mts';

/* Whatever calls the tools in a complete n8n: each operation works, and each request is paid for once. */

const model = await startChatModel();
const setting = await setUp({ pace: 0.02 });
const { instance, simulator, rest, start, close, add, lastTask, paid } = setting;
after(async () => {
	await close();
	await model.close();
});
await model.introduceTo(instance);
await start();

afterEach(() => {
	const toolAnswer = JSON.stringify(model.requests);
	assert.doesNotMatch(
		toolAnswer,
		/"binary"|filesystem-v2|[A-Za-z0-9+/]{200}/,
		'a model gets no files',
	);
	assert.ok(!toolAnswer.includes(simulator.token));
	const fetched = simulator.requests.filter(({ receivedBy }) => receivedBy === 'file');
	assert.deepEqual(fetched, [], 'no file is fetched that nobody gets');
});

/** The model calls tools whose names end like this: the beginning depends on who offers them. */
const calling =
	(...calls: Array<[name: string, given?: IDataObject]>) =>
	({ tools = [] }: ChatRequest) =>
		calls.map(([name, given = {}]) => {
			const offered = tools.find((tool) => tool.function.name.endsWith(name));
			if (!offered) throw new Error(`No tool ${name} in ${JSON.stringify(tools)}`);
			return { tool: offered.function.name, given };
		});

/** The first record that each of the tools put out, which the model's call number `round` called. */
const recordsOf = (round: number) =>
	model.toolResults(round).map((toolAnswer) => recordsIn(toolAnswer)[0]!);

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

const fromModel = (name: string) =>
	`={{ $fromAI('${name}', 'What the user wants', 'string', '') }}`;
const voiceId = { __rl: true, mode: 'id', value: simulator.voiceIds()[0] };
const options = { pollInterval: 1 };
const [text, taskId, prompt] = ['text', 'taskId', 'prompt'].map(fromModel);

/** One tool for each operation that needs no file. */
const EVERY_TOOL: Tools = {
	Speak: { resource: 'speech', operation: 'speak', text, voiceId, options },
	Get: { resource: 'speech', operation: 'get', taskId },
	Wait: { resource: 'speech', operation: 'wait', taskId },
	Delete: { resource: 'speech', operation: 'delete', taskId },
	Voices: { resource: 'voice', operation: 'getAll', limit: 3 },
	Video: { resource: 'video', operation: 'textToVideo', prompt },
	Image: { resource: 'image', operation: 'create', prompt },
	History: { resource: 'history', operation: 'getAll', limit: 2 },
	Account: { resource: 'account', operation: 'get' },
};

for (const [path, converse] of Object.entries(paths)) {
	describe(path, () => {
		it('works with every operation', async () => {
			const made = () => ({ taskId: String(recordsOf(1)[0]!.task_id) });
			model.script(
				calling(
					['Speak', { text: 'Hello.' }],
					['Video', { prompt: 'A boat' }],
					['Image', { prompt: 'A bird' }],
					['Voices'],
					['Account'],
				),
				(request) => calling(['Get', made()], ['Wait', made()], ['History'])(request),
				(request) => calling(['Delete', made()])(request),
				() => 'Done.',
			);
			await converse(rest, EVERY_TOOL);

			const [spoken, video, image, , account] = recordsOf(1);
			for (const url of [spoken!.audio_url, video!.file_url, image!.file_url]) {
				assert.ok(simulator.fileBytes(String(url)), `there is a file at ${url}`);
			}
			const [read, waited] = recordsOf(2);
			for (const { audio_url } of [read!, waited!]) assert.equal(audio_url, spoken!.audio_url);
			const amounts = [model.toolResults(1)[3]!, model.toolResults(2)[2]!].map(
				(toolAnswer) => recordsIn(toolAnswer).length,
			);
			assert.deepEqual(amounts, [3, 2]);
			assert.ok('available_quota' in account!);
			assert.deepEqual(recordsOf(3), [{ task_id: spoken!.task_id, deleted: true }]);
			assert.equal(paid(), 3);
		});

		it('pays for two calls at once at most twice, and once for a call that is repeated', async () => {
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
				calling(['Speak'], ['Get', { taskId: 'nobody' }]),
				() => 'Done.',
			);
			await converse(rest, EVERY_TOOL);

			// The second is a request of its own, collects what the first has created, or fails unpaid.
			const files = new Set<string>();
			for (const { audio_url, error } of recordsOf(1)) {
				if (error === undefined) files.add(String(audio_url));
				else assert.match(String(error), /unclear whether/);
			}
			for (const url of files) assert.ok(simulator.fileBytes(url), `there is a file at ${url}`);
			assert.ok(files.size > 0);
			const [[failed], [collected]] = [recordsOf(2), recordsOf(3)];
			const [empty, unknown] = recordsOf(4);
			assert.match(String(failed!.error), /Not now/);
			assert.equal(collected!.task_id, failed!.task_id);
			assert.equal(paid(), files.size + 1, 'what is paid is delivered');
			assert.equal(empty!.error, "'Text' is empty");
			assert.match(String(empty!.description), /^Fill it in/);
			assert.match(String(unknown!.error), /nobody/);
		});
	});
}

it('the example offers tools that a model understands, and the user gets the addresses', async () => {
	const begin = 'When chat message received';
	const workflow = changedExample('agent', (node) => {
		const byHand = { type: 'n8n-nodes-base.manualTrigger', typeVersion: 1, parameters: {} };
		Object.assign(node(begin), byHand);
		const task = { promptType: 'define', text: 'Say hello, and draw it.' };
		Object.assign(node('AI Agent').parameters, task);
		node('OpenAI Chat Model').credentials = { openAiApi: MODEL };
	});
	model.script(
		calling(
			['Text_to_Speech', { text: 'Hello.' }],
			['Generate_an_image', { prompt: 'A wave of the hand' }],
		),
		() => {
			const [spoken, drawn] = recordsOf(1);
			return `Here they are: ${spoken!.audio_url} and ${drawn!.file_url}`;
		},
	);
	const execution = await (await add(workflow)).run(begin);
	const offered = model.requests[0]!.tools!.map(
		({ function: { name, description, parameters } }) => {
			const [first, ...others] = Object.entries<any>(parameters.properties!);
			const [needed, about] = first!;
			assert.deepEqual([parameters.required, others], [[needed], []]);
			return `${name}: ${description}. ${needed}: ${about.type}, ${about.description}`;
		},
	);
	assert.deepEqual(offered.sort(), [
		'Generate_an_image: Generate image from text in Media Generation. prompt: string, What the image should show, in one or two sentences',
		'Text_to_Speech: Convert text to speech in Media Generation. text: string, The text to convert to speech, and nothing else',
	]);
	assert.equal(paid(), 2, 'one task and one image, each paid once');
	const [image] = simulator.history;
	assert.equal(lastTask().input, 'Hello.');
	assert.equal(image?.prompt, 'A wave of the hand');
	assert.equal(
		itemsOf(execution, 'AI Agent')[0]?.json.output,
		`Here they are: ${lastTask().audioUrl} and ${image.file_url}`,
	);
	assert.doesNotMatch(JSON.stringify(execution.data.resultData), /"binary"|filesystem-v2/);
});

it('an MCP client that soon gives up starts now, collects later, and nothing is paid twice', async () => {
	const workflow = changedExample('mcp', (node) => {
		node('MCP Server Trigger').parameters.authentication = 'none';
		for (const name of ['Collect audio', 'Generate a video']) {
			assert.ok(node(name).parameters.options.timeout < 60, 'clients give up after a minute');
			node(name).parameters.options.timeout = 2;
		}
	});
	const boat = { prompt: '[sim:slow=150] A boat' };
	const collect = (): [string, IDataObject] => ['Collect_audio', { taskId: lastTask().id }];
	model.script(
		calling(['Start_text_to_speech', { text: `${HELD} Hello.` }], ['Generate_a_video', boat]),
		(request) => calling(collect())(request),
		(request) => {
			simulator.endTask(lastTask().id);
			return calling(collect(), ['Generate_a_video', boat])(request);
		},
		() => 'Done.',
	);
	await converseOverMcp(rest, workflow, 'media-generation');
	const [started, late] = recordsOf(1);
	assert.deepEqual(started, { task_id: lastTask().id, status: 'pending' });
	const [early] = recordsOf(2);
	for (const toolAnswer of [late, early])
		assert.match(String(toolAnswer!.error), /^No result after 2 seconds/);
	const [collected, video] = recordsOf(3);
	assert.equal(collected!.audio_url, lastTask().audioUrl);
	assert.equal(video!.file_url, simulator.history[0]!.file_url);
	assert.equal(paid(), 2);
});

it('the token is in no file', () => {
	assert.deepEqual(simulator.leaks, []);
	assert.deepEqual(filesWith(simulator.token, instance.folder), []);
});
