import { TaskStore } from '../../nodes/MediaGenerationTrigger/watch/taskStore';

const MINUTE = 60_000;
const START = Date.parse('2026-11-20T12:00:00Z');

/** What n8n has saved by the time it stops right after it was told of a task's end. */
function savedAtTheEnd(taskId: string) {
	jest.useFakeTimers({ now: START });
	const store = {};
	const ledger = new TaskStore(store, 'before', true);
	ledger.see(taskId);
	ledger.over(taskId);
	ledger.emitted(taskId);
	ledger.save();
	jest.useRealTimers();
	return structuredClone(store);
}

describe('an end that n8n was told of right before it stopped', () => {
	const after = (ms: number, emitsAgain: boolean) =>
		new TaskStore(savedAtTheEnd('12'), `after ${ms} ${emitsAgain}`, emitsAgain, START + ms);

	it('is emitted again when n8n is soon back, as it may not have begun an execution', () => {
		const ledger = after(MINUTE, true);
		expect(ledger.tasks()).toEqual(['12']);
		expect(ledger.isOver('12')).toBe(false);
	});

	it('is not emitted again later, when n8n may have deleted the execution it would know it by', () => {
		const ledger = after(3 * MINUTE, true);
		expect(ledger.tasks()).toEqual([]);
		expect(ledger.isOver('12')).toBe(true);
	});

	it('is not emitted again where n8n drops no duplicates', () => {
		const ledger = after(MINUTE, false);
		expect(ledger.tasks()).toEqual([]);
		expect(ledger.isOver('12')).toBe(true);
	});
});

it('a task whose end n8n was not told of is remembered for a day', () => {
	const kept = { at: START, underWay: { '12': [START, 43, 0] }, ended: [] };
	expect(new TaskStore({ ...kept }, 'a', true, START + 60 * MINUTE).tasks()).toEqual(['12']);
	expect(new TaskStore({ ...kept }, 'b', true, START + 25 * 60 * MINUTE).tasks()).toEqual([]);
});
