import { isFindable, RequestLedger } from '../../nodes/shared/generation/requestLedger';
import { sent } from './sent';

const file = (id: string) => ({ id, fileUrl: `https://media.example.com/${id}`, raw: {} });

test.each([
	[false, [], true],
	[true, [], false],
	[true, ['a'], false],
	[true, ['a', 'b'], true],
])('with images (%s), two videos of which %j are announced: findable %s', (...row) => {
	const [hasHiddenInputs, announcedIds, expected] = row;
	expect(isFindable(sent({ requestedCount: 2, hasHiddenInputs, announcedIds }))).toBe(expected);
});

test('what was not accepted is removed, and the oldest of thousands are', () => {
	const ledger = new RequestLedger();
	const [refused, oldest] = [sent(), sent()];
	ledger.add(refused);
	ledger.remove(refused);
	expect(ledger.all()).toEqual([]);
	ledger.add(oldest);
	for (let n = 1; n < 20_000; n++) ledger.add(sent());
	expect(ledger.all()).toContain(oldest);
	ledger.add(sent());
	expect(ledger.all()).not.toContain(oldest);
});

test.each([
	['none is known', undefined, ['a'], true],
	['one with fewer files is known', [], ['a'], true],
	['one with as many files is known', ['a'], ['b'], false],
])('a request of the journal is restored if %s, and searched for from now on', (...row) => {
	const [, known, stored, isRestored] = row;
	const ledger = new RequestLedger();
	const saved = sent({ files: stored.map(file) });
	if (known) ledger.add({ ...saved, files: known.map(file) });
	ledger.restore(saved);
	expect(ledger.all()).toHaveLength(1);
	expect(ledger.all()[0] === saved).toBe(isRestored);
	if (isRestored) expect(saved.searchUntil! - Date.now()).toBeGreaterThan(590_000);
});

test('speech is no generation', () => {
	const ledger = new RequestLedger();
	const video = sent();
	for (const one of [sent({ kind: 'speech' }), video]) ledger.add(one);
	expect(ledger.generations()).toEqual([video]);
});

test('requests for generations come in the order in which they were sent, in each process alike', () => {
	const ledger = new RequestLedger();
	const [early, late] = [sent({ sentAt: 1 }), sent({ sentAt: 2 })];
	const [one, two] = ['1', '2'].map((key) => sent({ key, sentAt: 3 }));
	for (const each of [two!, late, one!, early]) ledger.add(each);
	expect(ledger.generations()).toEqual([early, late, one, two]);
});
