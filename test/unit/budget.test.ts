import type { IDataObject, IExecuteFunctions } from 'n8n-workflow';
import { Journal } from '../../nodes/MediaGeneration/paid/journal';
import { makeCallSignals } from '../../nodes/shared/async/callSignals';
import { Failure } from '../../nodes/shared/failure';
import type { NodeParameters } from '../../nodes/shared/n8n/parameters';
import { redactor } from '../../nodes/shared/parsing/redaction';

const { signal } = new AbortController();

/** The journal of a run. Without an execution, a model calls. */
function journalOf(store: IDataObject, executionId: string | undefined): Journal {
	const context = {
		evaluateExpression: () => 0,
		getContext: () => store,
		getExecutionId: () => executionId,
		getInputData: () => [{ json: {} }],
		getMode: () => 'trigger',
		getNode: () => ({ parameters: {} }),
	} as unknown as IExecuteFunctions;
	return new Journal(context, executionId === undefined);
}

const calls = (count: number) => Array.from({ length: count }, (_, n) => ({ sharedKey: `${n}` }));

/** A run that plans so many requests, sends some and has some refused; true when it may begin. */
function run(
	store: IDataObject,
	{ planned = 1, unsent = 0, refused = 0, limit = 5, executionId = '1' } = {},
): boolean {
	const journal = journalOf(store, executionId);
	if (journal.reserve(calls(planned), limit)) return false;
	const credential = { accountKey: '', baseUrl: '', redact: redactor('') };
	const item = { index: 0, credential, parameters: {} as NodeParameters };
	const [entry] = journal.entriesFor(item, ['']);
	for (let n = unsent; n < planned; n++) entry!.setSent({ state: 'sent' });
	for (let n = 0; n < refused; n++) entry!.setNotAccepted();
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

test('calls of a model outside of an execution count each by itself', () => {
	const reserve = () => journalOf({}, undefined).reserve(calls(5), 5);
	expect([reserve(), reserve()]).toEqual([undefined, undefined]);
});

test('fewer rows help only where nothing was sent before', () => {
	const store = {};
	const remedy = () => journalOf(store, '1').reserve(calls(6), 5)?.facts.fieldRemedy;
	expect(remedy()).toBeUndefined();
	expect(run(store)).toBe(true);
	expect(remedy()).toBe('Raise the limit');
});

test('a call that another run has reserved and given up is counted by the run that sends it', async () => {
	const store = {};
	const runs = [1, 2, 3].map(() => journalOf(store, '1'));
	const credential = { accountKey: '', baseUrl: '', redact: redactor('') };
	const item = { index: 0, credential, parameters: {} as NodeParameters };
	const [owner, sharer] = runs.map((journal) => journal.entriesFor(item, [''])[0]!);
	const { stopStarting } = makeCallSignals({ cancelSignal: signal, stopSignal: signal });
	expect(runs[0]!.reserve([owner!], 1)).toBeUndefined();
	expect(sharer!.needsReservation).toBe(false);
	expect(runs[1]!.reserve([], 1)).toBeUndefined();
	const givenUp = Promise.reject(new Failure('canceled'));
	const ended = owner!.createOnce(stopStarting, async () => await givenUp).catch(() => {});
	let sent = 0;
	const shared = sharer!.createOnce(stopStarting, async () => {
		sharer!.setSent({ state: 'sent' });
		sent++;
	});
	await Promise.all([ended, shared.catch(() => {})]);
	runs[0]!.settle();
	const mayStart = runs[2]!.reserve(calls(1), 1) === undefined;
	expect(sent + (mayStart ? 1 : 0)).toBe(1);
});
