import type { INodeExecutionData } from 'n8n-workflow';
import { good } from './seen';
import { made } from './service';
import { CONTINUE, node, run, sim } from './setup';
import { ids, quickVideo, raw, status } from './videos';

/* Whose file it is, where several asked for the same: test/unit/historyMatching.test.ts has all cases. */

/** An item whose image is unlike that of any other `seed`. */
const picture = (seed: number): INodeExecutionData => {
	const data = Buffer.from(`89504e470d0a1a0a${'00'.repeat(50)}0${seed}`, 'hex').toString('base64');
	return { json: {}, binary: { data: { data, mimeType: 'image/png', fileName: 'a.png' } } };
};
const ingredients = { operation: 'ingredientsToVideo', binaryPropertyName: 'data' };

test.each([
	['ids that were told: each gets its own, whatever else has that prompt', true],
	['none: neither gets what may be the other’s', false],
])(
	'two items of one prompt with different images, both streams lost, and %s',
	async (_, isTold) => {
		const told = ['first', 'second'];
		for (const [after, id] of told.entries()) {
			const progress = { status: 'processing', ...(isTold ? { id } : {}) };
			raw([status(progress), { delayMs: 100 }, 'END'], after);
		}
		sim.history.push(...['foreign', 'second', 'first'].map((id) => made(id)));
		const fields = { ...ingredients, options: { timeout: 3, concurrency: 1 } };
		const input = [picture(1), picture(2)];
		const output = good(await run(node(quickVideo('P', fields), CONTINUE), { input }));
		const lost = expect.stringMatching(/stopped reporting/) as unknown;
		expect(ids(output)).toEqual(isTold ? told : [lost, lost]);
		for (const { json } of output) {
			if (!isTold) expect(json.description).toMatch(/may be the result: .*(first|second)/);
		}
	},
);
