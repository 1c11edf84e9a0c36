import { execFile } from 'node:child_process';
import { cpus } from 'node:os';
import { join } from 'node:path';

const main = join(__dirname, 'main.mts');
const HALVES = cpus().length > 1 ? 2 : 1;
/** How long a half may take, in seconds: a busy machine plays fewer worlds. */
const WITHIN = 30;

/** Plays so many worlds in a process of its own; resolves with what it prints. */
async function worlds(seed: number, count: number, within = WITHIN): Promise<string> {
	const args = [main, '--seed', seed, '--count', count, '--within', within].map(String);
	return await new Promise((resolve) => {
		execFile(process.execPath, args, (_, output, errors) => resolve(output + errors));
	});
}

/** What is wrong, and how many worlds were played. */
const read = (output: string) => {
	const [, played, violations] = /worlds: (\d+) played, (\d+) violations\s*$/.exec(output) ?? [];
	return { played: Number(played), violations: violations === '0' ? 0 : output };
};

test('hundreds of worlds keep the promises', async () => {
	// New seeds are for `npm run worlds`: what the auditor says of them, a person has to look into.
	const halves = Array.from(
		{ length: HALVES },
		async (_, half) => await worlds(1 + half * 375, 375),
	);
	const results = (await Promise.all(halves)).map(read);
	expect(results.map(({ violations }) => violations)).toEqual(results.map(() => 0));
	expect(Math.min(...results.map(({ played }) => played))).toBeGreaterThan(0);
});

test('a seed is the same world twice', async () => {
	const verbose = async () =>
		await new Promise((resolve) => {
			const args = [main, '--seed', '17', '--count', '12', '--verbose'];
			execFile(process.execPath, args, (_, output) => resolve(output));
		});
	const [once, twice] = await Promise.all([verbose(), verbose()]);
	expect(once).toMatch(/^seed 17: [0-9a-f]{16}\n(?:.*\n){11}worlds: 12 played/);
	expect(twice).toBe(once);
});

/** The goal is 0.8 of what is possible, and at most 0.05 refused: until then it may not become worse. */
const FLOORS: Record<string, { share: number; refused: number }> = {
	'2 a second': { share: 0.2, refused: 0.25 },
	'30 a minute': { share: 0.8, refused: 0.1 },
	'60 a minute, without Retry-After': { share: 0.6, refused: 0.2 },
	'4 at once': { share: 0.8, refused: 0.3 },
	'15 at once': { share: 0.8, refused: 0.2 },
};

test('beside one who knows the limit, the node is not much slower', async () => {
	const output = await new Promise<string>((resolve) => {
		execFile(process.execPath, [join(__dirname, 'pace.mts')], (_, told) => resolve(told));
	});
	const lines = output.trim().split('\n');
	expect(lines).toHaveLength(Object.keys(FLOORS).length);
	for (const line of lines) {
		const { name, share, refused, lost } = JSON.parse(line);
		expect({ name, lost }).toEqual({ name, lost: 0 });
		expect(share).toBeGreaterThanOrEqual(FLOORS[name]!.share);
		expect(refused).toBeLessThanOrEqual(FLOORS[name]!.refused);
	}
});

test('a process may be killed at every effect, and retried', async () => {
	const args = [main, '--small', '--kills', '--seed', '4', '--count', '50', '--within', '12'];
	const output = await new Promise<string>((resolve) => {
		execFile(process.execPath, args, (_, told, errors) => resolve(told + errors));
	});
	expect(read(output).violations).toBe(0);
});
