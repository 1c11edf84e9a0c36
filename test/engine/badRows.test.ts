import { bad, good } from './seen';
import { posts, tasks } from './service';
import { CONTINUE, EACH, node, run, speech, start } from './setup';

/* A row whose options cannot be read fails alone. */

const broken = "={{ $json.speed ? $json.speed : $('Missing').item.json.speed }}";
const rows = [{ t: 'One.' }, { t: 'Two.', speed: 1 }, { t: 'Three.', speed: 1.1 }];

test('an expression that breaks in the first row ends that row, and no other', async () => {
	const fields = speech(EACH, { speed: broken, concurrency: 1 });
	const output = good(await run(node(fields, CONTINUE), { items: rows }));
	expect(output.map(({ json }) => json.input)).toEqual([undefined, 'Two.', 'Three.']);
	expect(output[0]!.json.error).toMatch(/exist.*\[item 0\]/);
	expect(posts()).toBe(2);
});

test('without "continue on fail" the error names the row, and nothing is paid', async () => {
	const items = [rows[1]!, rows[0]!, rows[2]!];
	const { itemIndex, message } = bad(await run(speech(EACH, { speed: broken }), { items }));
	expect([itemIndex, message]).toEqual([1, expect.stringContaining('[item 1]')]);
	expect(posts()).toBe(0);
});

test('an invalid concurrency fails its row; the others keep to the first valid one', async () => {
	await start({ pace: 0.02 });
	const fields = speech(EACH, { concurrency: '={{ $json.c }}' });
	const items = ['many', 1, 9].map((c, n) => ({ t: ['One.', 'Two.', 'Three.'][n], c }));
	const output = good(await run(node(fields, CONTINUE), { items }));
	expect(output[0]!.json.error).toMatch(/'Concurrency' must be.*\[item 0\]/);
	expect(output.map(({ json }) => json.input)).toEqual([undefined, 'Two.', 'Three.']);
	const [first, second] = tasks();
	expect(Date.parse(second!.createdAt)).toBeGreaterThanOrEqual(first!.readyAt!);
});
