import { logged, removeLog } from '../faults/log.mts';
import { stop } from './seen';
import { answer, onCreate, onFile } from './service';
import { begin, EACH, image, node, RETRY, run, sim, speech, texts } from './setup';

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
