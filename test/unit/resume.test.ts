import type { IDataObject, IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { Resume } from '../../nodes/MediaGeneration/paid/resume';
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
	let nodesRead = 0;
	return {
		store,
		nodesRead: () => nodesRead,
		/** The node runs once more. */
		run(call: Partial<Call> = {}): Resume {
			const round = ++runIndex;
			const { text = 'Hello.', isTool = false, account = address() } = call;
			const { items = [{ json: { t: 1 } }, { json: { t: 1 } }] } = call;
			const context = {
				getContext: () => store,
				getExecutionId: () => executionId ?? undefined,
				evaluateExpression: (expression: string) =>
					expression.replaceAll('{{ $runIndex }}', String(round)),
				getInputData: () => items,
				getNode() {
					nodesRead++;
					return { name: 'Media', parameters: { text }, credentials: {} };
				},
			};
			return new Resume(context as unknown as IExecuteFunctions, isTool, account);
		},
	};
}
type Execution = ReturnType<typeof execution>;

const keyOf = (resume: Resume, index = 0) => resume.keysOf(index)[0]!;

/** A call that paid for a task and failed after it. */
function failing({ run }: Execution, taskId: string, call?: Partial<Call>): void {
	const resume = run(call);
	resume.save(keyOf(resume), { taskId });
	resume.release();
}

/** What a call finds that was paid for before. */
function foundBy({ run }: Execution, call?: Partial<Call>) {
	const resume = run(call);
	return resume.find(keyOf(resume))?.taskId;
}

test('a loop’s next round is another request', () => {
	const here = execution();
	failing(here, '1');
	expect(foundBy(here)).toBeUndefined();
});

describe('a further attempt of one round', () => {
	const item = { json: { t: 1, deep: { when: new Date(0), none: undefined } } };
	const file = { mimeType: 'image/png', data: 'filesystem-v2', id: 'a', bytes: 9, fileName: 'a' };
	const withFile = (changes: object) => ({
		items: [{ json: {}, binary: { data: { ...file, ...changes } } }],
	});
	const stored = <T>(value: T) => JSON.parse(JSON.stringify(value)) as T;
	/** The same execution as n8n has stored it, and as its node runs again. */
	const retry = (before: Execution, call: Partial<Call>) => {
		const after = execution();
		Object.assign(after.store, stored(before.store));
		return foundBy(after, call);
	};

	test.each<[string, string | undefined, Partial<Call>, Partial<Call>]>([
		['the same item, stored and read', '1', { items: [item] }, { items: [stored(item)] }],
		['another item', undefined, { items: [item] }, { items: [{ json: { t: 2 } }] }],
		['a file of another size', undefined, withFile({}), withFile({ bytes: 8 })],
	])('%s', (_, found, before, after) => {
		const here = execution();
		failing(here, '1', before);
		expect(retry(here, after)).toBe(found);
	});

	test('an item may contain itself', () => {
		const json: IDataObject = { t: 1 };
		json.self = json;
		const resume = execution().run({ items: [{ json }] });
		expect(keyOf(resume)).toMatch(/^0:\w+$/);
	});

	test('items of the same content are two, and the node is looked at once for all', () => {
		const here = execution();
		const resume = here.run();
		expect(keyOf(resume)).not.toBe(keyOf(resume, 1));
		expect(here.nodesRead()).toBe(1);
	});
});

describe('calls of a model', () => {
	const isTool = true;
	const call = (text: string) => ({ isTool, items: [{ json: { text, toolCallId: text.length } }] });

	test('the values of expressions tell them apart, except those that change with each try', () => {
		const here = execution();
		const text = '={{ $runIndex }} of {{ $now }}';
		failing(here, '2', { ...call('Hi.'), text });
		expect(foundBy(here, { ...call('Bye.'), text })).toBeUndefined();
		// evaluateExpression stands for any value: here the round, without its name.
		const other = execution();
		const run = (value: string) => ({ isTool, text: `={{ ${value} }}` });
		failing(other, '1', run('a'));
		expect([foundBy(other, run('b')), foundBy(other, run('a'))]).toEqual([undefined, '1']);
	});

	test('the id that n8n gives to a call does not count', () => {
		const here = execution();
		failing(here, '1', { isTool, items: [{ json: { text: 'A', toolCallId: 'x' } }] });
		expect(foundBy(here, { isTool, items: [{ json: { text: 'A', toolCallId: 'y' } }] })).toBe('1');
	});

	test('a call that succeeds forgets its own request, not that of another under way', () => {
		const { run, store } = execution();
		const slow = run({ isTool, text: 'A long story.' });
		const slowKey = keyOf(slow);
		slow.save(slowKey, { taskId: '1' });
		const quick = run({ isTool });
		const quickKey = keyOf(quick);
		quick.save(quickKey, { taskId: '2' });
		quick.clear();
		expect(slow.find(quickKey)).toBeUndefined();
		expect(slow.find(slowKey)).toEqual({ taskId: '1' });
		slow.clear();
		expect(store).toEqual({});
	});

	test('of two at the same time, the one that has failed is found', () => {
		const here = execution();
		const [good, bad] = [here.run({ isTool }), here.run({ isTool })];
		good!.save(keyOf(good!), { taskId: 'good' });
		bad!.save(keyOf(bad!), { taskId: 'bad' });
		bad!.release();
		good!.release();
		good!.clear();
		expect(foundBy(here, { isTool })).toBe('bad');
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

describe('parts of a text', () => {
	const cutAt = (at: number) => [
		{ start: 0, end: 50 },
		{ start: 51, end: at },
	];

	test('are found by their stretch of it, on their own, and forgotten with the item', () => {
		const here = execution();
		const resume = here.run();
		const [one, two] = resume.keysOf(0, cutAt(90));
		resume.save(one!, { taskId: '1' });
		resume.save(two!, { taskId: '2' });
		resume.release();
		const again = execution();
		Object.assign(again.store, here.store);

		const other = again.run();
		const found = other.keysOf(0, cutAt(99)).map((key) => other.find(key)?.taskId);
		expect(found).toEqual(['1', undefined]);
		resume.clear();
		expect(here.store).toEqual({});
	});

	test('a further call of a model finds those that the second of two at the same time has left', () => {
		const here = execution();
		const [first, second] = [here.run({ isTool: true }), here.run({ isTool: true })];
		first.keysOf(0, cutAt(90));
		second.save(second.keysOf(0, cutAt(90))[0]!, { taskId: '2' });
		second.release();
		first.release();
		const third = here.run({ isTool: true });
		expect(third.find(third.keysOf(0, cutAt(90))[0]!)?.taskId).toBe('2');
	});
});
