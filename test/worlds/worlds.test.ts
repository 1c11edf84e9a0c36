import { run } from './run';

const allGood = expect.stringMatching(/^(lost .*\n)*worlds: [1-9]\d* played, 0 violations\s*$/);

test('hundreds of worlds keep the promises', async () => {
	// Two processes, each for so many seconds at most: a busy machine plays fewer. `npm run worlds` plays all.
	const halves = [1, 376].map(
		async (seed) => await run(`main.mts --seed ${seed} --count 375 --within 15`),
	);
	for (const half of await Promise.all(halves)) expect(half).toEqual(allGood);
});

test('worlds in which a promise was broken once keep it', async () => {
	expect(await run('main.mts --seed 2194,2729,3298,3686,3794,1795680971122')).toEqual(allGood);
});

test('a seed is the same world twice', async () => {
	const [once, twice] = await Promise.all(
		[1, 2].map(async () => await run('main.mts --seed 17 --count 12 --verbose')),
	);
	expect(once).toMatch(/^seed 17: [0-9a-f]{16}\n(?:.*\n){11}worlds: 12 played/);
	expect(twice).toBe(once);
});

test('a process may be killed at every effect, and retried', async () => {
	expect(await run('main.mts --kills --seed 4 --count 50 --within 12')).toEqual(allGood);
});
