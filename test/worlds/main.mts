import { parseArgs } from 'node:util';
import { removeEngineFolder } from '../../demo/engine.mts';
import { audit, lostBy } from './auditor.mts';
import { play } from './play.mts';
import { lesser, sizeOf, without, worldOf } from './world.mts';

const { values } = parseArgs({
	options: {
		seed: { type: 'string', default: '1' },
		count: { type: 'string', default: '1' },
		/** Parts of the world that are left out, as a shrunk one says. */
		without: { type: 'string', default: '' },
		/** Kills the process at this effect. */
		kill: { type: 'string' },
		/** Kills it at every one of its effects, in a world each. */
		kills: { type: 'boolean' },
		/** Worlds of one or two things. */
		small: { type: 'boolean' },
		/** Stops at the first violation, as it is. */
		first: { type: 'boolean' },
		/** Stops after so many seconds. */
		within: { type: 'string', default: 'Infinity' },
		verbose: { type: 'boolean' },
		/** Prints all that happened. */
		ledger: { type: 'boolean' },
	},
});

const numbers = values.without.split(',').filter(Boolean).map(Number);

const made = (seed: number) => (values.small ? lesser(worldOf(seed)) : worldOf(seed));

/** What killed processes have lost, and how often. */
const lost = new Map<string, number>();

/** Plays a world without some of its parts. */
async function playSeed(seed: number, dropped: Iterable<number>, kill?: number) {
	const { ledger, effects } = await play({ ...without(made(seed), new Set(dropped)), kill });
	for (const name of lostBy(ledger)) lost.set(name, (lost.get(name) ?? 0) + 1);
	return { ledger, effects, wrong: audit(ledger) };
}

/** Leaves out what a failure does not need, as long as the same promise is broken. */
async function shrink(
	seed: number,
	promise: string,
	from: number[],
	kill?: number,
): Promise<number[]> {
	const dropped = new Set(from);
	for (let part = 0; part < sizeOf(made(seed)); part++) {
		if (dropped.has(part)) continue;
		const { wrong } = await playSeed(seed, [...dropped, part], kill);
		if (wrong.some((complaint) => complaint.startsWith(promise))) dropped.add(part);
	}
	return [...dropped].sort((a, b) => a - b);
}

let violations = 0;
let played = 0;
const mayGoOn = () => performance.now() < end && !(values.first && violations > 0);
const end = performance.now() + 1000 * Number(values.within);

/** Plays one world and prints what is wrong with it. Resolves with how many effects it had. */
async function judge(seed: number, kill?: number): Promise<number> {
	played++;
	const { ledger, effects, wrong } = await playSeed(seed, numbers, kill);
	if (values.ledger) for (const line of ledger.lines) console.log(JSON.stringify(line));
	if (values.verbose) console.log(`seed ${seed}: ${ledger.digest()}`);
	if (wrong.length === 0) return effects;
	violations++;
	console.log(`seed ${seed}: ${wrong.join('\n  ')}`);
	if (values.first) return effects;
	const needless = await shrink(seed, wrong[0]!.split(':')[0]!, numbers, kill);
	const more = `${values.small ? ' --small' : ''}${kill ? ` --kill ${kill}` : ''}`;
	const less = needless.length > 0 ? ` --without ${needless}` : '';
	console.log(`  npm run worlds -- --seed ${seed}${more}${less} --ledger`);
	return effects;
}

const first = Number(values.seed);
for (let seed = first; seed < first + Number(values.count) && mayGoOn(); seed++) {
	const effects = await judge(seed, values.kill === undefined ? undefined : Number(values.kill));
	if (!values.kills) continue;
	for (let kill = 1; kill <= effects && mayGoOn(); kill++) await judge(seed, kill);
}
for (const [name, times] of lost) console.log(`lost ${times} times: ${name}`);
console.log(`worlds: ${played} played, ${violations} violations`);
removeEngineFolder();
process.exitCode = violations > 0 ? 1 : 0;
