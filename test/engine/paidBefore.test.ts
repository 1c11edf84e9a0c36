import { workflowInLoop } from '../faults/workflow.mts';
import { bad, good, stored } from './seen';
import { answer, noCredit, onCreate, tasks } from './service';
import { EACH, image, node, RETRY, run, sim, speech, start, texts, video, workflow } from './setup';

/* What earlier rounds of a loop, or other nodes of the execution, have paid for. */

const PAID = /Earlier requests are paid for: choose 'Retry/;

beforeEach(async () => await start({ pace: 0.01 }));

const inLoop = () => workflowInLoop(node(speech(EACH, { concurrency: 1 })), 1);
const rowsTill = (third: string) => texts('One', 'Two', third, 'Four');

test.each<[string, string, () => unknown]>([
	['is empty', '', () => {}],
	['has no credit left', 'Three', () => noCredit('Three', 9)],
	['is filtered', 'Three', () => onCreate(answer(400, { error: 'unsafe' }), { body: 'Three' })],
])('a loop whose third row %s says that the first two are paid', async (_, third, fault) => {
	fault();
	const result = await run(inLoop(), rowsTill(third));
	expect(bad(result).all).toMatch(PAID);
	expect(tasks().map(({ input }) => input)).toEqual(['One', 'Two']);
});

test('a retry of the loop pays only for what is missing', async () => {
	noCredit('Three');
	const first = await run(inLoop(), rowsTill('Three'));
	good(await run(inLoop(), { retryOf: stored(first) }));
	expect(tasks().map(({ input }) => input)).toEqual(['One', 'Two', 'Three', 'Four']);
});

test('a node that fails says that another node has paid before', async () => {
	onCreate(answer(402), { path: '/v1/video/text-to-video', times: 9 });
	const second = node(video('={{ $json.prompt }}'), { name: 'Second', id: 'second' });
	const result = await run(workflow(node(image(EACH)), second), texts('One', 'Two'));
	expect(result.error?.description).toMatch(PAID);
	expect(sim.chargedCalls).toBe(2);
});

test('a second attempt for the same row says nothing of earlier rows', async () => {
	const subject = node(speech('One [sim:task-fails-late]'), RETRY);
	const { all } = bad(await run(subject));
	expect(all).not.toMatch(PAID);
	// But that each attempt has its price.
	expect(all).toMatch(/Retry On Fail is on: each attempt that failed like this was charged\.$/);
	expect(tasks()).toHaveLength(2);
});

test('the first row of an execution says nothing of earlier ones', async () => {
	noCredit('Three', 9);
	expect(bad(await run(inLoop(), texts('Three', 'Four'))).all).not.toMatch(PAID);
});
