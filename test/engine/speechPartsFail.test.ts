import type { WorkflowResult } from '../../demo/engine.mts';
import { allClosed, bad, good, only } from './seen';
import { answer, onCreate, onFile, onRead, posts } from './service';
import { node, RETRY, run, sim, start } from './setup';
import { expectSound, idOf, ids, sent, SENTENCES, split, TEXT, wait } from './longText';

const THIRD = SENTENCES[2]!;
const ofThird = { body: THIRD };
/** Twelve parts that never end. */
const SLOW = TEXT.replaceAll('of a long text, my dear', '[sim:slow=9000]');
const refused = answer(400, { error: 'no' });

/** It is the whole text, in order, of the tasks that exist. */
async function expectWhole(result: WorkflowResult) {
	expect(only(result).json).toMatchObject({ task_ids: ids(), parts: 12 });
	await expectSound(result, ids());
}

test('the message names the part that failed and every task that is paid', async () => {
	await start({ credits: 7 });
	const { message, description } = bad(await run(split(TEXT, { concurrency: 3 })));
	expect(message).toMatch(/out of credit.* – part \d+ of 12 \[item 0\]$/);
	expect(ids()).toHaveLength(7);
	expect(description).toContain(
		`The parts made so far are paid for, as the tasks ${ids().join(', ')}. To collect them at no extra charge, retry, or use Speech → Collect with these IDs.`,
	);
	await allClosed();
});

test('once a part has failed no other is sent, and those under way are not waited for', async () => {
	onCreate(refused, { body: 'sentence 02' });
	const { message } = bad(await run(split(SLOW, { concurrency: 4 })));
	expect(message).toContain('part 3 of 12');
	expect(posts()).toBe(4);
	expect(sim.creates).toBe(3);
	await allClosed();
});

test.each([
	['is refused', () => onCreate(refused, ofThird)],
	['has no file', () => onFile(answer(410), { after: 2 })],
])(
	'Retry On Fail: when a part %s, the others are collected and not paid again',
	async (_, arrange) => {
		arrange();
		await expectWhole(await run(node(split(), RETRY)));
		expect(sim.creates).toBe(12);
		expect(sent().filter((text) => text !== THIRD)).toEqual(
			SENTENCES.filter((text) => text !== THIRD),
		);
		await allClosed();
	},
);

test('Retry On Fail: a part whose task has failed is made anew, and only that', async () => {
	const running = run(node(split(TEXT, { timeout: 60 }), RETRY));
	await sim.waitFor(() => idOf(THIRD) !== undefined);
	const path = `/v1/labs/task/${idOf(THIRD)}`;
	// Twice: the second attempt asks again.
	onRead(answer(200, { id: 1, status: 'failed', error: 'No voice' }), { path, times: 2 });
	expect(only(await running).json.parts).toBe(12);
	expect(sim.creates).toBe(13);
	expect(sent().filter((text) => text === THIRD)).toHaveLength(2);
});

test('a part without a clear answer is not sent again', async () => {
	onCreate({ reset: true, accepted: true }, ofThird);
	const { message, description } = bad(await run(node(split(), RETRY)));
	// What the first attempt met, and when.
	expect(message).toMatch(
		/^An earlier attempt sent this request and got no clear response: \S+ did not respond at \d\d:\d\d – part 3 of 12/,
	);
	expect(description).toContain('may have accepted the request');
	expect(sent().filter((text) => text === THIRD)).toHaveLength(1);
	expect(new Set(sent()).size).toBe(sent().length);
});

test('Collect: a task that is unknown is named, and those that are there', async () => {
	good(await run(split(SENTENCES.slice(0, 2).join(' '), {}, { waitForCompletion: false })));
	const { message, description } = bad(await run(wait([...ids(), '4711'].join())));
	expect(message).toContain('has no task with this ID: task_not_found – task 4711, part 3 of 3');
	expect(description).toContain(ids().join(', '));
	expect(posts()).toBe(2);
});
