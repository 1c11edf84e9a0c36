import { execFile } from 'node:child_process';
import { cpus } from 'node:os';
import { join } from 'node:path';

const HALVES = cpus().length > 1 ? 2 : 1;
/** How long known and new seeds may take, in seconds: a busy machine plays fewer. */
const KNOWN = { count: 375, within: 22 };
const NEW = { count: 125, within: 10 };

/** Resolves with what a script of this folder prints. */
const run = async (script: string, args: object = {}): Promise<string> =>
	await new Promise((resolve) => {
		const words = Object.entries(args).flatMap(([name, value]) => [`--${name}`, `${value}`]);
		const path = join(__dirname, script);
		const given = words.filter((word) => word !== 'true');
		execFile(process.execPath, [path, ...given], (_, told, errors) => resolve(told + errors));
	});

/** How many worlds keep the promises; all that was printed if one does not. */
async function good(args: object): Promise<number> {
	const output = await run('main.mts', args);
	const [, played] = /worlds: (\d+) played, 0 violations\s*$/.exec(output) ?? [];
	if (!played) throw new Error(output);
	return Number(played);
}

test('hundreds of worlds keep the promises, as do new ones each time', async () => {
	const fresh = Date.now();
	const halves = Array.from({ length: HALVES }, async (_, half) => [
		await good({ seed: 1 + half * KNOWN.count, ...KNOWN }),
		await good({ seed: fresh + half * NEW.count, ...NEW }),
	]);
	expect(Math.min(...(await Promise.all(halves)).flat())).toBeGreaterThan(0);
});

test('a seed is the same world twice', async () => {
	const verbose = async () => await run('main.mts', { seed: 17, count: 12, verbose: true });
	const [once, twice] = await Promise.all([verbose(), verbose()]);
	expect(once).toMatch(/^seed 17: [0-9a-f]{16}\n(?:.*\n){11}worlds: 12 played/);
	expect(twice).toBe(once);
});

/** Beside one who knows the limit: the least share of what is possible, and the most refused. */
const GOALS: Record<string, { share: number; refused: number }> = {
	'2 a second': { share: 0.8, refused: 0.06 },
	'30 a minute': { share: 0.8, refused: 0.07 },
	'60 a minute, without Retry-After': { share: 0.7, refused: 0.08 },
	'4 at once': { share: 0.8, refused: 0.06 },
	'15 at once': { share: 0.8, refused: 0.06 },
};

test('beside one who knows the limit, the node is not much slower', async () => {
	const lines = (await run('pace.mts')).trim().split('\n');
	expect(lines).toHaveLength(Object.keys(GOALS).length);
	for (const line of lines) {
		const { name, share, refused, lost } = JSON.parse(line);
		expect({ name, lost }).toEqual({ name, lost: 0 });
		expect(Number(share)).toBeGreaterThanOrEqual(GOALS[name]!.share);
		expect(Number(refused)).toBeLessThanOrEqual(GOALS[name]!.refused);
	}
});

test('a process may be killed at every effect, and retried', async () => {
	const args = { small: true, kills: true, seed: 4, count: 50, within: 12 };
	expect(await good(args)).toBeGreaterThan(0);
});
