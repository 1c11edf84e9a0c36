import { parseArgs } from 'node:util';
import { removeEngineFolder } from '../../demo/engine.mts';
import { audit } from './auditor.mts';
import { play } from './play.mts';
import { sizeOf, without, worldOf } from './world.mts';

const { values } = parseArgs({
	options: {
		seed: { type: 'string', default: '1' },
		count: { type: 'string', default: '1' },
		/** Parts of the world that are left out, as a shrunk one says. */
		without: { type: 'string', default: '' },
		/** Kills the process at this effect. */
		kill: { type: 'string' },
		/** Stops after so many seconds. */
		within: { type: 'string', default: 'Infinity' },
		verbose: { type: 'boolean' },
		/** Prints all that happened. */
		ledger: { type: 'boolean' },
	},
});

const numbers = values.without.split(',').filter(Boolean).map(Number);

/** Plays a world without some of its parts. */
async function playSeed(seed: number, dropped: Iterable<number>, kill?: number) {
	const { ledger, effects } = await play({ ...without(worldOf(seed), new Set(dropped)), kill });
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
	for (let part = 0; part < sizeOf(worldOf(seed)); part++) {
		if (dropped.has(part)) continue;
		const { wrong } = await playSeed(seed, [...dropped, part], kill);
		if (wrong.some((complaint) => complaint.startsWith(promise))) dropped.add(part);
	}
	return [...dropped].sort((a, b) => a - b);
}

let violations = 0;
const first = Number(values.seed);
const count = Number(values.count);
const end = performance.now() + 1000 * Number(values.within);
let played = 0;
for (let seed = first; seed < first + count && performance.now() < end; seed++) {
	played++;
	const kill = values.kill === undefined ? undefined : Number(values.kill);
	const { ledger, wrong } = await playSeed(seed, numbers, kill);
	if (values.ledger) for (const line of ledger.lines) console.log(JSON.stringify(line));
	if (values.verbose) console.log(`seed ${seed}: ${ledger.digest()}`);
	if (wrong.length === 0) continue;
	violations++;
	console.log(`seed ${seed}: ${wrong.join('\n  ')}`);
	const needless = await shrink(seed, wrong[0]!.split(':')[0]!, numbers, kill);
	const more = [
		needless.length > 0 ? ` --without ${needless}` : '',
		kill ? ` --kill ${kill}` : '',
	].join('');
	console.log(`  npm run worlds -- --seed ${seed}${more} --ledger`);
}
console.log(`worlds: ${played} played, ${violations} violations`);
removeEngineFolder();
process.exitCode = violations > 0 ? 1 : 0;
