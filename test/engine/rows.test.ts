import { bad, only } from './seen';
import { onCreate, posts, taskOf } from './service';
import { CONTINUE, EACH, ERROR_OUTPUT, image, NODE, node, run, speech, start } from './setup';

/*
 * Rows, bad ones among them: a bad one fails alone, and says what a workflow that keeps a list has to do;
 * what was paid for is delivered, and nothing is paid for twice.
 */

const BAD = 17;
const ROWS = Array.from({ length: 100 }, (_, row) => ({
	row,
	description: `Row ${row}`,
	t: row === BAD ? 'No [sim:task-fails]' : `Text ${row}. [sim:slow=8]`,
}));

test('following the message brings the 99 that are paid for; only the bad one is paid for again', async () => {
	await start({ pace: 0.2 });
	const fields = speech(EACH, { concurrency: 100 });
	const stopped = await run(fields, { items: ROWS });
	const { message, description } = bad(stopped);
	expect(message.length).toBeLessThan(200);
	expect(description).toMatch(
		/Already paid for: .* and 94 more\. To collect this at no extra charge, set On Error/,
	);
	expect(description.match(/item \d+: task \d+/g)).toHaveLength(5);
	expect(posts()).toBe(100);

	const again = await run(node(fields, ERROR_OUTPUT), { items: ROWS, retryOf: stopped.run });
	const [delivered, failed] = again.task(NODE)!.data!.main!;
	expect(delivered!.map(({ binary }) => binary?.data?.mimeType)).toEqual(
		Array(99).fill('audio/wav'),
	);
	expect(failed!.map(({ json }) => json.row)).toEqual([BAD]);
	expect(posts()).toBe(101);
}, 120_000);

test('the error output keeps the columns of the row, but error, status and task are the node’s own', async () => {
	const columns = { title: 'Chapter 2', description: 'A column of the row' };
	const row = { ...columns, error: 'an earlier one', task_id: 'an earlier one' };
	const items = [{ t: 'One.' }, { ...row, t: 'Two [sim:task-fails]' }];
	const result = await run(node(speech(EACH), ERROR_OUTPUT), { items });
	const [regular, failed] = result.task(NODE)!.data!.main!;
	expect(regular).toHaveLength(1);
	expect(failed![0]!.json).toEqual({
		...items[1],
		error: expect.stringContaining('could not generate the speech'),
		status: 'error',
		task_id: taskOf('Two').id,
	});
});

describe('empty rows', () => {
	const items = Array.from({ length: 30 }, (_, n) => ({
		t: [6, 20, 29].includes(n) ? ' ' : 'Hi.',
	}));

	test('are told together, with the column to check and the way to let them pass', async () => {
		const { message, description, itemIndex } = bad(await run(speech(EACH), { items }));
		expect(message).toBe("'Text' is empty in 3 items: 6, 20, 29");
		expect(description).toMatch(/^Check the column's name in the expression of 'Text'/);
		expect(description).toContain("set On Error to 'Continue (using error output)'");
		expect([itemIndex, posts()]).toEqual([6, 0]);
	});

	test('that leave by the error output have no number: their columns tell', async () => {
		const result = await run(node(speech(EACH), ERROR_OUTPUT), { items: items.slice(0, 10) });
		const [regular, failed] = result.task(NODE)!.data!.main!;
		expect([regular!.length, failed!.map(({ json }) => json.error)]).toEqual([
			9,
			["'Text' is empty"],
		]);
	});
});

describe('a failed item on the regular output, without the columns of its row, tells what to do', () => {
	const asIs = () => {};
	const unanswered = (body?: string) => onCreate({ reset: true, accepted: true }, { body });
	const inParts = { splitLongerThan: 15, concurrency: 1 };
	const [task_id, maybe_paid] = [expect.any(String) as unknown, true];

	test.each<[string, () => object, told: object, arrange: () => unknown]>([
		[
			'a task that failed is over',
			() => speech('[sim:task-fails]'),
			{ task_id, status: 'error' },
			asIs,
		],
		['a create call without a clear answer', () => speech('A'), { maybe_paid }, unanswered],
		[
			'such a part of a text, though others have tasks',
			() => speech('First part.\n\nSecond part.', inParts),
			{ task_id, maybe_paid },
			() => unanswered('Second'),
		],
		['a request that was refused', () => speech('[sim:no-credits]'), {}, asIs],
		[
			'a stream that ends with nothing, and no entry in the history',
			() => image('A boat', { timeout: 3 }),
			{ maybe_paid },
			() => onCreate({ sse: ['END'] }),
		],
	])('%s', async (_, parameters, told, arrange) => {
		await start({ pace: 0.02 });
		arrange();
		const items = [{ title: 'Chapter 2' }];
		const { json } = only(await run(node(parameters() as never, CONTINUE), { items }));
		expect(json.error).toBeTruthy();
		const { task_id, status, maybe_paid, title } = json;
		expect({ task_id, status, maybe_paid, title }).toEqual(told);
	});
});
