import type { IDataObject, INode } from 'n8n-workflow';
import { LOOP, workflowInLoop } from '../faults/workflow.mts';
import { bad, good, hints, stop } from './seen';
import { ALWAYS, answer, noCredit, onCreate, posts, tasks } from './service';
import { begin, EACH, image, node, run, sim, speech, texts, video, workflow, NODE } from './setup';

/* Execute step on a later node runs this one again when the editor has lost its output. */

const LATER = 'Later';
const later = node(
	{},
	{ name: LATER, id: 'later', type: 'n8n-nodes-base.manualTrigger', credentials: {} },
);
/** Each test has a node of its own: what it has requested is remembered for an hour. */
let id = 0;
beforeEach(() => id++);
const before = (parameters: IDataObject, more: Partial<INode> = {}) =>
	workflow(node(parameters, { id: `node-${id}`, ...more }), later);
const rows = texts('One', 'Two', 'Three', 'Four', 'Five');
const HINT = 'of an earlier run, at no extra charge';

test('a step on a later node collects what the last run has requested', async () => {
	const first = await run(before(speech(EACH)), rows);
	const step = await run(before(speech(EACH, { timeout: 33 })), {
		...rows,
		destinationName: LATER,
	});
	expect(good(step).map(({ json }) => json.task_id)).toEqual(
		good(first).map(({ json }) => json.task_id),
	);
	expect(step.items(LATER)).toHaveLength(5);
	expect(hints(step).filter((hint) => hint.includes(HINT))).toHaveLength(1);
	expect(posts()).toBe(5);
	await run(before(speech(EACH, { speed: 1.1 })), { ...rows, destinationName: LATER });
	expect(posts()).toBe(10);
});

test.each([
	['at this node', { destinationName: NODE }],
	['at the whole workflow', {}],
	['at nothing, by a schedule', { destinationName: LATER, mode: 'trigger' as const }],
])('a run that is aimed %s requests anew', async (_, aim) => {
	await run(before(speech(EACH)), rows);
	const again = await run(before(speech(EACH)), { ...rows, ...aim });
	expect(hints(again).join()).not.toContain(HINT);
	expect(posts()).toBe(10);
});

test('another node, another item and another value of an expression are requested', async () => {
	const text = '={{ $json.t }} {{ $workflow.name }}';
	const setting = { ...texts('One'), destinationName: LATER };
	const named = (name: string, t = 'One', more: Partial<INode> = {}) => {
		const subject = before(speech(text), more);
		subject.name = name;
		return run(subject, { ...setting, ...texts(t) });
	};
	await named('A');
	await named('A');
	expect(posts()).toBe(1);
	await named('B');
	await named('A', 'Two');
	await named('A', 'One', { id: `other-${id}` });
	expect(posts()).toBe(4);
	await named('A');
	expect(posts()).toBe(4);
});

test.each([
	['of the editor is collected', {}, 1],
	['of a published workflow is requested anew', { mode: 'trigger' as const }, 2],
])('what a stopped run %s', async (_, started, sent) => {
	const rows = texts('One [sim:slow=3000]');
	const stopped = await begin(before(speech(EACH)), { ...rows, ...started });
	await sim.waitFor(() => tasks().length === 1);
	await stop(stopped);
	const onlyCreates = { ...speech(EACH), waitForCompletion: false };
	await run(before(onlyCreates), { ...rows, destinationName: LATER });
	expect(posts()).toBe(sent);
});

test('in a loop that was stopped, only a step after the loop collects all rounds', async () => {
	const { connections, nodes, ...file } = workflowInLoop(
		node(speech(EACH), { id: `node-${id}` }),
		1,
	);
	const done = { node: LATER, type: 'main' as const, index: 0 };
	const { main } = connections[LOOP]!;
	const subject = {
		...file,
		nodes: [...nodes, later],
		connections: { ...connections, [LOOP]: { main: [[done], main![1]!] } },
	};
	const rows = texts('One', 'Two', 'Three [sim:slow=3000]');
	const execution = await begin(subject, rows);
	await sim.waitFor(() => (tasks()[2]?.readCount ?? 0) > 0);
	await stop(execution);
	sim.endTask(tasks()[2]!.id);
	const step = await run(subject, { ...rows, destinationName: LATER });
	expect(step.error).toBeUndefined();
	expect(step.items(LATER)).toHaveLength(3);
	expect(posts()).toBe(3);
});

test('of a run that failed, only what failed is sent again', async () => {
	noCredit('Two');
	bad(await run(before(speech(EACH)), texts('One', 'Two')));
	good(await run(before(speech(EACH)), { ...texts('One', 'Two'), destinationName: LATER }));
	expect(posts()).toBe(3);
});

test('a corrected row of a batch is charged alone', async () => {
	onCreate(answer(400, { error: 'unsafe' }), { body: '":"Bad', ...ALWAYS });
	bad(await run(before(speech(EACH)), texts('One', 'Bad', 'Three')));
	const charged = sim.chargedCalls;
	const step = await run(before(speech(EACH)), {
		...texts('One', 'Good', 'Three'),
		destinationName: LATER,
	});
	expect(step.items(LATER)).toHaveLength(3);
	expect(charged).toBe(2);
	expect(sim.chargedCalls).toBe(3);
});

test('a row stays free if other rows are deleted, inserted or sorted, and equal rows are separate', async () => {
	const all = async (...rows: string[]) => {
		good(await run(before(speech(EACH)), { ...texts(...rows), destinationName: LATER }));
		return posts();
	};
	expect(await all('One', 'Bad', 'Three', 'Three')).toBe(4);
	expect(await all('Three', 'One', 'Three')).toBe(4);
	expect(await all('New', 'Three', 'Three', 'One', 'Three')).toBe(6);
});

test('what may have been charged is not sent again, until somebody executes this node itself', async () => {
	onCreate({ ...answer(500), accepted: true }, { times: 1 });
	bad(await run(before(speech('Hi'))));
	const { message, description } = bad(await run(before(speech('Hi')), { destinationName: LATER }));
	expect(message).toContain('unclear whether the service accepted it');
	expect(description).toContain("'Execute step' here charges");
	expect(posts()).toBe(1);
	good(await run(before(speech('Hi')), { destinationName: NODE }));
	good(await run(before(speech('Hi')), { destinationName: LATER }));
	expect(posts()).toBe(2);
});

test('a video is collected with its file', async () => {
	const first = good(await run(before(video('A dog'))));
	const step = await run(before(video('A dog')), { destinationName: LATER });
	expect(good(step)[0]!.binary!.data!.fileSize).toBe(first[0]!.binary!.data!.fileSize);
	expect(hints(step).join()).toContain(HINT);
	expect(sim.countRequests('POST', '/v1/video/text')).toBe(1);
});

test('an image whose stream holds the file itself is requested anew, since a file is too large to keep', async () => {
	const file_url = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUg==';
	const done = `event: image_generation_complete\ndata: ${JSON.stringify([{ file_url }])}\n\n`;
	onCreate({ sse: ['event: image_generation_status\ndata: "starting"\n\n', done, 'END'] }, ALWAYS);
	good(await run(before(image('A dog'))));
	good(await run(before(image('A dog', { timeout: 30 })), { destinationName: LATER }));
	expect(posts()).toBe(2);
});

test.each([
	// Older versions of n8n don't note the exact size.
	['rounded size', {}],
	['exact size', { bytes: 16 }],
])('another image of the same name and %s is requested', async (_, size) => {
	const fields = before(video('They dance', {}, { operation: 'ingredientsToVideo' }));
	const step = async (lastDigit: number) => {
		const data = Buffer.from(`89504e470d0a1a0a0000000d4948445${lastDigit}`, 'hex').toString(
			'base64',
		);
		const file = { data, mimeType: 'image/png', fileName: 'in.png', fileSize: '1 kB', ...size };
		const input = [{ json: {}, binary: { data: file } }];
		good(await run(fields, { input, destinationName: LATER }));
		return sim.countRequests('POST', '/v1/video/ingredients');
	};
	expect([await step(1), await step(1), await step(2)]).toEqual([1, 1, 2]);
});

test('an hour later it is requested anew', async () => {
	await run(before(speech('Hi')));
	const now = Date.now();
	jest.spyOn(Date, 'now').mockImplementation(() => now + 3_600_001);
	try {
		await run(before(speech('Hi')), { destinationName: LATER });
	} finally {
		jest.restoreAllMocks();
	}
	expect(posts()).toBe(2);
});
