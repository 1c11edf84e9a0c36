import type { IDataObject, INodeExecutionData } from 'n8n-workflow';
import { good } from './seen';
import { made, posts } from './service';
import { CONTINUE, EACH, node, run, sim } from './setup';
import { ids, quickVideo, raw, status } from './videos';

/* Whose file it is, where several items, tries or people asked for the same. */

/** An item whose image is unlike that of any other `seed`. */
const picture = (seed: number): INodeExecutionData => {
	const data = Buffer.from(`89504e470d0a1a0a${'00'.repeat(50)}0${seed}`, 'hex').toString('base64');
	return { json: {}, binary: { data: { data, mimeType: 'image/png', fileName: 'a.png' } } };
};
const ingredients = { operation: 'ingredientsToVideo', binaryPropertyName: 'data' };
/** Two items of the same prompt, with different images. */
const beside = (options: IDataObject = { timeout: 2 }) =>
	node(quickVideo('P', { ...ingredients, options }), CONTINUE);
const PICTURES = { input: [picture(1), picture(2)] };

/** A stream that tells this much, and is lost. */
const lose = (after = 0, told: object = { status: 'processing' }) =>
	raw([status(told), { delayMs: 100 }, 'END'], after);
const LOST = expect.stringMatching(/stopped reporting/) as unknown;

describe('two items of one prompt, both streams lost', () => {
	/** The items of a run, or of two at the same time, and the fields of their nodes. */
	type Run = [fields: IDataObject, input: INodeExecutionData[]];
	const TEXT: Run = [{}, [{ json: {} }]];
	const RATIOS = ['16:9', '9:16'].map((t) => ({ json: { t } }));
	test.each<[string, Run[]]>([
		['different images', [[ingredients, PICTURES.input]]],
		['text and ingredients', [TEXT, [ingredients, [picture(1)]]]],
		['aspect ratios that the history does not tell', [[{ aspectRatio: EACH }, RATIOS]]],
	])('%s: neither gets what may be the other’s', async (_, runs) => {
		lose();
		lose(1);
		sim.history.push(made('one'), made('two'));
		const results = await Promise.all(
			runs.map(([fields, input]) => run(node(quickVideo('P', fields), CONTINUE), { input })),
		);
		const items = results.flatMap((result) => good(result));
		expect(items.map(({ json }) => json.error)).toEqual([LOST, LOST]);
		for (const { json } of items) {
			expect(json.description).toMatch(/may be the result: .*(one|two)/);
		}
		expect(posts()).toBe(2);
	});

	test('different images, ids told: each gets its own, whatever else has that prompt', async () => {
		lose(0, { status: 'processing', id: 'first' });
		lose(1, { status: 'processing', id: 'second' });
		sim.history.push(made('foreign'), made('second'), made('first'));
		const output = good(await run(beside({ timeout: 3, concurrency: 1 }), PICTURES));
		expect(ids(output)).toEqual(['first', 'second']);
	});
});
