import { parseArgs } from 'node:util';
import { removeEngineFolder } from '../../demo/engine.mts';
import { audit, lostBy } from './auditor.mts';
import { digestOf } from './ledger.mts';
import { play } from './play.mts';
import { lesser, sizeOf, without, worldOf } from './world.mts';

/*
 * npm run worlds -- --seed N --count M [--verbose]: plays worlds, and shrinks those in which a promise is broken.
 * --without 1,2 leaves out parts of it, --small all but one or two; --kill N kills the process at its effect N,
 * --kills at each, in a world for each; --ledger prints all that happened; --within N stops after so many
 * seconds, --first at the first violation, as it is.
 */
const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;
const { values } = parseArgs({
	options: {
		...{ seed: text, count: text, without: text, kill: text, within: text },
		...{ kills: flag, small: flag, first: flag, verbose: flag, ledger: flag },
	},
});
const leftOut = values.without?.split(',').map(Number) ?? [];
const worldFor = (seed: number) => (values.small ? lesser(worldOf(seed)) : worldOf(seed));
/** What killed processes have lost, and how often. */
const lost = new Map<string, number>();
let violations = 0;
let played = 0;
const end = performance.now() + 1000 * Number(values.within ?? Infinity);
const mayGoOn = () => performance.now() < end && !(values.first && violations > 0);

/** Plays a world without some of its parts. */
async function playSeed(seed: number, dropped: number[], kill?: number) {
	const { lines, effects } = await play({ ...without(worldFor(seed), new Set(dropped)), kill });
	return { lines, effects, wrong: audit({ lines }) };
}

/** Leaves out what a failure does not need, as long as the same promise is broken. */
async function shrink(seed: number, promise: string, kill?: number): Promise<number[]> {
	let dropped = leftOut;
	for (let part = 0; part < sizeOf(worldFor(seed)); part++) {
		if (dropped.includes(part)) continue;
		const { wrong } = await playSeed(seed, [...dropped, part], kill);
		if (wrong.some((complaint) => complaint.startsWith(promise))) dropped = [...dropped, part];
	}
	return dropped;
}

/** Plays one world and prints what is wrong with it. Resolves with how many effects it had. */
async function judge(seed: number, kill?: number): Promise<number> {
	played++;
	const { lines, effects, wrong } = await playSeed(seed, leftOut, kill);
	for (const name of lostBy({ lines })) lost.set(name, (lost.get(name) ?? 0) + 1);
	if (values.ledger) for (const line of lines) console.log(JSON.stringify(line));
	if (values.verbose) console.log(`seed ${seed}: ${digestOf(lines)}`);
	if (wrong.length === 0) return effects;
	violations++;
	console.log(`seed ${seed}: ${wrong.join('\n  ')}`);
	if (values.first) return effects;
	const needless = await shrink(seed, wrong[0]!.split(':')[0]!, kill);
	const more = `${values.small ? ' --small' : ''}${kill ? ` --kill ${kill}` : ''}`;
	const less = needless.length > 0 ? ` --without ${needless}` : '';
	console.log(`  npm run worlds -- --seed ${seed}${more}${less} --ledger`);
	return effects;
}

const from = Number(values.seed ?? 1);
for (let seed = from; seed < from + Number(values.count ?? 1) && mayGoOn(); seed++) {
	const effects = await judge(seed, values.kill ? Number(values.kill) : undefined);
	for (let kill = 1; values.kills && kill <= effects && mayGoOn(); kill++) await judge(seed, kill);
}
for (const [name, times] of lost) console.log(`lost ${times} times: ${name}`);
console.log(`worlds: ${played} played, ${violations} violations`);
removeEngineFolder();
process.exitCode = violations > 0 ? 1 : 0;
