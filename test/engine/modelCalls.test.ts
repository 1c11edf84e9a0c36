import type { IDataObject, INode, INodeExecutionData, INodeType } from 'n8n-workflow';
import { additionalDataFor } from '../../demo/engine.mts';
import { core, n8nWorkflow, useBinaryMode } from '../../demo/n8n.mts';
import { loadPackage, nodeTypesOf } from '../../demo/package.mts';
import { ALWAYS, answer, made, noCredit, onCreate, onRead, posts, requests } from './service';
import { credential, image, node, sim, speech, start, video } from './setup';

/*
 * Tool calls of a model as n8n makes them, each with a context of the engine's own classes. n8n's Agents:
 * test/n8n/agentPaths.test.mts.
 */

type RunData = ConstructorParameters<typeof core.ExecuteContext>[4];
type Call = (parameters: IDataObject, args: IDataObject) => Promise<IDataObject[]>;

const startedRunData = () => n8nWorkflow.createRunExecutionData({}) as RunData;

/** AI Agent up to version 2, and the MCP Server Trigger: what holds the tool calls it itself. */
const calledWith =
	(runDataOf: () => RunData, executionId?: string, abort?: AbortSignal): Call =>
	async (parameters, args) => {
		await useBinaryMode('default');
		const loader = await loadPackage();
		const known = nodeTypesOf(loader);
		const plain = (type: string) => type.replace(/Tool$/, '');
		const nodeTypes = {
			...known,
			getByName: (type: string) => known.getByName(plain(type)),
			getByNameAndVersion: (type: string, version?: number) =>
				known.getByNameAndVersion(plain(type), version),
		};
		const type = 'n8n-nodes-media-generation.mediaGenerationTool';
		// n8n gives each call a node with another id.
		const own = node(parameters, { type, id: String(Math.random()), name: 'Target Node' });
		const file = { id: 'none', name: 'none', nodes: [own], connections: {} };
		const given = { credentials: { mediaGenerationApi: credential() } };
		const data = additionalDataFor(file, 'internal', given, (name) => {
			return loader.getCredential(name).type;
		});
		const flow = new n8nWorkflow.Workflow({ ...file, active: false, nodeTypes });
		const tool = flow.getNode(own.name) as INode;
		const runData = runDataOf();
		const runIndex = runData.resultData.runData[own.name]?.length ?? 0;
		const agentsItems: INodeExecutionData[] = [{ json: {} }];
		const context = new core.SupplyDataContext(
			...([flow, tool, { ...data, executionId }, 'webhook'] as const),
			...([runData, runIndex, agentsItems, {}] as const),
			...(['ai_tool', { node: tool, data: {}, source: null }, [] as never[]] as const),
			abort,
		);
		context.addInputData('ai_tool', [[{ json: args }]]);
		await flow.expression.acquireIsolate?.();
		try {
			const { execute } = nodeTypes.getByNameAndVersion(type, 1) as INodeType;
			const [output] = (await execute!.call(context as never)) as INodeExecutionData[][];
			expect(output!.filter(({ binary }) => binary)).toEqual([]);
			return output!.map(({ json }) => json);
		} finally {
			await flow.expression.releaseIsolate?.();
		}
	};

const mcp = calledWith(startedRunData);
const agentOfOneRun = (): Call => {
	const runData = startedRunData();
	return calledWith(() => runData, '1');
};

beforeEach(async () => await start({ pace: 0.01 }));

const TEXT_OF_MODEL = "={{ $fromAI('text') }}";
const hello = (options: IDataObject = {}) => speech(TEXT_OF_MODEL, options);

describe.each([
	['MCP Server Trigger', () => mcp],
	['AI Agent', agentOfOneRun],
])('%s', (_, callOf) => {
	test('a call after a failure collects; another text, and one after a success, are paid', async () => {
		const call = callOf();
		// The task cannot be read: the call fails, and its task is paid for.
		onRead(answer(400, { error: 'Not now' }));
		const [failed] = await call(hello(), { text: 'Hi.' });
		expect(failed!.error).toContain('Not now');
		const [other] = await call(hello(), { text: 'Bye.' });
		expect(other!.input).toMatch(/^Bye/);
		const [collected] = await call(hello({ timeout: 600 }), { text: 'Hi.' });
		expect(collected!.task_id).toBe(failed!.task_id);
		expect(collected!.input).toMatch(/^Hi/);
		expect(sim.chargedCalls).toBe(2);
		const [anew] = await call(hello(), { text: 'Hi.' });
		expect(anew!.task_id).not.toBe(collected!.task_id);
		expect(sim.chargedCalls).toBe(3);
	});
});

test.each([
	['in another order', { model: 'labs_v3', text: 'Hi.' }],
	[
		'with one that nothing uses',
		{ text: 'Hi.', model: 'labs_v3', reason: 'The first call failed' },
	],
])('a call with the same values %s collects', async (_, values) => {
	for (const call of [mcp, agentOfOneRun()]) {
		const fields = { ...hello(), modelId: "={{ $fromAI('model') }}" };
		onRead(answer(400, { error: 'Not now' }));
		const [failed] = await call(fields, { text: 'Hi.', model: 'labs_v3' });
		const [collected] = await call(fields, values);
		expect([collected!.error, collected!.task_id]).toEqual([undefined, failed!.task_id]);
	}
	expect(sim.chargedCalls).toBe(2);
});

test('a model is told whether the same call would find the result', async () => {
	const slow = (fields: IDataObject) => ({
		...fields,
		prompt: TEXT_OF_MODEL,
		options: { timeout: 1 },
	});
	const text = 'A boat [sim:slow=60000]';
	const repeat = /repeat this call with exactly the same values/;
	const late = slow(video(''));
	for (const message of [/^No result after 1 second$/, /^The result did not arrive: No result/]) {
		const [{ error, description }] = (await mcp(late, { text })) as [IDataObject];
		expect(error).toMatch(message);
		expect(description).toMatch(repeat);
		expect(description).not.toMatch(/charged:|this row/);
	}
	const [made] = await mcp(image(TEXT_OF_MODEL), { text: 'A boat' });
	const images = { operation: 'ingredientsToVideo', binaryPropertyName: made!.file_url };
	const [{ error, description }] = (await mcp({ ...late, ...images }, { text })) as [IDataObject];
	expect(error).toBe('No result after 1 second');
	expect(description).toMatch(/may have been charged: check History/);
	expect(description).not.toMatch(repeat);
});

test('a model is not told that the same call is free if a part of its text is not paid for yet', async () => {
	noCredit('Two');
	const options = { concurrency: 1, splitLongerThan: 10, pollInterval: 1 };
	const [{ error, description }] = (await mcp(
		{ ...hello(), options },
		{
			text: 'One one. Two two.',
		},
	)) as [IDataObject];
	expect(error).toMatch(/out of credit/);
	expect(description).not.toMatch(/no extra charge, repeat/);
	expect(sim.chargedCalls).toBe(1);
});

test('an agent makes a video of the image that it has made, by its address', async () => {
	const call = agentOfOneRun();
	const [made] = await call(image(TEXT_OF_MODEL), { text: 'A boat' });
	const fields = { resource: 'video', operation: 'ingredientsToVideo', prompt: 'It sails' };
	const images = { binaryPropertyName: "={{ $fromAI('images') }}", options: {} };
	const [video] = await call({ ...fields, ...images }, { images: made!.file_url });
	expect(video).toMatchObject({ file_url: expect.stringMatching(/mp4$/) });
	const { body } = requests('POST', '/v1/video/ingredients')[0]!;
	const bytes = sim.fileBytes(made!.file_url as string)!;
	expect(body.ingredients).toEqual([bytes.toString('base64')]);
	const [again] = await call({ ...fields, ...images }, { images: 'data' });
	expect(again!.error).toMatch(/no binary field 'data'/);
});

test('an agent that asks for a hundred images gets as many as it may pay for', async () => {
	const call = agentOfOneRun();
	const fields = image(TEXT_OF_MODEL, { maxPaidPerExecution: 4 });
	const texts = Array.from({ length: 100 }, (_, n) => `A ${n % 50}`);
	const calls = texts.map(async (text) => await call(fields, { text }));
	const records = (await Promise.all(calls)).flat();
	// Each image was asked for twice at once, and both calls get it.
	expect(records.filter(({ file_url }) => file_url !== undefined)).toHaveLength(8);
	const refused = records.filter(({ error }) => error !== undefined);
	expect(refused).toHaveLength(92);
	expect(refused[91]!.error).toContain("'Max Paid Requests' is 4");
	expect(sim.chargedCalls).toBe(4);
});

test('a call that may pay for less is not refused what it has reserved before others', async () => {
	const call = agentOfOneRun();
	onCreate({ delayMs: 300 }, ALWAYS);
	const withLimit = (maxPaidPerExecution: number) =>
		hello({ concurrency: 1, splitLongerThan: 10, pollInterval: 1, maxPaidPerExecution });
	const calls = [
		call(withLimit(2), { text: 'One one. Two two.' }),
		call(withLimit(9), { text: 'Three. Four four.' }),
	];
	const errors = (await Promise.all(calls)).flat().map(({ error }) => error);
	expect(errors).toEqual([undefined, undefined]);
	expect(sim.chargedCalls).toBe(4);
});

test('a model gets no file that the service sends in its answer, not even as text', async () => {
	onRead(answer(200, { id: 1, status: 'completed', result: 'data:audio/mpeg;base64,SUQz' }));
	expect(await mcp(hello(), { text: 'Hi.' })).toEqual([
		{ task_id: expect.any(String), id: '1', status: 'completed' },
	]);
});

test('a model gets the address that the history has, if the service sends the video itself', async () => {
	const file_url = 'data:video/mp4;base64,AAAAGGZ0eXBtcDQy';
	const completion = JSON.stringify([{ id: 'v1', prompt: 'A', status: 'completed', file_url }]);
	onCreate({ sse: [`event: video_generation_complete\ndata: ${completion}\n\n`, 'END'] });
	sim.history.push(made('v1', { prompt: 'A' }));
	const [one] = await mcp(video(TEXT_OF_MODEL), { text: 'A' });
	expect(one).toMatchObject({ id: 'v1', file_url: `${sim.fileOrigin}/files/video/v1.mp4` });
});

describe('the same call, repeated while the first one is under way', () => {
	const callsOf = () => [mcp, agentOfOneRun()] as const;

	test.each([0, 1])('waits for its create call, and collects the same task (%i)', async (which) => {
		const call = callsOf()[which]!;
		onCreate({ delayMs: 1500 });
		const first = call(hello(), { text: 'Hi.' });
		await sim.waitFor(() => posts() === 1);
		const [[one], [two]] = await Promise.all([first, call(hello(), { text: 'Hi.' })]);
		expect(one!.error).toBeUndefined();
		expect(two!.task_id).toBe(one!.task_id);
		expect(two!.audio_url).toBe(one!.audio_url);
		expect(sim.chargedCalls).toBe(1);
	});

	test('gets the same files of an image', async () => {
		const fields = image(TEXT_OF_MODEL, { maxPaidPerExecution: 1 });
		const call = agentOfOneRun();
		const first = call(fields, { text: 'A' });
		await sim.waitFor(() => posts() === 1);
		const [[one], [two]] = await Promise.all([first, call(fields, { text: 'A' })]);
		expect(one!.error).toBeUndefined();
		expect(two!.file_url).toBe(one!.file_url);
		expect(sim.chargedCalls).toBe(1);
	});

	test('needs no paid request of its own, even in the same moment', async () => {
		const fields = image(TEXT_OF_MODEL, { maxPaidPerExecution: 2 });
		const call = agentOfOneRun();
		const calls = ['A', 'A', 'B', 'A'].map(async (text) => await call(fields, { text }));
		const [one, two, other, three] = (await Promise.all(calls)).flat();
		expect(other!.prompt).toBe('B');
		expect([two!.file_url, three!.file_url]).toEqual([one!.file_url, one!.file_url]);
		const [refused] = await call(fields, { text: 'C' });
		expect(refused!.error).toContain('needs 3 paid requests (2 already sent)');
		expect(sim.chargedCalls).toBe(2);
	});

	test('is sent after all when the time of the first one is up, and is counted once', async () => {
		const call = agentOfOneRun();
		const within = (timeout: number) => image(TEXT_OF_MODEL, { maxPaidPerExecution: 1, timeout });
		onCreate(answer(429, { error: 'Too many requests' }, { 'retry-after': '2' }));
		const first = call(within(1), { text: 'A' });
		await sim.waitFor(() => posts() === 1);
		const [[late], [made]] = await Promise.all([first, call(within(60), { text: 'A' })]);
		expect(late!.error).toContain('Too many requests');
		expect(made).toMatchObject({ file_url: expect.any(String) });
		const [refused] = await call(within(60), { text: 'B' });
		expect(refused!.error).toContain('needs 2 paid requests (1 already sent)');
		expect(sim.chargedCalls).toBe(1);
	});

	test.each([
		['a speech', hello],
		['an image', () => image(TEXT_OF_MODEL)],
	])('fails as the first one does: %s', async (_, fieldsOf) => {
		onCreate({ delayMs: 500, ...answer(402, { error: 'Out of credit' }) });
		const calls = [1, 2].map(async () => await mcp(fieldsOf(), { text: 'Hi.' }));
		const errors = (await Promise.all(calls)).flat().map(({ error }) => String(error));
		expect(errors[0]).toContain('out of credit');
		expect(errors[1]).toBe(errors[0]);
		expect(posts()).toBe(1);
	});

	test('says what is true when the first one was canceled', async () => {
		const cancel = new AbortController();
		onCreate({ hang: true });
		const first = calledWith(startedRunData, undefined, cancel.signal)(hello(), { text: 'Hi.' });
		const canceled = expect(first).rejects.toThrow('canceled');
		await sim.waitFor(() => posts() === 1);
		const second = mcp(hello(), { text: 'Hi.' });
		cancel.abort();
		await canceled;
		const [{ error, maybe_paid }] = (await second) as [IDataObject];
		expect([error, maybe_paid]).toEqual([expect.stringContaining('An earlier attempt'), true]);
		expect(posts()).toBe(1);
	});
});
