import { PaidSummary } from '../../nodes/MediaGeneration/paid/summary';
import { redactor } from '../../nodes/shared/parsing/redaction';

let paid: PaidSummary;
beforeEach(() => void (paid = new PaidSummary(redactor(''))));

test('at most five ids are named, however many are paid', () => {
	for (let index = 99; index >= 0; index--) paid.surely(index, 'task', [`t${index}`]);
	expect(paid.words(3)).toBe(
		"99 other items are paid for. To collect them at no extra charge, set On Error in the node's settings to 'Continue' and retry this execution with the currently saved workflow. Paid: item 0: task t0; item 1: task t1; item 2: task t2; item 4: task t4; item 5: task t5 and 94 more.",
	);
});

test('the ids of one item count each', () => {
	paid.surely(0, 'video', ['a', 'b', 'c', 'd']);
	paid.surely(1, 'video', ['e', 'f']);
	expect(paid.words()).toContain('item 0: video d; item 1: video e and 1 more.');
});

test('a very long address is cut', () => {
	paid.surely(0, 'image', [`https://files.example/${'x'.repeat(5000)}`]);
	expect(paid.words()!.length).toBeLessThan(600);
});

test('what is paid and what may be are told apart; the rest is not named', () => {
	for (const index of [0, 1, 2]) paid.maybe(index, 'speech');
	paid.surely(1, 'task', ['7']);
	paid.not(2);
	expect(paid.words()).toBe(
		"1 item is paid for. To collect it at no extra charge, use Speech → Wait with the task ID, or, for videos and images, History → Get Many. Paid: item 1: task 7. 1 item may be paid for: the service did not confirm it. Check History → Get Many, or the provider's website, before you run this again. Unconfirmed: item 0: speech requested.",
	);
	expect(paid.words(1)).toMatch(/^1 other item may be paid for: /);
});

test('nothing is said when nothing else is paid', () => {
	expect(paid.words()).toBeUndefined();
	paid.surely(4, 'task', ['7']);
	expect(paid.words(4)).toBeUndefined();
});
