import type { IDataObject } from 'n8n-workflow';
import { bad, good, out } from './seen';
import { answer, onCreate, onFile, posts, tasks } from './service';
import { CONTINUE, EACH, node, RETRY, run, sim, speech, start, texts, video } from './setup';

/* `maxPaidPerExecution`: how many paid requests one execution may send. */

beforeEach(async () => await start({ pace: 0.01 }));

const LIMIT = 'Max Paid Requests';
const rows = (count: number) => texts(...Array.from({ length: count }, (_, n) => `Hi ${n}`));
const spoken = (maxPaidPerExecution: number, options: IDataObject = {}) =>
	speech(EACH, { maxPaidPerExecution, ...options });

test('a run that needs more is refused before anything is sent', async () => {
	const { message, description } = bad(await run(spoken(4), rows(5)));
	expect(message).toContain(`This execution needs 5 paid requests, but '${LIMIT}' is 4`);
	expect(description).toContain('No paid request was sent');
	expect(sim.requests).toEqual([]);
});

test('Retry On Fail goes on counting, without what it collects', async () => {
	// The first file cannot be downloaded, so the first attempt fails with all three paid for.
	onFile(answer(410));
	expect(good(await run(node(spoken(3), RETRY), rows(3)))).toHaveLength(3);
	expect(posts()).toBe(3);
});

describe('when a retry needs more than is left', () => {
	const items = texts('No [sim:task-fails]', 'Hi 1', 'Hi 2');
	const refusal = `This execution needs 4 paid requests (3 already sent), but '${LIMIT}' is 3`;

	test('what is paid for comes out all the same, under "continue on fail"', async () => {
		const subject = node(spoken(3), { ...RETRY, ...CONTINUE });
		const [failed, ...others] = out(await run(subject, items));
		expect(failed!.json.error).toContain(refusal);
		expect(others.map(({ json, binary }) => [json.status, json.error, !!binary])).toEqual([
			['completed', undefined, true],
			['completed', undefined, true],
		]);
		expect(posts()).toBe(3);
	});

	test('what is paid for is named, when the node fails', async () => {
		const { message, description } = bad(await run(node(spoken(3), RETRY), items));
		expect(message).toContain(refusal);
		const made = tasks().filter(({ input }) => input.startsWith('Hi'));
		expect(description).toMatch(
			/^Raise the limit\. .* choose 'Retry with .* Already paid for: 2 other rows \(tasks /,
		);
		for (const { id } of made) expect(description).toContain(id);
	});
});

test.each([
	['of a speech', () => spoken(1)],
	['of a video', () => video('A boat', { maxPaidPerExecution: 1 })],
])('a request %s that the service refused does not count', async (_, chosen) => {
	onCreate(answer(422, { error: 'Not this one' }));
	expect(good(await run(node(chosen(), RETRY), rows(1)))).toHaveLength(1);
	expect(posts()).toBe(2);
});

test('four videos are one request', async () => {
	const options = { maxPaidPerExecution: 1 };
	expect(good(await run(video('A boat', options, { numberOfVideos: 4 })))).toHaveLength(4);
	const { message } = bad(await run(video('A boat', options), rows(2)));
	expect(message).toContain(`This execution needs 2 paid requests, but '${LIMIT}' is 1`);
	expect(sim.chargedCalls).toBe(1);
});

test('a request that the service may have accepted does count', async () => {
	onCreate({ ...answer(502), accepted: true }, { body: 'Hi' });
	const items = texts('Hi', 'No [sim:task-fails]');
	const [, failed] = out(await run(node(spoken(2), { ...RETRY, ...CONTINUE }), items));
	expect(failed!.json.error).toContain('paid requests (2 already sent)');
	expect(posts()).toBe(2);
});
