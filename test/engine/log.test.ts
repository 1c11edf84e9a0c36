import { logged, removeLog } from '../faults/log.mts';
import { good, stop } from './seen';
import { answer, onCreate, onFile, tasks } from './service';
import { begin, EACH, image, node, RETRY, run, sim, speech, texts, video } from './setup';
import { SENTENCES, split, TEXT } from './longText';

/* What n8n's log tells an operator of what was paid for. */

afterAll(removeLog);

const seen = new Set<string>();
/** The node's lines at info since the last call, each as its event and its `key=value` pairs. */
async function linesAtInfo() {
	const lines = (await logged()).split('\n').filter((line) => line && !seen.has(line));
	lines.forEach((line) => seen.add(line));
	return lines
		.map((line) => JSON.parse(line) as { level: string; message: string })
		.filter(({ level, message }) => level === 'info' && message.startsWith('Media Generation'))
		.map(({ message }) => {
			const [, item, event, rest] = /^Media Generation, Item (\d+): (\w+)(.*)$/.exec(message)!;
			const pairs = rest!.trim().split(' ');
			return { item, event, ...Object.fromEntries(pairs.map((pair) => pair.split('='))) };
		});
}
const events = (lines: Array<{ event?: string }>) => lines.map(({ event }) => event);
const waited = expect.stringMatching(/^\d+$/);
const lastTask = () => [...sim.tasks.keys()].at(-1)!;

test('a spoken text leaves a line when it is paid, and one when it ends', async () => {
	onCreate(answer(429));
	await run(speech('Hello.'));
	const task = lastTask();
	const bytes = String(sim.fileBytes(sim.tasks.get(task)!.audioUrl!)!.length);
	const end = { operation: 'speech:speak', channel: 'websocket', waited_ms: waited, bytes };
	expect(await linesAtInfo()).toEqual([
		{ item: '0', event: 'paid', kind: 'speech', task, attempts: '2' },
		{ item: '0', event: 'done', task, attempts: '2', ...end },
	]);
});

test('an image whose stream was lost was found in the history', async () => {
	await run(image('[sim:stream-resets] A paper boat'));
	expect(await linesAtInfo()).toMatchObject([
		{ event: 'paid', kind: 'image', attempts: '1' },
		{ event: 'done', operation: 'image:create', channel: 'history' },
	]);
});

test.each([
	['is refused', answer(422, { error: 'no' }), undefined],
	['is not answered', { accepted: true, ...answer(500) }, '1'],
])(
	'a request that %s has no paid line, and says whether it may be paid',
	async (_, action, maybePaid) => {
		onCreate(action);
		await run(speech('Hello.', { timeout: 5 }));
		const lines = await linesAtInfo();
		expect(lines).toMatchObject([{ event: 'failed', attempts: '1' }]);
		expect(lines[0]!.maybe_paid).toBe(maybePaid);
	},
);

test('a generation that the service calls unsafe is not paid', async () => {
	await run(image('[sim:unsafe] A paper boat'));
	const failed = (await linesAtInfo()).at(-1);
	expect(failed).toMatchObject({ event: 'failed', operation: 'image:create' });
	expect(failed).not.toHaveProperty('maybe_paid');
});

test('what costs nothing leaves no line, and no line holds a token', async () => {
	await run({ resource: 'account', operation: 'get' });
	expect(await linesAtInfo()).toEqual([]);
	onCreate(answer(200, { task_id: `x ${sim.token}` }));
	await run(speech('Hello.', { timeout: 10 }));
	const lines = await linesAtInfo();
	expect(lines).toHaveLength(2);
	expect(lines[0]).toMatchObject({ event: 'paid', task: '"x' });
	expect(await logged()).not.toContain(sim.token);
});

test('each part of a long text has its own line, with its own task and attempts', async () => {
	onCreate(answer(429), { body: SENTENCES[2]! });
	const result = await run(split(TEXT));
	const bytes = String((await result.bytes(good(result)[0]!.binary!.data!)).length);
	const lines = await linesAtInfo();
	const end = lines.pop();
	const paid = tasks().map(({ id, input }) => {
		const part = SENTENCES.findIndex((sentence) => input.includes(sentence)) + 1;
		const attempts = part === 3 ? '2' : '1';
		const shared = { item: '0', event: 'paid', kind: 'speech', parts: '12' };
		return { ...shared, part: `${part}`, task: id, attempts };
	});
	expect(paid).toHaveLength(12);
	expect(lines).toHaveLength(12);
	// The part that was refused is paid for when the others have been heard of.
	const each = paid.map((line) => expect.objectContaining(line));
	expect(lines).toEqual(expect.arrayContaining(each));
	const made = { operation: 'speech:speak', parts: '12', attempts: '13', channel: 'websocket' };
	expect(end).toEqual({ item: '0', event: 'done', ...made, waited_ms: waited, bytes });
});

test('a long text that fails says which part did, and its task', async () => {
	const text = TEXT.replace('sentence 02', '[sim:task-fails] sentence 02');
	await run(split(text, { concurrency: 1 }));
	const failed = (await linesAtInfo()).at(-1);
	const { id } = tasks().find(({ input }) => input.includes('task-fails'))!;
	expect(failed).toMatchObject({ event: 'failed', reason: 'taskFailed', part: '3', task: id });
	expect(failed).not.toHaveProperty('maybe_paid');
});

test('videos of one request have one line, and the size of all their files', async () => {
	const result = await run(video('A paper boat', {}, { numberOfVideos: 2 }));
	const files = good(result).map(({ binary }) => binary!.data!);
	const sizes = await Promise.all(files.map(async (file) => (await result.bytes(file)).length));
	const streamed = { item: '0', attempts: '1', channel: 'stream' };
	expect(await linesAtInfo()).toMatchObject([
		{ ...streamed, event: 'paid', kind: 'video' },
		{
			...{ ...streamed, event: 'done', operation: 'video:textToVideo', waited_ms: waited },
			ids: expect.stringContaining(String(sim.history[0]!.id)),
			bytes: String(sizes.reduce((sum, size) => sum + size)),
		},
	]);
});

test('a request that a retry finds to be paid has one paid line, from then on', async () => {
	// Its answer is lost, and for now the history, too.
	onCreate({ accepted: true, ...answer(504) });
	const result = await run(node(image('A paper boat', { timeout: 1 }), { ...RETRY, maxTries: 4 }));
	expect(good(result)).toHaveLength(1);
	const lines = await linesAtInfo();
	const [failed] = lines;
	expect(failed).toMatchObject({ reason: 'streamLost', attempts: '1', maybe_paid: '1' });
	// On a busy machine more than one attempt may be too short.
	const [paid, done, ...others] = lines.filter(({ event }) => event !== 'failed');
	expect([paid!.event, done!.event, others]).toEqual(['paid', 'done', []]);
	expect(done).toMatchObject({ channel: 'history' });
	expect(done).not.toHaveProperty('maybe_paid');
});

test('what a retry collects is not paid again, and its end is told', async () => {
	onFile(answer(410));
	await run(node(image('A paper boat'), RETRY));
	onFile(answer(410));
	await run(node(speech('Hello.'), RETRY));
	const lines = await linesAtInfo();
	expect(events(lines)).toEqual(['paid', 'failed', 'done', 'paid', 'failed', 'done']);
	expect(lines[2]).toMatchObject({ operation: 'image:create', channel: 'kept' });
	expect(lines[5]).toMatchObject({ operation: 'speech:speak', task: lastTask() });
});

test('an execution that is stopped leaves the end of every item that was paid', async () => {
	const items = texts('One [sim:slow=9000]', 'Two [sim:slow=9000]');
	const execution = await begin(speech(EACH), items);
	await sim.waitFor(() => sim.tasks.size === 2 && sim.count('GET', '/v1/labs/task') > 1);
	await stop(execution);
	const lines = await linesAtInfo();
	expect(events(lines)).toEqual(['paid', 'paid', 'failed', 'failed']);
	expect(lines[3]).toMatchObject({ reason: 'canceled', task: expect.anything() });
});

test('what a limit keeps from being sent leaves no line', async () => {
	await run(speech('Hello.', { maxPaidPerExecution: 1 }), { items: [{}, {}] });
	expect(await linesAtInfo()).toEqual([]);
});
