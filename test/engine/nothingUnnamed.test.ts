import { logged, removeLog } from '../faults/log.mts';
import { workflowInLoop } from '../faults/workflow.mts';
import { SENTENCES, split } from './longText';
import { bad, stop } from './seen';
import { answer, made, onCreate, onFile, posts, taskOf, tasks } from './service';
import {
	account,
	begin,
	CONTINUE,
	EACH,
	fakeTime,
	image,
	NODE,
	node,
	RETRY,
	run,
	said,
	sim,
	speech,
	texts,
	video,
} from './setup';
import { hasten } from './time';
import { status } from '../faults/row.mts';

/* What is paid for, or may be, is named and kept when a run ends early. */

afterAll(() => removeLog());

/** The create call of the item whose text, or prompt, begins so. */
const ofItem = (text: string) => ({ body: `":"${text}` });

/** An event of a stream that tells which video is in the making. */
const tellsId = (id: string) => status({ status: 'processing', id });

describe('when another item fails', () => {
	test.each([
		['speech, which is paid', speech, {}, 'so free in that retry: 1 other row (task 1).'],
		['video, which is refused', video, answer(400), ''],
		[
			'video, whose answer is plain JSON',
			video,
			answer(200, { id: 'late', file_url: 'https://files.example.com/late.mp4' }),
			'so free in that retry: 1 other row (video late).',
		],
	])(
		'a create call under way gets its answer, however late, and no further one begins: %s',
		async (_, of, what, words) => {
			fakeTime();
			onCreate({ delayMs: 60_000, ...what }, ofItem('One'));
			const items = texts('One.', 'Two [sim:task-fails] [sim:unsafe]', 'Three.');
			const { result, seconds } = await hasten(of(EACH, { concurrency: 2 }), items);
			expect(seconds).toBeGreaterThan(50);
			const { message, description } = bad(result);
			expect(message).toContain('Row 2: ');
			expect(description.replace(/task \d+\)/, 'task 1)')).toContain(words);
			expect(posts()).toBe(2);
		},
	);

	test('what an earlier attempt paid for is named by the next, also of items that it did not come to', async () => {
		const subject = speech(EACH, { concurrency: 1 });
		onFile(answer(410), { after: 2 });
		const first = await run(subject, texts('One.', 'Two.', 'Three.'));
		expect(bad(first).message).toContain('Row 3: ');
		onFile(answer(410));
		const { message, description } = bad(await run(subject, { retryOf: first.run }));
		expect(message).toContain('Row 1: ');
		const [two, three] = ['Two', 'Three'].map((text) => taskOf(text).id);
		expect(description).toContain(`2 other rows (tasks ${two}, ${three}).`);
		expect(posts()).toBe(3);
	});
});

test.each([
	['its stream goes on', [tellsId('video-7')], 'No result after 5 seconds'],
	['the history is searched', [tellsId('video-7'), 'END' as const], 'result did not arrive'],
])('a time-out while %s names the videos that the stream has told of', async (_, sse, words) => {
	onCreate({ sse });
	fakeTime();
	const { result } = await hasten(video(EACH, { timeout: 5 }), texts('Mine'));
	const { message, description } = bad(result);
	expect(message).toContain(words);
	expect(description).toMatch(/[Tt]he result has the ID video-7\./);
});

test('a stop names what is paid and what may be, in the error, on the screen and once in the log', async () => {
	onCreate({ hang: true, accepted: true }, ofItem('Three'));
	const items = texts('One [sim:slow=600]', 'Two [sim:slow=600]', 'Three.');
	const execution = await begin(speech(EACH), items);
	await sim.waitFor(() => sim.tasks.size === 3);
	await sim.waitFor(() => sim.requests.filter(({ status }) => status === 200).length === 2);
	const { message, description } = bad(await stop(execution));
	expect(message).toBe('The execution was canceled');
	const [one, two, three] = ['One', 'Two', 'Three'].map((text) => taskOf(text).id);
	expect(description).toContain(`Already paid for: tasks ${one}, ${two}.`);
	expect(description).toContain('(not confirmed by the service): speech of row 3.');
	expect(description).not.toContain(three);
	const warning = `Media Generation: The execution was canceled. ${description}`;
	expect((await logged()).split(warning)).toHaveLength(2);
	// n8n throws the step's data away, and shows no error of a stopped node.
	// In the editor, what README advises comes first.
	expect(said.at(-1)).toBe(
		`Stopped. To continue, click Execute step on the next node (if there is none, add one) within an hour: only what is missing is charged (not in queue mode). If that can't be done: ${description}`,
	);
});

test('in a loop, a stopped run is continued at the node after the loop', async () => {
	const execution = await begin(workflowInLoop(node(speech(EACH)), 1), texts('[sim:slow=3000]'));
	await sim.waitFor(() => sim.tasks.size === 1);
	await stop(execution);
	expect(said.at(-1)).toMatch(
		/^Stopped\. To continue, click Execute step on the node after the loop, not in it \(if there is none, add one\) within an hour/,
	);
});

/* What n8n's log tells an operator of what was paid for. */

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

test('what is paid leaves one line, also when a retry collects it', async () => {
	await linesAtInfo();
	onCreate(answer(429));
	onFile(answer(410));
	await run(node(speech('Hello.'), RETRY));
	expect(await linesAtInfo()).toEqual([
		`Media Generation, row 1: paid kind=speech task=${tasks()[0]!.id}`,
	]);
	await run(image('A paper boat'));
	expect(await linesAtInfo()).toEqual([expect.stringContaining('row 1: paid kind=image')]);
	expect(await logged()).toContain('row 1: image done');
});

test('each part of a long speech leaves a line that says which it is', async () => {
	await linesAtInfo();
	await run(split(SENTENCES.slice(0, 2).join(' ')));
	const ids = SENTENCES.slice(0, 2).map((sentence) => taskOf(sentence).id);
	expect((await linesAtInfo()).sort()).toEqual(
		ids.map((id, n) => `Media Generation, row 1: paid kind=speech part=${n + 1} task=${id}`),
	);
	expect(said.join('\n')).toContain(`Row 1 of 1: part 2 of 2, task ${ids[1]} created`);
});

test('what costs nothing leaves no line, and no line holds a token', async () => {
	await run(account);
	onCreate(answer(422, { error: 'no' }));
	await run(speech('Hello.', { timeout: 5 }));
	expect(await linesAtInfo()).toEqual([]);
	onCreate(answer(200, { task_id: `x ${sim.token}` }));
	await run(speech('Hello.', { timeout: 10 }));
	expect(await linesAtInfo()).toEqual([expect.stringContaining('paid kind=speech task="x ')]);
	expect(await logged()).not.toContain(sim.token);
});

test('a lost video is named also where the history shows its prompt with other white space', async () => {
	fakeTime();
	onCreate({ sse: [status('processing'), 'RESET'] });
	const shown = ['A boat\non the sea', 'A boat  on the sea', 'A boat on…', 'A boat on land'];
	sim.history.push(...shown.map((prompt, n) => made(`v${n}`, { prompt })));
	const { result } = await hasten(video('A boat\r\non the sea', { timeout: 60 }));
	expect(bad(result).description).toMatch(
		/^One of these .* may be the result: (?=.*v0)(?=.*v1).*v2/,
	);
	expect(bad(result).description).not.toContain('v3');
});

test('what another row has got is not named as what a row may have lost', async () => {
	fakeTime();
	onCreate({ sse: [status('processing'), 'RESET'] }, { body: 'A boat!' });
	const fields = video(EACH, { timeout: 60 });
	const { result } = await hasten(node(fields, CONTINUE), texts('A boat!', 'A boat'));
	const [lost, received] = result.items(NODE);
	expect(lost!.json.maybe_paid).toBe(true);
	expect(received!.json.prompt).toBe('A boat');
	expect(lost!.json.description).not.toContain(received!.json.id);
});
