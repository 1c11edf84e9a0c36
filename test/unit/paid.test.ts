import { PaidSummary } from '../../nodes/MediaGeneration/paid/summary';
import { redactor } from '../../nodes/shared/parsing/redaction';

test('at most five ids are named, however many are paid', () => {
	const paid = new PaidSummary(redactor(''));
	for (let index = 99; index >= 0; index--) paid.surely(index, 'task', [`t${index}`]);
	const words = paid.words(3)!;
	expect(words).toContain(
		'(item 0: task t0; item 1: task t1; item 2: task t2; item 4: task t4; item 5: task t5 and 94 more)',
	);
	expect(words).toMatch(/^Other items of this run are paid as well/);
});

test('the ids of one item count each', () => {
	const paid = new PaidSummary(redactor(''));
	paid.surely(0, 'video', ['a', 'b', 'c', 'd']);
	paid.surely(1, 'video', ['e', 'f']);
	expect(paid.words()).toContain('item 0: video d; item 1: video e and 1 more)');
});

test('an address is cut that is longer than a line', () => {
	const paid = new PaidSummary(redactor(''));
	paid.surely(0, 'image', [`https://files.example/${'x'.repeat(5000)}`]);
	expect(paid.words()!.length).toBeLessThan(600);
});

test('what is paid and what may be are told apart; what is not paid is not named', () => {
	const paid = new PaidSummary(redactor(''));
	paid.maybe(0, 'speech');
	paid.maybe(1, 'speech');
	paid.maybe(2, 'speech');
	paid.surely(1, 'task', ['7']);
	paid.not(2);
	expect(paid.words()).toBe(
		'Items of this run are paid (item 1: task 7): Retry collects them without paying again, and so do Speech → Wait and History → Get Many. Items of this run may be paid, though the service has not said so (item 0: speech asked for): Retry does not send them again.',
	);
	expect(paid.words(1)).toMatch(/^Other items of this run may be paid, though/);
});

test('of a run that paid for nothing else there is nothing to say', () => {
	const paid = new PaidSummary(redactor(''));
	expect(paid.words()).toBeUndefined();
	paid.surely(4, 'task', ['7']);
	expect(paid.words(4)).toBeUndefined();
});
