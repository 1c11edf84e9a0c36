import { PAID_OPERATIONS } from '../../nodes/shared/contract';
import { run } from './run';
import { kindOf } from './works.mts';
import { DRAWN, nodeOperationOf } from './world.mts';

/* A sample: `npm run worlds` plays hundreds, and kills processes by the hundred. */

const allGood = expect.stringMatching(/^(lost .*\n)*worlds: [1-9]\d* played, 0 violations\s*$/);

/** In each of them, a promise was broken once. */
const SEEDS = '2194,2729,3298,3686,3794,1795680971122';

test('worlds with random misfortune keep the promises, and are the same each time', async () => {
	const [once, twice] = await Promise.all(
		[1, 2].map(async () => await run(`main.mts --seed ${SEEDS} --verbose`)),
	);
	expect(once).toMatch(/^seed 2194: [0-9a-f]{16}\n(?:.*\n){5}worlds: 6 played, 0 violations\s*$/);
	expect(twice).toBe(once);
});

test('a process may be killed at every effect, and retried', async () => {
	expect(await run('main.mts --kills --seed 4 --count 12 --within 4')).toEqual(allGood);
});

test('each operation that is charged is drawn, and makes its kind', () => {
	const drawn = DRAWN.split(' ').map(nodeOperationOf);
	for (const { resource, operation, path, kind } of PAID_OPERATIONS) {
		expect(drawn).toContain(`${resource}:${operation}`);
		expect(`${path}: ${kindOf(path)}`).toBe(`${path}: ${kind}`);
	}
});
