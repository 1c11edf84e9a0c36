import { logged, removeLog } from '../faults/log.mts';
import { answer, onCreate, onFile } from './service';
import { image, node, RETRY, run, sim, speech } from './setup';

/* What n8n's log tells an operator of what was paid for. */

afterAll(removeLog);

const seen = new Set<string>();
/** What the node's lines at info since the last call say. */
async function linesAtInfo() {
	const lines = (await logged()).split('\n').filter((line) => line && !seen.has(line));
	lines.forEach((line) => seen.add(line));
	return lines
		.map((line) => JSON.parse(line) as { level: string; message: string })
		.filter(({ level, message }) => level === 'info' && message.startsWith('Media Generation'))
		.map(({ message }) => message);
}
const lastTask = () => [...sim.tasks.keys()].at(-1)!;

test('what is paid leaves one line, also when a retry collects it', async () => {
	onCreate(answer(429));
	onFile(answer(410));
	await run(node(speech('Hello.'), RETRY));
	expect(await linesAtInfo()).toEqual([
		`Media Generation, Item 0: paid kind=speech task=${lastTask()}`,
	]);
	await run(image('A paper boat'));
	expect(await linesAtInfo()).toEqual([expect.stringContaining('Item 0: paid kind=image')]);
});

test('what costs nothing leaves no line, and no line holds a token', async () => {
	await run({ resource: 'account', operation: 'get' });
	onCreate(answer(422, { error: 'no' }));
	await run(speech('Hello.', { timeout: 5 }));
	expect(await linesAtInfo()).toEqual([]);
	onCreate(answer(200, { task_id: `x ${sim.token}` }));
	await run(speech('Hello.', { timeout: 10 }));
	expect(await linesAtInfo()).toEqual([expect.stringContaining('paid kind=speech task="x ')]);
	expect(await logged()).not.toContain(sim.token);
});
