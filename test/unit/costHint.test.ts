import { costHint } from '../../nodes/MediaGeneration/paid/costHint';

test.each<[string, Parameters<typeof costHint>[0], string | undefined]>([
	['all generated', { items: 9, collected: 0, failed: 0, paid: 9 }, undefined],
	['one that failed', { items: 1, collected: 0, failed: 1, paid: 1 }, undefined],
	['one that was collected', { items: 1, collected: 1, failed: 0, paid: 0 }, undefined],
	['bad input only', { items: 3, collected: 0, failed: 3, paid: 0 }, undefined],
	[
		'some of each',
		{ items: 100, collected: 96, failed: 3, paid: 2 },
		'1 item generated, 96 collected from an earlier attempt at no extra charge, 3 failed; 2 paid requests',
	],
	[
		'a failure among others',
		{ items: 3, collected: 0, failed: 1, paid: 3 },
		'2 items generated, 1 failed; 3 paid requests',
	],
])('%s', (_, outcome, hint) => {
	expect(costHint(outcome)).toBe(hint);
});
