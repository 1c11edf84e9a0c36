import type { IDataObject, IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { takeTurn } from '../../nodes/MediaGeneration/paid/callTurns';
import { contextOf, PaidLog } from '../../nodes/MediaGeneration/paid/paidLog';
import { keysIn } from '../../nodes/MediaGeneration/paid/requestKey';
import { readCredential } from '../../nodes/shared/http/credential';

const address = (apiToken = 'token-of-the-test') =>
	readCredential({ apiToken, baseUrl: 'https://media.example.com' });

interface Call {
	text: string;
	items: INodeExecutionData[];
	isTool: boolean;
	account: ReturnType<typeof address>;
}

/** One execution of a workflow: its node context, and how often the node has run in it. */
function execution(executionId: string | null = '1') {
	const store: IDataObject = {};
	let runIndex = -1;
	return {
		store,
		/** The node runs once more; the keys of its first two items, and where they are kept. */
		run(call: Partial<Call> = {}) {
			const round = ++runIndex;
			const { text = 'Hello.', isTool = false, account = address() } = call;
			const { items = [{ json: { t: 1 } }, { json: { t: 1 } }] } = call;
			const context = {
				getContext: () => store,
				getExecutionId: () => executionId ?? undefined,
				evaluateExpression: (expression: string) =>
					expression.replaceAll('{{ $runIndex }}', String(round)),
				getInputData: () => items,
				getNode: () => ({ name: 'Media', parameters: { text }, credentials: {} }),
			} as unknown as IExecuteFunctions;
			const kept = contextOf(context, isTool);
			const keys = keysIn(kept, context, isTool, account);
			return { keys: items.map((_, index) => keys(index)), log: new PaidLog(kept, account.redact) };
		},
	};
}
type Execution = ReturnType<typeof execution>;

/** A call that paid for a task and failed after it. */
function failing({ run }: Execution, taskId: string, call?: Partial<Call>): void {
	const { keys, log } = run(call);
	log.keep(keys[0]!, { state: 'task', taskId });
}

/** What a call finds that was paid for before. */
function foundBy({ run }: Execution, call?: Partial<Call>) {
	const { keys, log } = run(call);
	const left = log.find(keys[0]!);
	return left?.state === 'task' ? left.taskId : undefined;
}

test('a loop’s next round is another request', () => {
	const here = execution();
	failing(here, '1');
	expect(foundBy(here)).toBeUndefined();
});

test('neither key nor log holds the token', () => {
	const { store, run } = execution();
	const { keys, log } = run({ items: [{ json: { t: 'token-of-the-test' } }] });
	log.keep(keys[0]!, { state: 'task', taskId: 'x-token-of-the-test' });
	expect(JSON.stringify(store)).not.toContain('token-of-the-test');
});

describe('calls of a model', () => {
	const isTool = true;

	test('the id that n8n gives to a call does not count', () => {
		const here = execution();
		failing(here, '1', { isTool, items: [{ json: { text: 'A', toolCallId: 'x' } }] });
		expect(foundBy(here, { isTool, items: [{ json: { text: 'A', toolCallId: 'y' } }] })).toBe('1');
	});

	test('equal ones at the same time take turns, others do not wait', async () => {
		const { store } = execution();
		const order: string[] = [];
		const call = async (key: string, name: string, work: Promise<unknown>) => {
			const leave = await takeTurn(store, key);
			order.push(`${name} begins`);
			await work;
			order.push(`${name} ends`);
			leave();
		};
		let end = () => {};
		const slow = call('a', 'first', new Promise<void>((resolve) => (end = resolve)));
		const next = call('a', 'second', Promise.resolve());
		await call('b', 'other', Promise.resolve());
		end();
		await Promise.all([slow, next]);
		expect(order).toEqual([
			...['first begins', 'other begins', 'other ends', 'first ends'],
			...['second begins', 'second ends'],
		]);
	});
});

describe('without an execution', () => {
	const isTool = true;
	/** Nothing of one call is there any more when the next one comes. */
	const failingOutside = (taskId: string, text: string) =>
		failing(execution(null), taskId, { isTool, text });
	const foundOutside = (text: string, account?: Call['account']) =>
		foundBy(execution(null), { isTool, text, ...(account ? { account } : {}) });
	beforeEach(() => void jest.useFakeTimers());
	afterEach(() => void jest.useRealTimers());

	test('a call finds what the one before it has left, within an hour', () => {
		failingOutside('1', 'One hour.');
		expect(foundOutside('One hour.', address('another-token'))).toBeUndefined();
		jest.setSystemTime(Date.now() + 3_599_000);
		expect(foundOutside('One hour.')).toBe('1');
		jest.setSystemTime(Date.now() + 2000);
		expect(foundOutside('One hour.')).toBeUndefined();
	});

	test('the oldest of more than five hundred is forgotten', () => {
		for (let call = 0; call <= 500; call++) failingOutside('1', `Text ${call}`);
		expect(foundOutside('Text 0')).toBeUndefined();
		expect(foundOutside('Text 500')).toBe('1');
	});
});
