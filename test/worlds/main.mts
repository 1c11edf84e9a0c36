import { hash } from 'node:crypto';
import { parseArgs } from 'node:util';
import { removeEngineFolder } from '../../demo/engine.mts';
import { audit } from './auditor.mts';
import { lostBy } from './ledger.mts';
import { play } from './play.mts';
import { without, worldOf } from './world.mts';

/*
 * npm run worlds -- --seed N --count M [--verbose]: plays worlds, and shrinks those in which a promise is broken;
 * N may be several, as 1,17. Without arguments: the first 750, and then --kills for those of the first 10.
 * --without 1,2 leaves out parts of it; --kill N kills the process at its effect N, --kills at each, in a world for
 * each, if it has at most six parts; --ledger prints all that happened; --within N stops after so many seconds,
 * --first at the first violation, as it is.
 */
/** How many worlds are played when none is named, and of how many a process is killed. */
const ALL = 750;
const KILLED = 10;
const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;
const { values } = parseArgs({
	options: {
		...{ seed: text, count: text, without: text, kill: text, within: text },
		...{ kills: flag, first: flag, verbose: flag, ledger: flag },
	},
});
const leftOut = values.without?.split(',').map(Number) ?? [];

/** What killed processes have lost, and how often. */
const lost: Record<string, number> = {};
let violations = 0;
let played = 0;
const end = process.uptime() + Number(values.within ?? Infinity);
const mayGoOn = () => process.uptime() < end && !(values.first && violations > 0);

/** Leaves out what a failure does not need, as long as the same promise is broken. */
async function shrink(seed: number, promise: string, kill?: number): Promise<number[]> {
	let dropped = leftOut;
	for (let part = 0; part < without(worldOf(seed), []).size; part++) {
		const less = [...dropped, part];
		const wrong = audit(await play({ ...without(worldOf(seed), less), kill }));
		if (wrong.some((complaint) => complaint.startsWith(promise))) dropped = less;
	}
	return dropped;
}

/** Plays one world and prints what is wrong with it. Resolves with how many effects it had. */
async function judge(seed: number, kill?: number): Promise<number> {
	played++;
	const { lines, effects } = await play({ ...without(worldOf(seed), leftOut), kill });
	const wrong = audit({ lines });
	for (const name of lostBy(lines)) lost[name] = (lost[name] ?? 0) + 1;
	const all = lines.map((line) => JSON.stringify(line)).join('\n');
	if (values.ledger) console.log(all);
	if (values.verbose) console.log(`seed ${seed}: ${hash('sha256', all).slice(0, 16)}`);
	if (wrong.length === 0) return effects;
	violations++;
	console.log(`seed ${seed}: ${wrong.join('\n  ')}`);
	if (values.first) return effects;
	const needless = await shrink(seed, wrong[0]!.split(':')[0]!, kill);
	const less = `${kill ? ` --kill ${kill}` : ''}${needless.length > 0 ? ` --without ${needless}` : ''}`;
	console.log(`  npm run worlds -- --seed ${seed}${less} --ledger`);
	return effects;
}

/** Plays these worlds, as long as there is time; with `kills`, those of at most six parts, and each once more per effect. */
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
	const count = Number(values.count ?? (values.seed ? 1 : ALL));
	const seeds = (values.seed ?? '1').split(',').flatMap((seed) => from(Number(seed), count));
	await playAll(seeds, values.kills ?? false);
} else {
	await playAll(from(1, ALL), false);
	await playAll(from(1, KILLED), true);
}
for (const [name, times] of Object.entries(lost)) console.log(`lost ${times} times: ${name}`);
console.log(`worlds: ${played} played, ${violations} violations`);
removeEngineFolder();
process.exitCode = violations > 0 ? 1 : 0;
