import { execFile } from 'node:child_process';
import { cpus } from 'node:os';
import { join } from 'node:path';

const HALVES = cpus().length > 1 ? [0, 1] : [0];
/** How many worlds of known and of new seeds in each half, and for how long: a busy machine plays fewer. */
const [KNOWN, NEW] = [
	{ count: 375, within: 22 },
	{ count: 125, within: 10 },
] as const;

/** Resolves with what a script of this folder prints. */
const run = async (script: string, args: object = {}): Promise<string> =>
	await new Promise((resolve) => {
		const words = Object.entries(args).map((word) => `--${word.join('=').replace('=true', '')}`);
		const command = [join(__dirname, script), ...words];
		execFile(process.execPath, command, (_, told, errors) => resolve(told + errors));
	});

const allGood = expect.stringMatching(/^(lost .*\n)*worlds: [1-9]\d* played, 0 violations\s*$/);

test('hundreds of worlds keep the promises, as do new ones each time', async () => {
	const fresh = Date.now();
	console.log(`New worlds: npm run worlds -- --seed ${fresh} --count ${HALVES.length * NEW.count}`);
	const halves = HALVES.map(async (half) => [
		await run('main.mts', { seed: 1 + half * KNOWN.count, ...KNOWN }),
		await run('main.mts', { seed: fresh + half * NEW.count, ...NEW }),
	]);
	for (const half of await Promise.all(halves)) expect(half).toEqual([allGood, allGood]);
});

test('a seed is the same world twice', async () => {
	const verbose = async () => await run('main.mts', { seed: 17, count: 12, verbose: true });
	const [once, twice] = await Promise.all([verbose(), verbose()]);
	expect(once).toMatch(/^seed 17: [0-9a-f]{16}\n(?:.*\n){11}worlds: 12 played/);
	expect(twice).toBe(once);
});

test('a process may be killed at every effect, and retried', async () => {
	const args = { kills: true, seed: 4, count: 50, within: 12 };
	expect(await run('main.mts', args)).toEqual(allGood);
});

test('beside one who knows the limit, the node is not much slower', async () => {
	expect(await run('pace.mts')).toMatch(/pace: 0 limits missed\s*$/);
});
