import type { INode } from 'n8n-workflow';
import { workflowBehindLoop, workflowInLoop } from '../faults/workflow.mts';
import { bad, good, out, stored } from './seen';
import { ALWAYS, answer, noCredit, onCreate, posts, tasks } from './service';
import {
	CONTINUE,
	EACH,
	ERROR_OUTPUT,
	image,
	node,
	NODE,
	RETRY,
	run,
	sim,
	speech,
	start,
	texts,
	video,
	voices,
	workflow,
} from './setup';

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
	// A row without credit is not at fault.
	expect(/back to the loop/.test(bad(result).all)).toBe(!/no credit/.test(_));
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

describe('a loop in which rows fail, with a node after it', () => {
	const ROWS = ['1', 'Bad 2', '3', '4', 'Bad 5', 'Bad 6', '7', '8', '9'];
	const images = () => sim.chargedCalls - tasks().length;
	const looped = (way: 'directly' | 'through Merge', more = {}, batchSize = 3) => {
		const behind = node(image('={{ $json.t ?? $json.task_id }}'), { name: 'Behind', id: 'behind' });
		return workflowBehindLoop(way, node(speech(EACH), more), batchSize, behind);
	};
	const refuse = () => onCreate(answer(400, { error: 'no' }), { body: '"input":"Bad', ...ALWAYS });

	test.each([1, 2, 3, 4, 9])(
		'with both outputs through a Merge node, each row is charged once in rounds of %i',
		async (batchSize) => {
			refuse();
			good(await run(looped('through Merge', ERROR_OUTPUT, batchSize), texts(...ROWS)));
			expect([tasks().length, images()]).toEqual([6, 9]);
		},
	);

	test('with both outputs connected directly, n8n runs the node after the loop several times', async () => {
		refuse();
		good(await run(looped('directly', ERROR_OUTPUT), texts(...ROWS)));
		expect(tasks()).toHaveLength(6);
		expect(images()).toBeGreaterThan(9);
	});

	test('a retry after the loop was changed in this way charges only for what is missing', async () => {
		refuse();
		const failed = await run(looped('directly'), texts(...ROWS));
		// The second row is that of the first round only.
		const { all } = bad(failed);
		expect(all).toMatch(/^Row 2: .* Rows are counted within this round of the loop\.$/);
		good(await run(looped('through Merge', ERROR_OUTPUT), { retryOf: stored(failed) }));
		expect([tasks().length, images()]).toEqual([6, 9]);
	});
});

describe('a retry after n8n crashed, which does not know what was paid', () => {
	const runWith = async (settings: Partial<INode>, options?: Parameters<typeof run>[1]) =>
		await run(node(speech(EACH, { concurrency: 1 }), settings), options ?? texts('One', 'Two'));

	/** As n8n saves an execution that crashed in the node: it had begun, and all it knew is lost. */
	const crash = async () => {
		noCredit('Two');
		const execution = stored(await runWith({}));
		execution.data.executionData!.contextData = {};
		execution.data.resultData.runData[NODE]![0]!.executionStatus = 'crashed';
		expect(posts()).toBe(2);
		return execution;
	};

	it.each([
		['n8n has removed the run of the node', NODE],
		['another node comes after it in the list of nodes', 'Start'],
	])('sends nothing, and says where to look; the next one pays: %s', async (_, lastNode) => {
		const execution = await crash();
		execution.data.resultData.lastNodeExecuted = lastNode;
		const refused = await runWith(RETRY, { retryOf: execution });
		expect(bad(refused).all).toMatch(/^n8n crashed .*Collect.*log.*retry this execution/);
		expect(posts()).toBe(2);
		good(await runWith({}, { retryOf: stored(refused) }));
		expect(posts()).toBe(4);
	});

	it('sends nothing either where the node had ended before n8n crashed', async () => {
		const retryOf = await crash();
		// n8n makes up a run that has ended, and removes none.
		const ended = { executionTime: 5, executionStatus: 'success', source: [null] } as const;
		Object.assign(retryOf.data.resultData.runData[NODE]![0]!, ended);
		retryOf.data.resultData.lastNodeExecuted = 'Start';
		expect(bad(await runWith({}, { retryOf })).message).toMatch(/^n8n crashed/);
	});

	it('marks rows that may be paid if the execution goes on', async () => {
		const refused = await runWith(CONTINUE, { retryOf: await crash() });
		const items = out(refused).map(({ json }) => json);
		const uncertain = { error_kind: 'indeterminate', maybe_paid: true };
		expect(items).toMatchObject([uncertain, uncertain]);
	});

	it('does not advise to skip a row if another node has paid before', async () => {
		onCreate(answer(402), { path: '/v1/labs' });
		const both = workflow(node(image(EACH), { name: 'First', id: 'first' }), node(speech('Two')));
		const retryOf = stored(await run(both, texts('One')));
		delete retryOf.data.executionData!.contextData[`node:${NODE}`];
		const { all } = bad(await run(both, { retryOf }));
		expect(all).toMatch(/^n8n crashed .*Earlier requests are paid for/);
		expect(all).not.toMatch(/skip this row/);
	});

	it('says so even if another row is at fault: the retry after it pays', async () => {
		const subject = node(speech('={{ $json.t.replace("One", "") }}'));
		const refused = await run(subject, { retryOf: await crash() });
		expect(bad(refused).message).toMatch(/^n8n crashed/);
	});

	it('lets what is free go on', async () => {
		const retryOf = await crash();
		retryOf.data.executionData!.nodeExecutionStack[0]!.node.parameters = voices();
		good(await run(node(voices()), { retryOf }));
	});

	it('pays as usual where the node had not begun', async () => {
		const retryOf = await crash();
		delete retryOf.data.resultData.runData[NODE];
		good(await runWith({}, { retryOf }));
		expect(posts()).toBe(4);
	});
});
