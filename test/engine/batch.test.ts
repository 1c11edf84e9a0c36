import { bad, only } from './seen';
import { posts, taskOf } from './service';
import { CONTINUE, EACH, ERROR_OUTPUT, node, NODE, run, speech, start } from './setup';

/* A hundred rows, bad ones among them: what was paid for is delivered, and nothing is paid for twice. */

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
		/^99 other items are paid for\. To collect them at no extra charge, set On Error/,
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

test('on the regular output a failed row has none of its columns', async () => {
	const items = [{ t: 'Two [sim:task-fails]', title: 'Chapter 2' }];
	const failed = only(await run(node(speech(EACH), CONTINUE), { items }));
	expect(failed.json).not.toHaveProperty('title');
});
