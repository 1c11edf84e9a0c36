import { removeEngineFolder } from '../../demo/engine.mts';
import type { Of } from './ledger.mts';
import { play } from './play.mts';
import type { Fault, World } from './world.mts';

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

/** In ms: what it takes whoever knows the limit. Of a rate, all of a window may be sent at once. */
function leastMs(limit: Fault, works: number[]): number {
	if (limit.kind === 'rate')
		return (Math.ceil(works.length / limit.most) - 1) * limit.windowMs + Math.max(...works) / 2;
	const ends = Array.from({ length: (limit as { most: number }).most }, () => 0);
	for (const ms of works) ends.sort((a, b) => a - b)[0]! += ms;
	return Math.max(...ends);
}

const wished = process.argv[2] ?? '';
for (const [name, limit] of Object.entries(LIMITS).filter(([each]) => each.includes(wished))) {
	const items = Array.from({ length: ITEMS }, (_, index) => `Picture ${index}.`);
	const execution = {
		at: 0,
		process: 0,
		operation: 'create' as const,
		items,
		options: { timeout: 7200 },
	};
	const more = { onError: 'continueRegularOutput' as const, tries: 1, rounds: 1, amount: 1 };
	const world: World = {
		seed: 1,
		executions: [{ ...execution, ...more }],
		triggers: [],
		others: [],
		restarts: [],
		faults: [limit],
	};
	const { lines } = (await play(world)).ledger;
	const of = <What extends string>(what: What) =>
		lines.filter((line) => line.what === what) as Array<Of<never> & { at: number }>;
	const charges = of('charge') as unknown as Array<{ at: number; id: string }>;
	const made = new Map(
		(of('made') as unknown as Array<{ at: number; id: string }>).map(({ id, at }) => [id, at]),
	);
	const works = charges.map(({ id, at }) => (made.get(id) ?? at) - at);
	const ended = lines.find((line) => line.what === 'ended') as Of<'ended'>;
	const refused = of('refusal').length;
	const share = leastMs(limit, works) / ended.at;
	const lost = ended.given.filter(({ json }) => json.error !== undefined).length;
	console.log(
		JSON.stringify({
			name,
			share: Number(share.toFixed(2)),
			refused: Number((refused / (refused + ITEMS)).toFixed(3)),
			lost,
		}),
	);
}
removeEngineFolder();
