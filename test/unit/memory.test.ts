import type { IDataObject, IExecuteFunctions } from 'n8n-workflow';
import { Memory } from '../../nodes/MediaGeneration/memory';

/** One execution of a workflow: its node context, and how often the node has run in it. */
function execution() {
	const store: IDataObject = {};
	let runIndex = -1;
	return {
		store,
		/** The node runs once more. */
		run(isTool: boolean): Memory {
			const round = ++runIndex;
			const context = { getContext: () => store, evaluateExpression: () => round };
			return new Memory(context as unknown as IExecuteFunctions, isTool, 'token-of-the-test');
		},
	};
}

const request = { input: 'Hello.' };

test('a loop’s next round is another request', () => {
	const { run } = execution();
	const first = run(false);
	first.keep(first.keyOf(0, request), { taskId: '1' });
	const second = run(false);
	expect(second.recall(second.keyOf(0, request))).toBeUndefined();
});

test('a model that asks for the same again gets what is paid for; another text is another request', () => {
	const { run } = execution();
	const first = run(true);
	first.keep(first.keyOf(0, request), { taskId: '1' });
	const second = run(true);
	expect(second.recall(second.keyOf(0, request))).toEqual({ taskId: '1' });
	expect(second.recall(second.keyOf(0, { input: 'Bye.' }))).toBeUndefined();
});

test('a call that succeeds forgets its own, and not what another call is about', () => {
	const { run, store } = execution();
	const slow = run(true);
	const slowKey = slow.keyOf(0, { input: 'A long story.' });
	slow.keep(slowKey, { taskId: '1' });
	const quick = run(true);
	const quickKey = quick.keyOf(0, request);
	quick.keep(quickKey, { taskId: '2' });
	quick.clear();
	expect(slow.recall(quickKey)).toBeUndefined();
	expect(slow.recall(slowKey)).toEqual({ taskId: '1' });
	slow.clear();
	expect(store).toEqual({});
});
