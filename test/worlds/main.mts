import { hash } from 'node:crypto';
import { parseArgs } from 'node:util';
import { removeEngineFolder } from '../../demo/engine.mts';
import { audit } from './auditor.mts';
import { lostBy } from './trace.mts';
import { play } from './play.mts';
import { without, worldOf } from './world.mts';

/*
 * `npm run worlds`: plays worlds. If one has a violation, also finds the parts of the world that the violation needs.
 * Without arguments, plays the first 750 worlds, and then the first 10 with `--kills`.
 *
 * - `--seed N --count M`: plays M worlds from seed N on. N may be a list, such as 1,17.
 * - `--without 1,2`: leaves out these parts of the worlds.
 * - `--kill N`: kills the process at effect N. `--kills`: plays a world of at most six parts once more for each effect.
 * - `--trace`: prints the traces. `--verbose`: prints a hash of each.
 * - `--within N`: stops after N seconds. `--first`: stops at the first violation.
 */
const DEFAULT_COUNT = 750;
const DEFAULT_KILLED_COUNT = 10;
const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;
const { values } = parseArgs({
	options: {
		...{ seed: text, count: text, without: text, kill: text, within: text },
		...{ kills: flag, first: flag, verbose: flag, trace: flag },
	},
});
const leftOut = values.without?.split(',').map(Number) ?? [];

/** What killed processes have lost (see `lostBy`), and how often. */
const losses: Record<string, number> = {};
let violations = 0;
let played = 0;
const end = process.uptime() + Number(values.within ?? Infinity);
const mayGoOn = () => process.uptime() < end && !(values.first && violations > 0);

/** Resolves with the parts of a world that can be left out, so that the same rule is still broken. */
async function shrink(seed: number, rule: string, kill?: number): Promise<number[]> {
	let dropped = leftOut;
	for (let part = 0; part < without(worldOf(seed), []).size; part++) {
		const less = [...dropped, part];
		const wrong = audit(await play({ ...without(worldOf(seed), less), kill }));
		if (wrong.some((complaint) => complaint.startsWith(rule))) dropped = less;
	}
	return dropped;
}

/** Plays one world and prints its violations. Resolves with the number of its effects. */
async function judge(seed: number, kill?: number): Promise<number> {
	played++;
	const { lines, effects } = await play({ ...without(worldOf(seed), leftOut), kill });
	const wrong = audit({ lines });
	for (const name of lostBy(lines)) losses[name] = (losses[name] ?? 0) + 1;
	const all = lines.map((line) => JSON.stringify(line)).join('\n');
	if (values.trace) console.log(all);
	if (values.verbose) console.log(`seed ${seed}: ${hash('sha256', all).slice(0, 16)}`);
	if (wrong.length === 0) return effects;
	violations++;
	console.log(`seed ${seed}: ${wrong.join('\n  ')}`);
	if (values.first) return effects;
	const needless = await shrink(seed, wrong[0]!.split(':')[0]!, kill);
	const less = `${kill ? ` --kill ${kill}` : ''}${needless.length > 0 ? ` --without ${needless}` : ''}`;
	console.log(`  npm run worlds -- --seed ${seed}${less} --trace`);
	return effects;
}

/** Plays the worlds of these seeds. For `kills`, see above. */
async function playAll(seeds: number[], kills: boolean): Promise<void> {
	for (const seed of seeds) {
		if (!mayGoOn()) break;
		if (kills && without(worldOf(seed), []).size > 6) continue;
		const effects = await judge(seed, values.kill ? Number(values.kill) : undefined);
		for (let kill = 1; kills && kill <= effects && mayGoOn(); kill++) await judge(seed, kill);
	}
}

const from = (seed: number, count: number) => Array.from({ length: count }, (_, n) => seed + n);
if (process.argv.length > 2) {
	const count = Number(values.count ?? (values.seed ? 1 : DEFAULT_COUNT));
	const seeds = (values.seed ?? '1').split(',').flatMap((seed) => from(Number(seed), count));
	await playAll(seeds, values.kills ?? false);
} else {
	await playAll(from(1, DEFAULT_COUNT), false);
	await playAll(from(1, DEFAULT_KILLED_COUNT), true);
}
for (const [name, times] of Object.entries(losses)) console.log(`lost ${times} times: ${name}`);
console.log(`worlds: ${played} played, ${violations} violations`);
removeEngineFolder();
process.exitCode = violations > 0 ? 1 : 0;
