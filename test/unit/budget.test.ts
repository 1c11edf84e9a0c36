import type { IDataObject } from 'n8n-workflow';
import { Budget } from '../../nodes/MediaGeneration/paid/budget';

/** A run that plans so many requests, sends some and has some refused; true when it may begin. */
function run(
	store: IDataObject,
	{ planned = 1, unsent = 0, refused = 0, limit = 5, executionId = '1' } = {},
): boolean {
	const spending = new Budget(store, executionId);
	if (spending.reserve(planned, limit)) return false;
	for (let n = unsent; n < planned; n++) spending.countSent();
	for (let n = 0; n < refused; n++) spending.countRefused();
	spending.settle();
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
