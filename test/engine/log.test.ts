import { logged, removeLog } from '../faults/log.mts';
import { node, NODE, run, sim, speech, start } from './setup';

/* What an operator finds in n8n's log, and in its tracing, of what was paid. */

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
const waited = expect.stringMatching(/^\d+$/);
const lastTask = () => [...sim.tasks.keys()].at(-1)!;
const tracedOf = (result: Awaited<ReturnType<typeof run>>) =>
	result.run.data.resultData.runData[NODE]?.[0]?.metadata?.tracing;

test('a spoken text leaves a line when it is paid, and one when it ends', async () => {
	await start();
	sim.fault({ method: 'POST', action: { respond: { status: 429 } } });
	const result = await run(node(speech('Hello.')));
	const task = lastTask();
	const bytes = String(sim.fileBytes(sim.tasks.get(task)!.audioUrl!)!.length);
	expect(await linesAtInfo()).toEqual([
		{ item: '0', event: 'paid', kind: 'speech', task, attempts: '2' },
		{
			item: '0',
			event: 'done',
			operation: 'speech:speak',
			task,
			attempts: '2',
			channel: 'websocket',
			waited_ms: waited,
			bytes,
		},
	]);
	expect(tracedOf(result)).toEqual({
		'media.paid': 1,
		'media.failed': 0,
		'media.waited_ms': expect.any(Number),
		'media.bytes': Number(bytes),
	});
});

test('one that fails says why, and that it was looked up', async () => {
	await start();
	sim.setWebSocketMode('refuse');
	const result = await run(node(speech('[sim:task-fails] No.')));
	const [paid, failed, ...others] = await linesAtInfo();
	expect(paid).toMatchObject({ event: 'paid', task: lastTask() });
	expect(failed).toMatchObject({ event: 'failed', task: lastTask(), reason: 'taskFailed' });
	expect(others).toEqual([]);
	expect(tracedOf(result)).toMatchObject({ 'media.paid': 1, 'media.failed': 1 });
});

test('an image whose stream was lost was found in the history', async () => {
	await start();
	const prompt = '[sim:stream-resets] A paper boat';
	await run(node({ resource: 'image', operation: 'create', prompt, options: {} }));
	const [paid, done, ...others] = await linesAtInfo();
	expect(paid).toMatchObject({ event: 'paid', kind: 'image', attempts: '1' });
	expect(done).toMatchObject({ event: 'done', operation: 'image:create', channel: 'history' });
	expect(others).toEqual([]);
});

test('what costs nothing is no news, and no token is in any line', async () => {
	await start();
	await run(node({ resource: 'account', operation: 'get' }));
	expect(await linesAtInfo()).toEqual([]);
	sim.fault({
		method: 'POST',
		action: { respond: { status: 200, body: { task_id: `x ${sim.token}` } } },
	});
	await run(node(speech('Hello.', { timeout: 10 })));
	const lines = await linesAtInfo();
	expect(lines).toHaveLength(2);
	expect(lines[0]).toMatchObject({ event: 'paid', task: '"x' });
	expect(await logged()).not.toContain(sim.token);
});
