import { speechSeconds } from '../../simulator/media/wav.mts';
import type { FaultAction } from '../../simulator/simulator.mts';
import { allClosed, bad, expectServed, good, hints, only, out, saved, stored } from './seen';
import { ALWAYS, answer, noCredit, onCreate, onFile, onRead, posts, taskOf } from './service';
import {
	CONTINUE,
	EACH,
	ERROR_OUTPUT,
	fakeTime,
	image,
	NODE,
	node,
	run,
	sim,
	speech,
	texts,
} from './setup';
import { hasten, passWhile } from './time';
import { expectSound, ids, sent, SENTENCES, split, TEXT, wait } from './longText';

const audioUrls = () => ids().map((id) => sim.tasks.get(id)!.audioUrl);

test('a long text comes out as one file, of one task for each part, in order', async () => {
	const result = await run(split(), { items: [{ a: 1 }] });
	expect(sent()).toEqual(SENTENCES);
	const item = only(result);
	expect(item.json).toMatchObject({
		task_id: ids()[0],
		task_ids: ids(),
		audio_urls: audioUrls(),
		parts: 12,
		status: 'completed',
	});
	const seconds = SENTENCES.reduce((sum, sentence) => sum + speechSeconds(sentence), 0);
	expect(item.json.duration_seconds).toBeCloseTo(seconds, 2);
	// None of these is about the whole.
	for (const field of ['audio_url', 'input', 'id']) expect(item.json).not.toHaveProperty(field);
	expect(item.pairedItem).toEqual({ item: 0 });
	expect(item.binary?.data).toMatchObject({
		fileName: `speech-${ids()[0]}.wav`,
		mimeType: 'audio/wav',
	});
	await expectSound(result, ids());
	expect(hints(result)).toEqual([]);
	expect(saved(result.run)).not.toContain(sim.token);
	await allClosed();
	expect(sim.openedSocketCount).toBe(1);
});

test('a text that is not longer is sent as it is, and comes out as ever', async () => {
	const { json } = only(await run(split(' Short. ')));
	expect(sent()).toEqual([' Short. ']);
	expect(json).toMatchObject({ input: ' Short. ', status: 'completed' });
	expect(json).not.toHaveProperty('parts');
});

test('without waiting: all task ids at once, which Collect makes as one file', async () => {
	const created = only(await run(split(TEXT, {}, { waitForCompletion: false })));
	expect(created.json).toEqual({ task_ids: ids(), parts: 12, status: 'pending' });
	expect([posts(), sim.openedSocketCount]).toEqual([12, 0]);

	for (const taskId of [ids().join(', '), '={{ $json.task_ids }}']) {
		const result = await run(wait(taskId), { items: [{ task_ids: ids() }] });
		expect(only(result).json).toMatchObject({ task_id: ids()[0], task_ids: ids(), parts: 12 });
		expect(hints(result)).toEqual([]);
		await expectSound(result, ids());
	}
	expect(posts()).toBe(12);
});

test('once a part has failed no other is sent, and those under way are not waited for', async () => {
	onCreate(answer(400, { error: 'no' }), { body: 'sentence 02' });
	// Twelve parts that never end.
	const slow = TEXT.replaceAll('of a long text, my dear', '[sim:slow=9000]');
	const { message } = bad(await run(split(slow, { concurrency: 4 })));
	expect(message).toContain('part 3 of 12');
	expect(posts()).toBe(4);
	expect(sim.chargedCalls).toBe(3);
	await allClosed();
});

test('parts that may have been charged are all named', async () => {
	const text = SENTENCES.slice(0, 3).join(' ');
	// From now on, the account may have several calls in flight.
	good(await run(split(text)));
	for (const [n, delayMs] of [1000, 0, 1000].entries())
		onCreate({ ...answer(502), delayMs }, { body: `sentence 0${n}` });
	const { message, description } = bad(await run(split(text)));
	expect(message).toContain('part 2 of 3');
	expect(description).toContain('Parts 1, 3 may also have been charged');
});

describe('Collect with tasks that are not the parts of one text', () => {
	const [one, two] = ['First.', 'Second, which is longer.'];
	const started = async () => {
		good(await run(speech(EACH, {}, { waitForCompletion: false }), texts(one!, two!)));
		return [one, two].map((text) => taskOf(text!).id);
	};

	test('joins them', async () => {
		const result = await run(wait((await started()).join()));
		expect(only(result).json.parts).toBe(2);
		expect(hints(result)).toEqual([]);
	});

	test('makes an item of each where Join Into One File is off, as Collect does for a single one', async () => {
		const taskIds = await started();
		const result = await run(wait(taskIds.join(), { joinFiles: false, subtitles: true }));
		const items = good(result);
		expect(items.map(({ json }) => [json.task_id, json.input])).toEqual([
			[taskIds[0], one],
			[taskIds[1], two],
		]);
		for (const item of items) {
			await expectServed(result, item);
			expect(Object.keys(item.binary!)).toEqual(['data', 'subtitles']);
			expect(Object.keys(item.json)[0]).toBe('task_id');
			expect(item.json).not.toHaveProperty('parts');
		}
		expect(hints(result)).toEqual([]);
		expect(posts()).toBe(2);
	});

	test('does so also for those beside one that failed', async () => {
		fakeTime();
		const taskIds = await passWhile(started());
		const fields = wait(`${taskIds[0]}, 4711, ${taskIds[1]}`, { joinFiles: false });
		const items = out((await hasten(node(fields, CONTINUE))).result);
		expect(items.map(({ json }) => [json.task_id, json.error_kind])).toEqual([
			[taskIds[0], undefined],
			['4711', expect.any(String)],
			[taskIds[1], undefined],
		]);
	});
});

test('Collect: a task that is unknown is named, and those that are there', async () => {
	good(await run(split(SENTENCES.slice(0, 2).join(' '), {}, { waitForCompletion: false })));
	fakeTime();
	const { message, description } = bad((await hasten(wait([...ids(), '4711'].join()))).result);
	expect(message).toContain('has no task with this ID: task_not_found – task 4711, part 3 of 3');
	expect(description).toContain(ids().join(', '));
	expect(posts()).toBe(2);
});

test('Collect: a task that has failed sends nobody to pay for the texts of the others', async () => {
	// A message that the task is completed would make the answer of this read outdated.
	sim.setWebSocketMode('silent');
	good(await run(split(SENTENCES.slice(0, 2).join(' '), {}, { waitForCompletion: false })));
	onRead(answer(200, { id: 1, status: 'error', error: 'Broken' }));
	const { description } = bad(await run(wait(ids().join())));
	expect(description).toContain('All parts of the text are then charged again.');
});

describe('bad input is refused before anything is sent', () => {
	afterEach(() => expect(sim.requests).toEqual([]));

	test.each([
		[1, 'a'.repeat(300), 'would split the text (300 characters) into more than 200 parts'],
		[2, '👍🏽👍🏽 <break/>', "'Split Text Longer Than' is too small"],
		[9, 'Well [whispers] then', 'a single character or tag of the text is longer than that'],
		[1000, 'word '.repeat(1_000_000), 'more than 200 parts'],
	])('%s for %.20s', async (splitLongerThan, text, words) => {
		expect(bad(await run(split(text, { splitLongerThan }))).message).toContain(words);
	});
});

test.each<[string, FaultAction, calls: 'create' | 'read']>([
	['the create call', answer(422, { detail: [{ msg: 'The text is too long' }] }), 'create'],
	['the task', answer(200, { id: 1, status: 'error', error: 'max_character_limit' }), 'read'],
])('a text too long for the service, as %s says, is split by the option named', async (...row) => {
	const [, action, calls] = row;
	if (calls === 'create') onCreate(action);
	else onRead(action);
	const { description } = bad(await run(speech(TEXT)));
	expect(description).toMatch(/^Set 'Split Text Longer Than' under Options to the longest text/);
	onCreate(answer(422, { error: 'The prompt is too long' }));
	expect(bad(await run(image('A dog'))).description).not.toContain('Split');
});

describe('a split text that fails half-way', () => {
	const text = SENTENCES.slice(0, 6).join(' ');

	test('says that what its tasks have is not the whole text', async () => {
		noCredit(SENTENCES[2]!);
		const subject = node(split(text, { concurrency: 1 }), ERROR_OUTPUT);
		const { json } = (await run(subject)).task(NODE)!.data!.main![1]![0]!;
		expect(json).toMatchObject({ task_ids: ids(), incomplete: true });
		expect(json.description).toContain('the paid parts at no extra charge');
	});

	test('does not say so if all tasks are there', async () => {
		onFile(answer(404), ALWAYS);
		fakeTime();
		const { result } = await hasten(node(split(text, { timeout: 30 }), ERROR_OUTPUT));
		const { json } = result.task(NODE)!.data!.main![1]![0]!;
		expect(json.task_ids).toEqual(ids());
		expect(json).not.toHaveProperty('incomplete');
	});

	// Such as the time of day: `manual` in the first run, `retry` in the next.
	test.each([
		['at the beginning', '={{ $execution.mode }} {{ $json.article }}', 12],
		['at the end', '={{ $json.article }} {{ $execution.mode }}', 7],
	])('is whole after a retry in which it has another value %s', async (_, changing, limit) => {
		const subject = split(changing, { concurrency: 1 });
		noCredit(SENTENCES[4]!);
		const first = await run(subject, { items: [{ article: text }] });
		bad(first);
		const { json } = only(await run(subject, { retryOf: stored(first) }));
		const spoken = (json.task_ids as string[]).map((id) => sim.tasks.get(id)!.input);
		expect(spoken.join(' ')).toContain(text);
		expect(sim.tasks.size).toBeLessThanOrEqual(limit);
	});
});

describe('what a failed part says of the other parts is what a retry charges', () => {
	const text = SENTENCES.slice(0, 3).join(' ');
	const subject = () => split(text, { concurrency: 1 });
	const failedTask = (error: string) => answer(200, { id: 1, status: 'error', error });

	test.each<[string, FaultAction, calls: 'posts' | 'reads', sentByRetry: number]>([
		['a task, by credit', failedTask('Insufficient credits'), 'reads', 1],
		['a task, by a quota', failedTask('Daily quota exceeded'), 'reads', 1],
		['a task, by load', failedTask('The server is overloaded'), 'reads', 1],
		['a refusal for now', answer(400, { error: 'Broke, please try again later' }), 'posts', 2],
	])('%s: only what is missing', async (_, action, calls, sentByRetry) => {
		if (calls === 'reads') onRead(action, { times: 1, after: 1 });
		else onCreate(action, { body: 'sentence 01', times: 1 });
		fakeTime();
		const { result: first } = await hasten(subject());
		const { message, description } = bad(first);
		expect(message).toContain('part 2 of 3');
		expect(description).toContain('only what is missing is charged');
		expect(description).not.toMatch(/all (?:its )?parts/i);
		const before = posts();
		only((await hasten(subject(), { retryOf: stored(first) })).result);
		expect(posts() - before).toBe(sentByRetry);
	});

	test.each([
		[
			{ error: 'The text is too long' },
			"Set 'Split Text Longer Than' under Options to the longest text that your service accepts. A change charges all parts.",
		],
		[
			{ error: 'This voice is not available for your plan' },
			'Choose a voice, model or settings that your account may use, or ask your provider. A change charges all parts.',
		],
	])('a refusal for good, %j: all of them after a change', async (body, words) => {
		onCreate(answer(400, body), { body: 'sentence 01' });
		expect(bad(await run(subject())).description).toContain(words);
	});
});
