import { chargeSummary } from '../../nodes/MediaGeneration/paid/summary';

const task = (index: number, taskId: string) => ({ index, state: 'task' as const, taskId });

test('at most five are named, however many are paid', () => {
	const requests = Array.from({ length: 100 }, (_, index) => task(index, `t${index}`));
	expect(chargeSummary(requests, 3)).toBe(
		"Already paid for: item 0: task t0; item 1: task t1; item 2: task t2; item 4: task t4; item 5: task t5 and 94 more. To collect this at no extra charge, set On Error in the node's settings to 'Continue (using error output)', save, and choose 'Retry with currently saved workflow (from node with error)' in the executions list.",
	);
});

test('what is paid and what may be are told apart; the rest is not named', () => {
	const sent = { index: 0, state: 'sent' as const };
	const requests = [sent, task(1, '7'), { ...task(2, '8'), state: 'gone' as const }];
	expect(chargeSummary(requests)).toBe(
		"Already paid for: item 1: task 7. To collect this at no extra charge, use Speech → Collect with the task ID, or, for videos and images, History → Get Many. Perhaps paid for, since the service did not confirm it: item 0: speech requested. Check History → Get Many, or the provider's website, before you run this again.",
	);
	expect(chargeSummary(requests, 1)).toMatch(
		/^Perhaps paid for, .* A retry does not send this again\.$/,
	);
});

test('nothing is said when nothing else is paid', () => {
	expect(chargeSummary([])).toBeUndefined();
	expect(chargeSummary([task(4, '7')], 4)).toBeUndefined();
});
