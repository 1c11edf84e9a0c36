import type { IDataObject, IExecuteFunctions } from 'n8n-workflow';
import { Journal, type JournalEntry } from '../../nodes/MediaGeneration/paid/journal';
import { makeCallSignals } from '../../nodes/shared/async/callSignals';
import { Failure } from '../../nodes/shared/failure';
import type { NodeParameters } from '../../nodes/shared/n8n/parameters';
import { redactor } from '../../nodes/shared/parsing/redaction';

const { signal } = new AbortController();

/** The journal of a run. Without an execution, a model calls. */
function journalOf(store: IDataObject | undefined, executionId: string | undefined): Journal {
	const context = {
		evaluateExpression: () => 0,
		getContext: () => {
			if (!store) throw new Error('executionData is not initialized');
			return store;
		},
		getExecutionId: () => executionId,
		getInputData: () => [{ json: {} }],
		getMode: () => 'trigger',
		getNode: () => ({ parameters: {} }),
	} as unknown as IExecuteFunctions;
	return new Journal(context, executionId === undefined);
}

const calls = (count: number) => Array.from({ length: count }, (_, n) => ({ sharedKey: `${n}` }));

const credential = { accountKey: '', baseUrl: '', redact: redactor('') };
const item = { index: 0, credential, parameters: {} as NodeParameters };

/** A run that plans so many requests, and sends them; true when it may begin. */
function run(store: IDataObject, { planned = 1, executionId = '1' } = {}): boolean {
	const journal = journalOf(store, executionId);
	const keys = Array.from({ length: planned }, (_, n) => `${n}`);
	const entries = journal.entriesFor(item, keys);
	if (journal.reserve(entries, 5)) return false;
	for (const entry of entries) entry.setSent({ state: 'sent' });
	journal.settle();
	return true;
}

test('the rounds of a loop count together', () => {
	const store = {};
	expect([2, 2, 2, 1].map((planned) => run(store, { planned }))).toEqual([true, true, false, true]);
});

test('"Retry execution" counts anew', () => {
	const store = {};
	expect(run(store, { planned: 5 })).toBe(true);
	expect(run(store, { planned: 5, executionId: '2' })).toBe(true);
});

test.each<[string, IDataObject | undefined, string | undefined]>([
	['outside of an execution', {}, undefined],
	['for which n8n has no context', undefined, '1'],
])('calls of a model %s count each by itself', (_, store, executionId) => {
	const reserve = () => journalOf(store, executionId).reserve(calls(5), 5);
	expect([reserve(), reserve()]).toEqual([undefined, undefined]);
});

test('fewer rows help only where nothing was sent before', () => {
	const store = {};
	const remedy = () => journalOf(store, '1').reserve(calls(6), 5)?.facts.fieldRemedy;
	expect(remedy()).toBeUndefined();
	expect(run(store)).toBe(true);
	expect(remedy()).toBe('Raise the limit');
});

/** Runs with these stores that all need the same call, and its entry in each. */
function sharedCall(...stores: IDataObject[]) {
	const runs = stores.map((store) => journalOf(store, '1'));
	const { stopStarting } = makeCallSignals({ cancelSignal: signal, stopSignal: signal });
	const entries = runs.map((journal) => journal.entriesFor(item, [''])[0]!);
	return { runs, entries, stopStarting };
}

test('a call that another run has reserved and given up is taken over, and counted once', async () => {
	const store = {};
	const { runs, entries, stopStarting } = sharedCall(store, store, store);
	const [owner, sharer, late] = entries;
	expect(runs[0]!.reserve([owner!], 1)).toBeUndefined();
	expect(sharer!.needsReservation).toBe(false);
	expect(runs[1]!.reserve([], 1)).toBeUndefined();
	const giveUp = async () => {
		await Promise.resolve();
		throw new Failure('timedOut');
	};
	const ended = owner!.createOnce(stopStarting, giveUp).catch(() => {});
	const sent = jest.fn();
	await sharer!.createOnce(stopStarting, async () => {
		expect(late!.needsReservation).toBe(false);
		runs[0]!.settle();
		sharer!.setSent({ state: 'sent' });
		sent();
	});
	await ended;
	runs[1]!.settle();
	expect(sent).toHaveBeenCalledTimes(1);
	expect(runs[2]!.reserve(calls(1), 1)?.kind).toBe('overBudget');
	expect(runs[2]!.reserve(calls(1), 2)).toBeUndefined();
});

test('a call whose task has failed is counted again while the run that sent it goes on', () => {
	const store = {};
	const { runs, entries } = sharedCall(store, store);
	const [failed, again] = entries;
	expect(runs[0]!.reserve([failed!], 1)).toBeUndefined();
	failed!.setSent({ state: 'sent' });
	failed!.write({ state: 'task', taskId: '1', createdAt: 0, accountKey: '' });
	failed!.setGone(new Failure('taskFailed'));
	expect(again!.needsReservation).toBe(true);
	expect(runs[1]!.reserve([again!], 1)?.kind).toBe('overBudget');
});

test('a call that was not accepted keeps its place', () => {
	const store = {};
	const { runs, entries } = sharedCall(store, store);
	expect(runs[0]!.reserve([entries[0]!], 1)).toBeUndefined();
	entries[0]!.setSent({ state: 'sent' });
	entries[0]!.setNotAccepted();
	expect(entries[1]!.needsReservation).toBe(false);
	runs[0]!.settle();
	expect(entries[1]!.needsReservation).toBe(true);
	expect(runs[1]!.reserve([entries[1]!], 1)).toBeUndefined();
});

test('a call that another run has given up is refused if a third one has got the last request', async () => {
	const store = {};
	const { runs, entries, stopStarting } = sharedCall(store, store, store);
	expect(runs[0]!.reserve([entries[0]!], 1)).toBeUndefined();
	expect(runs[1]!.reserve([], 1)).toBeUndefined();
	runs[0]!.settle();
	expect(runs[2]!.reserve(calls(1), 1)).toBeUndefined();
	const sent = entries[1]!.createOnce(stopStarting, async () => {});
	await expect(sent).rejects.toMatchObject({ kind: 'overBudget' });
});

test('a call that one retry gives up after a refusal is sent by another retry, which counts it once', async () => {
	const stores = [1, 2].map(() => ({ mediaGenerationLineage: 'of both' }));
	const { runs, entries, stopStarting } = sharedCall(...stores);
	const [first, second] = entries;
	expect(runs[0]!.reserve([first!], 1)).toBeUndefined();
	const planned: JournalEntry[] = [];
	const givenUp = first!.createOnce(stopStarting, async () => {
		await Promise.resolve();
		first!.setSent({ state: 'sent' });
		planned.push(...entries.filter(({ needsReservation }) => needsReservation));
		expect(runs[1]!.reserve(planned, 1)).toBeUndefined();
		first!.setNotAccepted();
		throw new Failure('timedOut');
	});
	const sent = second!.createOnce(stopStarting, async () => second!.setSent({ state: 'sent' }));
	await expect(givenUp).rejects.toThrow('timedOut');
	await sent;
	expect(runs[0]!.reserve(calls(1), 1)).toBeUndefined();
	expect(runs[1]!.reserve(calls(1), 1)?.kind).toBe('overBudget');
});

test('a call that was charged and has failed is not sent by who waits for it, although its run was stopped', async () => {
	const store = {};
	const { entries, stopStarting } = sharedCall(store, store);
	const stop = new AbortController();
	const owner = makeCallSignals({ cancelSignal: signal, stopSignal: stop.signal });
	const [charged, waiting] = entries;
	const failed = charged!.createOnce(owner.stopStarting, async () => {
		await Promise.resolve();
		charged!.setSent({ state: 'sent' });
		stop.abort();
		charged!.deleteEverywhere();
		throw new Failure('generationFailed');
	});
	const send = jest.fn(async () => {});
	const waited = waiting!.createOnce(stopStarting, send);
	await expect(failed).rejects.toMatchObject({ kind: 'generationFailed' });
	await expect(waited).rejects.toMatchObject({ kind: 'generationFailed' });
	expect(send).not.toHaveBeenCalled();
});

test('a call that is refused for its rate until its time is nearly up is sent by who waits for it', async () => {
	const store = {};
	const { entries, stopStarting } = sharedCall(store, store);
	const [refused, waiting] = entries;
	// The last seconds of an item are for a last look: no call is sent then, though the item goes on.
	const ended = refused!.createOnce(stopStarting, async () => {
		await Promise.resolve();
		refused!.setSent({ state: 'sent' });
		refused!.setNotAccepted();
		throw new Failure('throttled');
	});
	const sent = waiting!.createOnce(stopStarting, async () => await Promise.resolve('sent'));
	await expect(ended).rejects.toMatchObject({ kind: 'throttled' });
	expect(await sent).toBe('sent');
});

test('a call that was sent and given up is not collected at another Base URL by who waits for it', async () => {
	const { runs, entries, stopStarting } = sharedCall({});
	const elsewhere = { ...credential, baseUrl: 'https://new.example.com' };
	const [waiting] = runs[0]!.entriesFor({ ...item, credential: elsewhere }, ['']);
	const first = entries[0]!.createOnce(stopStarting, async () => {
		await Promise.resolve();
		entries[0]!.setSent({ state: 'sent' });
		throw new Failure('timedOut');
	});
	const create = jest.fn();
	const second = waiting!.createOnce(stopStarting, create);
	await expect(first).rejects.toMatchObject({ kind: 'timedOut' });
	await expect(second).rejects.toMatchObject({ kind: 'indeterminate' });
	expect(create).not.toHaveBeenCalled();
});
