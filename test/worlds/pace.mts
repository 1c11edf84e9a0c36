import { removeEngineFolder } from '../../demo/engine.mts';
import { play } from './play.mts';
import type { Fault } from './world.mts';

/*
 * How near the node comes to a limit that it is not told, beside one who knows it. Prints a line of JSON for
 * each limit: `share` of what is possible, `refused` of its create calls, and how many were `lost`.
 */
const ITEMS = 240;
const MINUTE = 60_000;
const always = { at: 0, forMs: 600 * MINUTE };
const rate = (most: number, windowMs: number, says = true): Fault => ({
	kind: 'rate',
	...always,
	most,
	windowMs,
	says,
});
const LIMITS: Record<string, Fault> = {
	'2 a second': rate(2, 1000),
	'30 a minute': rate(30, MINUTE),
	'60 a minute, without Retry-After': rate(60, MINUTE, false),
	'4 at once': { kind: 'atOnce', ...always, most: 4, as: 429 },
	'15 at once': { kind: 'atOnce', ...always, most: 15, as: 429 },
};

const EMPTY = { seed: 1, triggers: [], others: [], restarts: [] };
const EXECUTION = {
	...{ at: 0, process: 0, operation: 'create' as const, options: { timeout: 7200 } },
	...{ onError: 'continueRegularOutput' as const, tries: 1, rounds: 1, amount: 1 },
};

/** In ms: what it takes whoever knows the limit. Of a rate, all of a window may be sent at once. */
function leastMs({ most = 1, windowMs }: Fault, works: number[]): number {
	if (windowMs) return (Math.ceil(works.length / most) - 1) * windowMs + Math.max(...works) / 2;
	const ends = Array.from({ length: most }, () => 0);
	for (const ms of works) ends.sort((a, b) => a - b)[0]! += ms;
	return Math.max(...ends);
}

const wished = process.argv[2] ?? '';
for (const [name, limit] of Object.entries(LIMITS).filter(([each]) => each.includes(wished))) {
	const items = Array.from({ length: ITEMS }, (_, index) => `Picture ${index}.`);
	const world = { ...EMPTY, faults: [limit], executions: [{ ...EXECUTION, items }] };
	const { lines } = (await play(world)).ledger;
	const charges = lines.filter((line) => line.what === 'charge');
	const made = new Map(lines.flatMap((line) => (line.what === 'made' ? [[line.id, line.at]] : [])));
	const works = charges.map(({ id, at }) => (made.get(id) ?? at) - at);
	const ended = lines.find((line) => line.what === 'ended')!;
	const refused = lines.filter(({ what }) => what === 'refusal').length;
	const share = leastMs(limit, works) / ended.at;
	const lost = ended.given.filter(({ json }) => json.error !== undefined).length;
	const figures = { share: share.toFixed(2), refused: (refused / (refused + ITEMS)).toFixed(3) };
	console.log(JSON.stringify({ name, ...figures, lost }));
}
removeEngineFolder();
