import { paidWords } from '../../nodes/MediaGeneration/paid/summary';
import { redactor } from '../../nodes/shared/parsing/redaction';

/** What is said when item `failed` ends a run with these requests, or a stop. */
const words = (requests: Parameters<typeof paidWords>[0], failed?: number) =>
	paidWords(requests, redactor(''), failed);
/** A generation whose stream has told these ids. */
const task = (index: number, taskId: string) => ({ index, state: 'task' as const, taskId });

test('at most five ids are named, however many are paid', () => {
	const requests = Array.from({ length: 100 }, (_, index) => task(index, `t${index}`));
	expect(words(requests, 3)).toBe(
		"99 other items are paid for. To collect them at no extra charge, set On Error in the node's settings to 'Continue (using error output)', and choose 'Retry with currently saved workflow (from node with error)'. Paid: item 0: task t0; item 1: task t1; item 2: task t2; item 4: task t4; item 5: task t5 and 94 more.",
	);
});

test('what is paid and what may be are told apart; the rest is not named', () => {
	const sent = { index: 0, state: 'sent' as const, sentAt: 1 };
	const requests = [sent, task(1, '7'), { ...task(2, '8'), isGone: true }];
	expect(words(requests)).toBe(
		"1 item is paid for. To collect it at no extra charge, use Speech → Collect with the task ID, or, for videos and images, History → Get Many. Paid: item 1: task 7. 1 item may be paid for: the service did not confirm it. Check History → Get Many, or the provider's website, before you run this again. Unconfirmed: item 0: speech requested.",
	);
	expect(words(requests, 1)).toMatch(/^1 other item may be paid for: /);
});

test('nothing is said when nothing else is paid', () => {
	expect(words([])).toBeUndefined();
	expect(words([task(4, '7')], 4)).toBeUndefined();
});
