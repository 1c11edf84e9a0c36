import { run } from './run';

/* A sample: `npm run worlds` plays hundreds, and kills processes by the hundred. */

const allGood = expect.stringMatching(/^(lost .*\n)*worlds: [1-9]\d* played, 0 violations\s*$/);

test('worlds with random misfortune keep the promises', async () => {
	expect(await run('main.mts --seed 1 --count 15')).toEqual(allGood);
});

test('worlds in which a promise was broken once keep it', async () => {
	expect(await run('main.mts --seed 2194,2729,3298,3686,3794,1795680971122')).toEqual(allGood);
});

test('a seed is the same world twice', async () => {
	const [once, twice] = await Promise.all(
		[1, 2].map(async () => await run('main.mts --seed 17 --count 6 --verbose')),
	);
	expect(once).toMatch(/^seed 17: [0-9a-f]{16}\n(?:.*\n){5}worlds: 6 played/);
	expect(twice).toBe(once);
});

test('a process may be killed at every effect, and retried', async () => {
	expect(await run('main.mts --kills --seed 4 --count 25 --within 4')).toEqual(allGood);
});
