import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { IDataObject, IRun, ITaskData } from 'n8n-workflow';
import { executeWorkflow } from '../../tools/n8n/results.mts';
import { MODEL, startChatModel, toolResults, type ChatRequest } from './chatModel.mts';
import { filesWith, importChanged, setUp } from './setting.mts';

/* n8n's own AI Agent with this package's tools, and a chat model that follows a script. */

const SPEAK = 'Convert_text_to_speech';
const DRAW = 'Create_an_image';

const model = await startChatModel();
const { instance, simulator, close } = await setUp();
after(async () => {
	await close();
	await model.close();
});
await model.introduceTo(instance);

/** Runs the example with the scripted model, started by hand instead of from a chat. */
async function run(agentVersion: number, toolOptions: IDataObject = {}): Promise<IRun> {
	await importChanged(instance, 'agent', 'agentUnderTest', (node) => {
		const byHand = { type: 'n8n-nodes-base.manualTrigger', typeVersion: 1, parameters: {} };
		Object.assign(node('When a chat message comes'), byHand);
		const agent = node('AI Agent');
		agent.typeVersion = agentVersion;
		Object.assign(agent.parameters, { promptType: 'define', text: 'Say hello, and draw it.' });
		const chat = node('OpenAI Chat Model');
		chat.credentials = { openAiApi: MODEL };
		chat.parameters.options.maxRetries = 0;
		Object.assign(node('Convert text to speech').parameters.options, toolOptions);
	});
	return await executeWorkflow(instance, 'agentUnderTest');
}

const tasksOf = (result: IRun, nodeName: string): ITaskData[] =>
	result.data.resultData.runData[nodeName] ?? [];

/** What the agent said in the end. */
const finalWords = (result: IRun) =>
	tasksOf(result, 'AI Agent').at(-1)?.data?.main?.[0]?.[0]?.json.output;

/** What the tools that the model called in its answer number `round` told it: one record each. */
const toldOf = (request: ChatRequest, round: number): IDataObject[] =>
	toolResults(request, round).map((content) => {
		const records: IDataObject[] = JSON.parse(content);
		assert.equal(records.length, 1);
		return records[0]!;
	});

/** No part of a file and no secret reached the model, the run or n8n's storage. */
async function assertTextOnly(result: IRun): Promise<void> {
	for (const text of [JSON.stringify(model.requests), JSON.stringify(result.data.resultData)]) {
		assert.doesNotMatch(text, /"binary"|filesystem-v2/);
		assert.doesNotMatch(text, /[A-Za-z0-9+/]{200}/, 'no base64');
		assert.ok(!text.includes(simulator.token), 'no token');
	}
	assert.deepEqual(
		simulator.requests.filter(({ on }) => on === 'file'),
		[],
		'no file is fetched that nobody gets',
	);
	assert.deepEqual(simulator.leaks, []);
	await simulator.waitFor(() => simulator.sockets() === 0);
	assert.deepEqual(filesWith(simulator.token, instance.folder), [], 'no token in any file');
}

// Up to version 2 the agent calls its tools itself; from version 3 on n8n's engine runs them.
for (const version of [2.2, 3]) {
	describe(`agent version ${version}`, () => {
		it('speaks and draws with what the model says, and hands on the addresses', async () => {
			const paid = simulator.creates;
			let told: IDataObject[] = [];
			model.script(
				() => [
					{ tool: SPEAK, arguments: { text: `Hello from the model, ${version}.` } },
					{ tool: DRAW, arguments: { prompt: `A wave of the hand, ${version}` } },
				],
				(request) => {
					told = toldOf(request, 1);
					return `Here they are: ${told[0]!.audio_url} and ${told[1]!.file_url}`;
				},
			);
			const result = await run(version);
			assert.equal(result.status, 'success');
			assertOffered(model.requests[0]!);
			assert.equal(simulator.creates - paid, 2, 'one task and one image, each paid once');
			await assertTextOnly(result);

			const [spoken, drawn] = told as [IDataObject, IDataObject];
			const task = simulator.tasks.get(String(spoken.task_id));
			const [image] = simulator.history;
			assert.equal(task?.input, `Hello from the model, ${version}.`);
			assert.equal(image?.prompt, `A wave of the hand, ${version}`);
			assert.equal(spoken.audio_url, task.audioUrl);
			assert.ok(simulator.fileBytes(String(spoken.audio_url)), 'the audio is at that address');
			assert.equal(drawn.file_url, image.file_url);
			assert.equal(
				finalWords(result),
				`Here they are: ${task.audioUrl} and ${image.file_url}`,
				'the user gets the addresses',
			);
		});

		it('tells the model what went wrong, and never pays twice when it asks again', async () => {
			const paid = simulator.creates;
			const says = (text: string) => () => [{ tool: SPEAK, arguments: { text } }];
			let told: IDataObject[] = [];
			model.script(
				says(`[sim:task-fails] Bad, ${version}.`),
				says(`[sim:slow=40] Slow, ${version}.`),
				says(`[sim:slow=40] Slow, ${version}.`),
				(request) => {
					told = [1, 2, 3].flatMap((round) => toldOf(request, round));
					return 'There it is.';
				},
			);
			// The slow task takes 4 s: longer than one call waits, not longer than two.
			const result = await run(version, { timeout: 3, pollInterval: 1 });
			assert.equal(result.status, 'success', 'the agent is not ended by a tool that fails');
			assert.equal(finalWords(result), 'There it is.');
			assert.equal(simulator.creates - paid, 2, 'the slow task is paid once');
			await assertTextOnly(result);

			const [failed, late, collected] = told as [IDataObject, IDataObject, IDataObject];
			const [failedId, slowId] = [...simulator.tasks.keys()].slice(-2);
			assert.match(
				String(failed.error),
				new RegExp(`^The service could not generate.*${failedId}$`),
			);
			assert.match(String(failed.description), /^Change the text, voice or model/);
			assert.equal(failed.task_id, failedId);
			assert.match(String(late.error), /^No result after 3 seconds/);
			assert.match(String(late.description), new RegExp(`Speech → Wait.*${slowId}`));
			assert.equal(late.task_id, slowId);
			assert.equal(collected.status, 'completed');
			assert.equal(collected.audio_url, simulator.tasks.get(slowId!)?.audioUrl);
		});
	});
}

/** Tools whose names, descriptions and parameters a model understands. */
function assertOffered({ tools = [] }: ChatRequest): void {
	const offered = tools.map(({ function: { name, description, parameters } }) => ({
		name,
		description,
		parameters: parameters.properties,
		required: parameters.required,
	}));
	offered.sort((a, b) => a.name.localeCompare(b.name));
	const text = { type: 'string', description: 'The words to be spoken, and nothing else' };
	const prompt = {
		type: 'string',
		description: 'What is to be seen in the image, in one or two sentences',
	};
	assert.deepEqual(offered, [
		{
			name: SPEAK,
			description: 'Convert text to speech in Media Generation',
			parameters: { text },
			required: ['text'],
		},
		{
			name: DRAW,
			description: 'Generate an image from text in Media Generation',
			parameters: { prompt },
			required: ['prompt'],
		},
	]);
}
