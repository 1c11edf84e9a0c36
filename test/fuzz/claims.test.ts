import fc from 'fast-check';
import { Claims } from '../../nodes/shared/generation/claims';
import type { Claim } from '../../nodes/shared/generation/historyMatching';
import { readGeneratedFiles } from '../../nodes/shared/parsing/responses';
import { asId } from '../../nodes/shared/parsing/coerce';
import { judge, sent } from '../unit/judge';
import { anyJson, anyText, recordOf } from './arbitraries';
import { always, BASE } from './check';
import { histories, type History } from './corpus';

const PROMPTS = ['A boat', 'A boat ', '', 'A bird'];
const NOW = Date.parse('2026-01-01T10:00:00Z');

const id = fc.constantFrom('a0', 'b0', 'a1', 'b1', 'a2', '3', '4');
const entry: fc.Arbitrary<Record<string, unknown>> = fc
	.tuple(
		recordOf(anyJson),
		fc.record(
			{
				id: fc.oneof(id, fc.constantFrom(3, 4)),
				prompt: fc.oneof(fc.constantFrom(...PROMPTS), anyText),
				created_at: fc.oneof(
					fc.integer({ min: -60_000, max: 60_000 }).map((ms) => new Date(NOW + ms).toISOString()),
					anyText,
				),
				file_url: id.map((name) => `https://files.example.com/${name}.mp4`),
				aspect_ratio: fc.constantFrom(
					'VIDEO_ASPECT_RATIO_LANDSCAPE',
					'VIDEO_ASPECT_RATIO_PORTRAIT',
				),
			},
			{ requiredKeys: [] },
		),
	)
	.map(([random, likely]) => ({ ...random, ...likely }));

const order = fc.record({
	prompt: fc.constantFrom(...PROMPTS),
	sentAt: fc.integer({ min: NOW - 30_000, max: NOW + 30_000 }),
	expected: fc.integer({ min: 1, max: 4 }),
	kind: fc.constantFrom('video' as const, 'image' as const),
	aspectRatio: fc.constantFrom<string | undefined>(undefined, 'VIDEO_ASPECT_RATIO_LANDSCAPE'),
	withImages: fc.boolean(),
	told: fc.subarray(['a', 'b']),
	isLost: fc.boolean(),
});

const history: fc.Arbitrary<History> = fc.record({
	orders: fc.array(order, { minLength: 1, maxLength: 4 }),
	entries: fc.array(entry, { maxLength: 8 }),
	offset: fc.constantFrom(0, 5000, -86_400_000),
});

describe('whatever the history holds', () => {
	it('gives each generation its own, nothing twice, and nothing that is another one’s by id', () => {
		always(
			history,
			{
				examples: histories,
				normal: 150,
			},
			({ orders, entries, offset }) => {
				const claims = new Claims();
				const open = orders.map(({ isLost, ...each }, index) => {
					// No two streams tell of the same item.
					const told = each.told.map((known) => known + String(index));
					const claim = claims.open(sent({ ...each, told }));
					if (isLost) claim.state = 'lost';
					return claim;
				});
				const owners = new Map<unknown, Claim>();
				for (const claim of open) {
					const { own, candidates } = judge(claims, claim, entries, offset);
					for (const found of [...own, ...candidates]) expect(entries).toContain(found);
					for (const found of own) {
						expect(owners.get(found) ?? claim).toBe(claim);
						owners.set(found, claim);
						const id = asId(found.id) ?? asId(found.task_id) ?? '';
						expect(open.filter((each) => each.request.told.includes(id) && each !== claim)).toEqual(
							[],
						);
					}
				}
			},
		);
	});

	it('belongs to nobody else once somebody has it', () => {
		always(fc.tuple(order, fc.array(entry, { maxLength: 5 })), {}, ([one, entries]) => {
			const claims = new Claims();
			const first = claims.open(sent(one));
			const { own } = judge(claims, first, entries);
			claims.settle(first, readGeneratedFiles(own, BASE));
			const second = claims.open(sent(one));
			const taken = new Set(readGeneratedFiles(own, BASE).map(({ fileUrl }) => fileUrl));
			const again = readGeneratedFiles(judge(claims, second, entries).own, BASE);
			expect(again.filter(({ fileUrl }) => taken.has(fileUrl))).toEqual([]);
		});
	});
});
