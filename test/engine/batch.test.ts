import { bad, good, node, NODE, posts, run, sim, speech, start } from './setup';

/* A hundred rows with bad ones among them: what was paid for is delivered, and no more is paid. */

const BAD = 17;
const ROWS = Array.from({ length: 100 }, (_, row) => ({
	row,
	description: `Row ${row}`,
	t: row === BAD ? 'No [sim:task-fails]' : `Text ${row}. [sim:slow=8]`,
}));
const subject = () => node(speech('={{ $json.t }}', { concurrency: 100 }));

test('what the message says brings the 99 that are paid for; only the bad one is paid again', async () => {
	await start({ pace: 0.2 });
	const stopped = await run(subject(), { items: ROWS });
	const { message, description } = bad(stopped);
	expect(message.length).toBeLessThan(200);
	expect(description).toMatch(
		/^99 other items are paid for\. To collect them at no extra charge, set On Error/,
	);
	expect(description.match(/item \d+: task \d+/g)).toHaveLength(5);
	expect(posts()).toBe(100);

	const letPast = { ...subject(), onError: 'continueErrorOutput' } as const;
	const again = await run(letPast, { items: ROWS, retryOf: stopped.run });
	const [delivered, failed] = again.task(NODE)!.data!.main!;
	expect(delivered!.map(({ binary }) => binary?.data?.mimeType)).toEqual(
		Array(99).fill('audio/wav'),
	);
	expect(failed!.map(({ json }) => json.row)).toEqual([BAD]);
	expect(posts()).toBe(101);
}, 120_000);

test('the error output keeps the columns of the row; what went wrong and its task stay ours', async () => {
	const row = {
		title: 'Chapter 2',
		description: 'A column of the row',
		error: 'an earlier one',
		task_id: 'an earlier one',
	};
	const items = [{ t: 'One.' }, { ...row, t: 'Two [sim:task-fails]' }];
	const result = await run(node(speech('={{ $json.t }}'), { onError: 'continueErrorOutput' }), {
		items,
	});
	const [regular, failed] = result.task(NODE)!.data!.main!;
	expect(regular).toHaveLength(1);
	expect(failed![0]!.json).toEqual({
		...items[1],
		error: expect.stringContaining('could not generate the speech'),
		status: 'error',
		task_id: [...sim.tasks.values()].find(({ input }) => input.startsWith('Two'))!.id,
	});
});

test('the regular output has no columns of a failed row', async () => {
	const items = [{ t: 'Two [sim:task-fails]', title: 'Chapter 2' }];
	const subject = node(speech('={{ $json.t }}'), { onError: 'continueRegularOutput' });
	const [failed] = good(await run(subject, { items }));
	expect(failed!.json).not.toHaveProperty('title');
});
