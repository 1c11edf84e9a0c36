import { parseArgs } from 'node:util';
import { removeEngineFolder } from '../../demo/engine.mts';
import { play } from './play.mts';
import type { Execution, Fault } from './world.mts';

/*
 * node test/worlds/pace.mts --limit '2 a second': how near the node comes to a limit that it is not told, beside
 * one who knows it. Prints its `share` of what is possible, `refused` of its create calls, and how many were `lost`.
 */
const ITEMS = 240;
const MINUTE = 60_000;
const always = { at: 0, forMs: 600 * MINUTE };
const LIMITS: Record<string, Fault> = {
	'2 a second': { kind: 'rate', ...always, most: 2, ms: 1000, as: 'told' },
	'30 a minute': { kind: 'rate', ...always, most: 30, ms: MINUTE, as: 'told' },
	'60 a minute, without Retry-After': { kind: 'rate', ...always, most: 60, ms: MINUTE },
	'4 at once': { kind: 'atOnce', ...always, most: 4, as: 429 },
	'15 at once': { kind: 'atOnce', ...always, most: 15, as: 429 },
};

const EMPTY = { seed: 1, triggers: [], others: [], restarts: [] };
const EXECUTION: Execution = {
	...{ at: 0, process: 0, operation: 'create', options: { timeout: 7200 } },
	items: Array.from({ length: ITEMS }, (_, index) => `Picture ${index}.`),
	onError: 'continueRegularOutput',
	...{ tries: 1, rounds: 1, amount: 1 },
};

/** In ms: what it takes whoever knows the limit. Of a rate, all of a window may be sent at once. */
function leastMs({ most = 1, ms: windowMs }: Fault, works: number[]): number {
	if (windowMs) return (Math.ceil(works.length / most) - 1) * windowMs + Math.max(...works) / 2;
	const ends = Array.from({ length: most }, () => 0);
	for (const ms of works) ends.sort((a, b) => a - b)[0]! += ms;
	return Math.max(...ends);
}

const { limit: name = '' } = parseArgs({ options: { limit: { type: 'string' } } }).values;
const limit = LIMITS[name]!;
const { lines } = await play({ ...EMPTY, faults: [limit], executions: [EXECUTION] });
const made = new Map(lines.flatMap((line) => (line.what === 'made' ? [[line.id, line.at]] : [])));
const works = lines.flatMap((line) =>
	line.what === 'charge' ? (made.get(line.id) ?? line.at) - line.at : [],
);
const ended = lines.find((line) => line.what === 'ended')!;
const refusals = lines.filter((line) => line.what === 'answer' && line.status === 429).length;
const lost = ended.given.filter(({ json }) => json.error !== undefined).length;
const [share, refused] = [leastMs(limit, works) / ended.at, refusals / (refusals + ITEMS)];
console.log(JSON.stringify({ name, share, refused, lost }));
removeEngineFolder();
