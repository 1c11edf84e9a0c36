import type { IDataObject, IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import {
	describeFailedAttempt,
	Journal,
	type JournalEntry,
} from '../../nodes/MediaGeneration/paid/journal';
import { sleep } from '../../nodes/shared/async/deadline';
import { Failure } from '../../nodes/shared/failure';
import type { MediaRequest } from '../../nodes/shared/generation/requestLedger';
import type { NodeParameters } from '../../nodes/shared/n8n/parameters';
import { redactor } from '../../nodes/shared/parsing/redaction';

const { signal } = new AbortController();
const TOKEN = 'token-of-the-test';

interface Call {
	text: string;
	items: INodeExecutionData[];
	isTool: boolean;
	/** The id of its credential. */
	account: string;
	mode: 'trigger' | 'retry' | 'manual';
	/** Its accountKey, if the credential has several accounts. */
	accountKey: string;
	/** The index of its item. */
	index: number;
	/** The id of its node, in an execution whose start node has run. */
	nodeId: string;
	workflowId: string;
	/** When the start node has run, for how long, and its items. */
	startRun: { startTime?: number; executionTime?: number; items?: INodeExecutionData[] };
	/** Whether n8n has noted that the node has begun. */
	hasBegun: boolean;
}

/** One execution of a workflow: its node context, and how often the node has run in it. */
function execution(executionId: string | null = '1', hasContext = true, store: IDataObject = {}) {
	let runIndex = -1;
	return {
		store,
		/** The next run is another attempt of this round. */
		again: () => void runIndex--,
		/** The node runs once more: what is kept of the request of an item, the first one unless given. */
		run(call: Partial<Call> = {}): JournalEntry {
			const round = ++runIndex;
			const { text = 'Hello.', isTool = false, account = 'mine', accountKey = '' } = call;
			const { mode = 'trigger', index = 0, nodeId: id, workflowId = 'workflow' } = call;
			const { startTime = 1, executionTime = 1, items: started = [] } = call.startRun ?? {};
			const start = { startTime, executionTime, data: { main: [started, null] } };
			const runData = {
				...(id !== undefined && { Start: [start] }),
				...(call.hasBegun && { Node: [] }),
			};
			const { items = [{ json: { t: 1 } }, { json: { t: 1 } }] } = call;
			const credentials = { mediaGenerationApi: { id: account, name: 'Any' } };
			const context = {
				getContext: () => {
					if (!hasContext) throw new Error('executionData is not initialized');
					return store;
				},
				getExecutionId: () => executionId ?? undefined,
				evaluateExpression: (expression: string) =>
					expression.replaceAll('{{ $runIndex }}', String(round)),
				getInputData: () => items,
				getMode: () => mode,
				getWorkflow: () => ({ id: workflowId }),
				runExecutionData: { startData: { destinationNode: 'Later' }, resultData: { runData } },
				getNode: () => ({ id, name: 'Node', parameters: { text }, credentials }),
			} as unknown as IExecuteFunctions;
			const credential = { accountKey, baseUrl: '', redact: redactor(TOKEN) };
			const parameters = { readRaw: () => text } as unknown as NodeParameters;
			const item = { index, credential, parameters };
			return new Journal(context, isTool).entriesFor(item, [''])[0]!;
		},
	};
}
type Execution = ReturnType<typeof execution>;

/** A call that paid for a task and failed after it. */
const failing = ({ run }: Execution, taskId: string, call?: Partial<Call>): void =>
	run(call).write({ state: 'task', taskId, createdAt: 1, accountKey: '' });

const journalOf = (entry: JournalEntry) => (entry as unknown as { journal: Journal }).journal;

/** What a call finds that was paid for before. */
function foundBy({ run }: Execution, call?: Partial<Call>) {
	const { value: previous } = run(call);
	return previous?.state === 'task' ? previous.taskId : undefined;
}

test('a loop’s next round is another request', () => {
	const here = execution();
	failing(here, '1');
	expect(foundBy(here)).toBeUndefined();
});

test('a key is the same in every version', () => {
	const key = '718c4e4c40b891a8342c40ece4442929/0:d58264cfe8044fbdd3fbc47e7b3afbcc';
	const here = execution();
	here.store.mediaGenerationCreated = {
		[key]: { state: 'task', taskId: '1', baseUrl: '', writtenAt: 1 },
	};
	expect(foundBy(here)).toBe('1');
});

test('the second of two equal items stays the second, even if the first one sent nothing', () => {
	const here = execution();
	failing(here, '1', { index: 1 });
	here.again();
	expect(foundBy(here, { index: 0 })).toBeUndefined();
	here.again();
	expect(foundBy(here, { index: 1 })).toBe('1');
});

test('neither key nor log holds the token', () => {
	const here = execution();
	failing(here, `x-${TOKEN}`, { items: [{ json: { t: TOKEN } }] });
	expect(JSON.stringify(here.store)).not.toContain(TOKEN);
});

test('the id that n8n gives to a model’s call does not count', () => {
	const here = execution();
	const isTool = true;
	failing(here, '1', { isTool, items: [{ json: { text: 'A', toolCallId: 'x' } }] });
	expect(foundBy(here, { isTool, items: [{ json: { text: 'A', toolCallId: 'y' } }] })).toBe('1');
});

test.each<[string, isTool: boolean, Call['mode'], string | undefined]>([
	['a retry finds what another retry has paid for', false, 'retry', '1'],
	['a later node that is run by hand gets what was paid for', false, 'manual', '1'],
	['a model may want the same call twice, also in a retry', true, 'retry', undefined],
	['a model may want the same call twice, also by hand', true, 'manual', undefined],
])('%s', (_, isTool, mode, expected) => {
	const here = execution();
	const call = { isTool, mode };
	failing(here, '1', call);
	here.store.mediaGenerationCreated = {};
	here.again();
	expect(foundBy(here, call)).toBe(expected);
});

test('a retry does not pay for what another one has paid for since it began', async () => {
	const [here, other] = [execution(), execution()];
	const entry = here.run({ mode: 'retry' });
	other.store.mediaGenerationLineage = here.store.mediaGenerationLineage!;
	failing(other, '1', { mode: 'retry' });
	await entry.createOnce(signal as never, async () => {
		expect(entry.value).toMatchObject({ state: 'task', taskId: '1' });
	});
	expect.assertions(1);
});

test('a retry that waits for the call of another one sees what became of it', async () => {
	const [here, other] = [execution(), execution()];
	const entry = here.run({ mode: 'retry' });
	other.store.mediaGenerationLineage = here.store.mediaGenerationLineage!;
	const sending = other.run({ mode: 'retry' });
	const sent = sending.createOnce(signal as never, async () => {
		await Promise.resolve();
		sending.setSent({ state: 'sent' });
		throw new Failure('timedOut');
	});
	const waiting = entry.createOnce(signal as never, async () => entry.value?.state);
	await expect(sent).rejects.toThrow('timedOut');
	expect(await waiting).toBe('sent');
});

test('who waits for the call of another run gets its result, or fails as it does, or stops when told', async () => {
	const { run, again } = execution();
	const entry = () => (again(), run());
	const stop = new AbortController();
	const send = async (outcome: Promise<unknown>) =>
		await entry().createOnce(signal as never, async () => await outcome);
	const wait = async () => await entry().createOnce(stop.signal as never, async () => 'sent twice');
	const sent = send(Promise.resolve('sent'));
	expect(await Promise.all([sent, wait()])).toEqual(['sent', 'sent']);
	const refused = send(sleep(1).then(() => Promise.reject(new Failure('rejected'))));
	const outcomes = await Promise.allSettled([refused, wait()]);
	expect(outcomes.map((outcome) => 'reason' in outcome && outcome.reason.kind)).toEqual([
		'rejected',
		'rejected',
	]);
	void send(new Promise(() => {}));
	const stopped = wait();
	stop.abort(new Failure('canceled'));
	await expect(stopped).rejects.toMatchObject({ kind: 'canceled' });
});

test('after a crash, a retry that would be charged is refused, and the next one is not', () => {
	const here = execution('1');
	const planOf = (entry: JournalEntry, count: number) =>
		journalOf(entry).reserve([entry].slice(0, count), 5)?.kind;
	const retry = { mode: 'retry', hasBegun: true } as const;
	// A retry that would send nothing says nothing of it.
	expect(planOf(here.run(retry), 0)).toBeUndefined();
	for (let attempt = 0; attempt < 2; attempt++) expect(planOf(here.run(retry), 1)).toBe('crashed');
	const next = execution('2', true, here.store);
	expect(planOf(next.run(retry), 1)).toBeUndefined();
});

test.each<[string, Partial<Call>, IDataObject]>([
	['is no retry', { hasBegun: true }, {}],
	['is a model’s', { mode: 'retry', hasBegun: true, isTool: true }, {}],
	['retries a node that had not begun', { mode: 'retry' }, {}],
	['has a journal', { mode: 'retry', hasBegun: true }, { mediaGenerationCreated: {} }],
])('a call that %s is not refused as if n8n had crashed', (_, call, store) => {
	const entry = execution('1', true, store).run(call);
	expect(journalOf(entry).reserve([entry], 5)).toBeUndefined();
});

test('the requests of an account are those of its generations', () => {
	const entry = execution().run({ accountKey: 'mine' });
	const { valuesByKey } = journalOf(entry);
	const requests = ['mine', 'another'].map((accountKey) => ({ accountKey }) as MediaRequest);
	const values = [{ state: 'sent' }, ...requests.map((request) => ({ state: 'sent', request }))];
	for (const [n, value] of values.entries()) valuesByKey[n] = value as never;
	expect(entry.requestsOfAccount).toEqual([requests[0]]);
});

test('what another process has saved later wins over what this one remembers', () => {
	const here = execution();
	failing(here, '1', { mode: 'retry' });
	const entries = here.store.mediaGenerationCreated as Record<string, { writtenAt: number }>;
	for (const [key, entry] of Object.entries(entries))
		here.store.mediaGenerationCreated = {
			[key]: { ...entry, taskId: '2', writtenAt: entry.writtenAt + 1 },
		};
	here.again();
	expect(foundBy(here, { mode: 'retry' })).toBe('2');
});

test.each([
	[9, 'retry', 'task'],
	[11, 'retry', 'gone'],
	// Nobody has read that the next attempt is charged.
	[11, 'trigger', 'task'],
] as const)('a task that the service does not know after %d minutes (%s): %s', (...row) => {
	const [minutes, mode, state] = row;
	const entry = execution().run({ mode });
	const createdAt = Date.now() - minutes * 60_000;
	entry.write({ state: 'task', taskId: '1', createdAt, accountKey: '' });
	entry.setGone(new Failure('notFound'));
	expect(entry.value?.state).toBe(state);
});

test('an attempt that has failed is described by more than the reason of the service', () => {
	const failure = new Failure('unavailable', { status: 503, reason: 'Maintenance' });
	expect(describeFailedAttempt(failure)).toMatch(/503.*Maintenance.* UTC/);
});

test('what an agent pays for is found again in an n8n that gives its calls no context', () => {
	failing(execution('2', false), '1', { isTool: true });
	expect(foundBy(execution('2', false), { isTool: true })).toBe('1');
});

test('without an execution, a model’s call finds what the one before it has left, within an hour', () => {
	// Nothing of one call is there any more when the next one comes.
	const found = (call: Partial<Call> = {}) => foundBy(execution(null), { isTool: true, ...call });
	jest.useFakeTimers();
	failing(execution(null), '1', { isTool: true });
	expect(found({ account: 'another' })).toBeUndefined();
	expect(found({ accountKey: 'another' })).toBeUndefined();
	jest.setSystemTime(Date.now() + 3_599_000);
	expect(found()).toBe('1');
	jest.setSystemTime(Date.now() + 2000);
	expect(found()).toBeUndefined();
	jest.useRealTimers();
});

test.each<[string, string | null, Partial<Call>]>([
	['run without an id', null, {}],
	['retry of which n8n has kept no run of the start node', '1', { mode: 'retry' }],
])('a %s finds nothing that another execution has paid for', (_, id, call) => {
	failing(execution(id), '1', call);
	expect(foundBy(execution(id), call)).toBeUndefined();
});

test('retries of one execution find what the same node has paid for, not what another one has', () => {
	const retry = { mode: 'retry', nodeId: 'one' } as const;
	failing(execution('1'), '1', retry);
	expect(foundBy(execution('2'), retry)).toBe('1');
	const others: Array<Partial<Call>> = [
		{ nodeId: 'another' },
		{ workflowId: 'a copy' },
		{ startRun: { startTime: 2 } },
		{ startRun: { executionTime: 2 } },
		{ startRun: { items: [{ json: { id: 2 } }] } },
	];
	for (const other of others)
		expect(foundBy(execution('2'), { ...retry, ...other })).toBeUndefined();
});

test('two executions share no call, though they have begun alike', () => {
	const keys = ['1', '2'].map((id) => execution(id).run({ nodeId: 'one' }).sharedKey);
	expect(new Set(keys).size).toBe(2);
});

test('who executes a later node gets nothing of another node or workflow', () => {
	const call = { mode: 'manual', nodeId: 'manual' } as const;
	failing(execution('1'), '1', call);
	expect(foundBy(execution('2'), call)).toBe('1');
	expect(foundBy(execution('2'), { ...call, nodeId: 'another' })).toBeUndefined();
	expect(foundBy(execution('2'), { ...call, workflowId: 'a copy' })).toBeUndefined();
});

test('of thousands of requests, the oldest are forgotten', () => {
	const call = (n: number): Partial<Call> => ({ mode: 'manual', text: `One of many: ${n}` });
	for (let n = 0; n <= 5000; n++) failing(execution('1'), `${n}`, call(n));
	const found = [0, 1, 5000].map((n) => foundBy(execution('2'), call(n)));
	expect(found).toEqual([undefined, '1', '5000']);
});

const INLINE = { files: [{ fileUrl: 'data:image/png;base64,AAAA' }] } as MediaRequest;

test.each<[string, (entry: JournalEntry) => void, afterMs: number, state: string | undefined]>([
	['finds it within an hour', () => {}, 3_599_000, 'sent'],
	['does not find it later', () => {}, 3_601_000, undefined],
	['forgets what was not accepted', (entry) => entry.deleteEverywhere(), 0, undefined],
	[
		'forgets what has its file in itself, which would take much memory',
		(entry) => entry.write({ state: 'accepted', request: INLINE }),
		0,
		undefined,
	],
])('who executes a later node after this one: %s', (...row) => {
	const [text, change, afterMs, state] = row;
	jest.useFakeTimers();
	const entry = execution('1').run({ mode: 'manual', text });
	entry.write({ state: 'sent' });
	change(entry);
	jest.setSystemTime(Date.now() + afterMs);
	expect(execution('2').run({ mode: 'manual', text }).value?.state).toBe(state);
	jest.useRealTimers();
});

test.each<[string, one: object, other: object, isFound: boolean]>([
	['the same content', { data: 'AAAA' }, { data: 'AAAA' }, true],
	['another content', { data: 'AAAA' }, { data: 'BBBB' }, false],
	['a file stored anew', { id: 'fs:1', bytes: 9 }, { id: 'fs:2', bytes: 9 }, true],
	['a stored file of another size', { id: 'fs:1', bytes: 9 }, { id: 'fs:1', bytes: 8 }, false],
	['another file, by an old n8n', { id: 'fs:1' }, { id: 'fs:2' }, false],
	['the same file, by an old n8n', { id: 'fs:1' }, { id: 'fs:1' }, true],
])('who executes a later node gets what was made of %s: %#', (text, one, other, isFound) => {
	const callWith = (file: object): Partial<Call> => ({
		...{ mode: 'manual', text },
		items: [{ json: {}, binary: { image: file as never } }],
	});
	failing(execution('1'), '1', callWith(one));
	expect(foundBy(execution('2'), callWith(other))).toBe(isFound ? '1' : undefined);
});
