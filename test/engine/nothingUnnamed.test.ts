import { logged, removeLog } from '../faults/log.mts';
import { bad, good, saved, stop } from './seen';
import { answer, onCreate, onFile, posts, taskOf } from './service';
import { begin, EACH, fakeTime, run, said, sim, speech, texts, video } from './setup';
import { hasten } from './time';
import { status } from './videos';

/* What is paid for, or may be, is named and kept when a run ends early. */

afterAll(() => removeLog());

/** The create call of the item whose text, or prompt, begins so. */
const ofItem = (text: string) => ({ body: `":"${text}` });

/** An event of a stream that tells which video is in the making. */
const tellsId = (id: string) => status({ status: 'processing', id });

describe('when another item fails', () => {
	test('a create call under way gets its answer, however late, and no further one begins', async () => {
		fakeTime();
		onCreate({ delayMs: 60_000 }, ofItem('One'));
		const items = texts('One.', 'Two [sim:task-fails]', 'Three.');
		const { result, seconds } = await hasten(speech(EACH, { concurrency: 2 }), items);
		expect(seconds).toBeGreaterThan(50);
		const { description, itemIndex } = bad(result);
		expect(itemIndex).toBe(1);
		expect(description).toContain(`Paid: item 0: task ${taskOf('One').id}.`);
		expect([posts(), sim.creates]).toEqual([2, 2]);
	});

	test('what an earlier attempt paid for is named by the next, also of items that it did not come to', async () => {
		const subject = speech(EACH, { concurrency: 1 });
		onFile(answer(410), { after: 2 });
		const first = await run(subject, texts('One.', 'Two.', 'Three.'));
		expect(bad(first).itemIndex).toBe(2);
		onFile(answer(410));
		const { itemIndex, description } = bad(await run(subject, { retryOf: first.run }));
		expect(itemIndex).toBe(0);
		for (const text of ['Two', 'Three']) expect(description).toContain(`task ${taskOf(text).id}`);
		expect(posts()).toBe(3);
	});
});

test.each([
	['its stream goes on', [tellsId('video-7')], 'No result after 1 second'],
	['the history is searched', [tellsId('video-7'), 'END' as const], 'stopped reporting'],
])('a time-out while %s names the videos that the stream has told of', async (_, sse, words) => {
	onCreate({ sse });
	const { message, description } = bad(await run(video(EACH, { timeout: 1 }), texts('Mine')));
	expect(message).toContain(words);
	expect(description).toMatch(/History → Get Many as video-7\./);
});

describe('a stop', () => {
	test('names what is paid and what may be, in the error, on the screen and once in the log', async () => {
		onCreate({ hang: true, accepted: true }, ofItem('Three'));
		const items = texts('One [sim:slow=600]', 'Two [sim:slow=600]', 'Three.');
		const execution = await begin(speech(EACH), items);
		await sim.waitFor(() => sim.tasks.size === 3);
		await sim.waitFor(() => sim.requests.filter(({ status }) => status === 200).length === 2);
		const { message, description } = bad(await stop(execution));
		expect(message).toBe('The execution was canceled');
		const [one, two, three] = ['One', 'Two', 'Three'].map((text) => taskOf(text).id);
		expect(description).toContain(`Paid: item 0: task ${one}; item 1: task ${two}.`);
		expect(description).toContain('Unconfirmed: item 2: speech requested.');
		expect(description).not.toContain(three);
		const warning = `Media Generation: The execution was canceled. ${description}`;
		expect((await logged()).split(warning)).toHaveLength(2);
		// n8n throws the step's data away, and shows no error of a stopped node.
		expect(said.at(-1)).toBe(`Stopped. ${description}`);
	});

	test('says nothing of what was not asked for', async () => {
		sim.setWebSocketMode('hang');
		const execution = await begin(speech('Hi.'));
		await sim.waitFor(() => sim.requests.some(({ on }) => on === 'socket'));
		expect(bad(await stop(execution)).description).toBe('');
		sim.setWebSocketMode('normal');
		// Longer than the node holds a create call back: nothing follows.
		await sim.waitFor(() => posts() > 0, 3500).catch(() => {});
		expect(posts()).toBe(0);
	});

	test('during a create call: a retry does not pay again, and says why', async () => {
		onCreate({ hang: true, accepted: true }, ofItem('Hi'));
		const subject = speech('Hi.');
		const execution = await begin(subject);
		await sim.waitFor(() => posts() === 1);
		// n8n saves the execution at the moment of the stop.
		expect(saved(execution.soFar())).toContain('"sentAt":');
		const retryOf = (await stop(execution)).run;
		expect(bad(await run(subject, { retryOf })).message).toContain('no clear response');
		expect(posts()).toBe(1);
	});

	test.each([
		['speech', () => speech('Hi.')],
		['video', () => video('Hi.')],
	])('during a pause that the service asked for: a retry sends the %s', async (_, make) => {
		onCreate(answer(429, '', { 'Retry-After': '3' }), ofItem('Hi'));
		const subject = make();
		const execution = await begin(subject);
		await sim.waitFor(() => posts() === 1);
		await sim.waitFor(() => sim.requests.at(-1)!.status === 429);
		// Nobody tells when the node has read the answer.
		while (/"(?:sentAt|asked)":/.test(saved(execution.soFar()))) {
			await new Promise((resolve) => setTimeout(resolve, 5));
		}
		const canceled = await stop(execution);
		expect(bad(canceled).description).toBe('');
		good(await run(subject, { retryOf: canceled.run }));
		expect([posts(), sim.creates]).toEqual([2, 1]);
	});
});
