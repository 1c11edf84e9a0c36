import { parseArgs } from 'node:util';
import { removeEngineFolder } from '../../demo/engine.mts';
import { play } from './play.mts';
import type { Execution, Fault } from './world.mts';

/*
 * node test/worlds/pace.mts --limit '2 a second': how near the node comes to a limit that it is not told, beside
 * one who knows it. Prints its `share` of what is possible, `refused` of its create calls, and how many were `lost`.
 * A night's items by default: ten are refused in the beginning, which is 4 % of 240 and 1 % of 1,000.
 */
const WORDS = { limit: { type: 'string' }, items: { type: 'string', default: '1000' } } as const;
const { limit: name = '', items } = parseArgs({ options: WORDS }).values;
const ITEMS = Number(items);
const MINUTE = 60_000;
const always = { at: 0, forMs: 600 * MINUTE };
const until = (at: number) => ({ at: 0, forMs: at });
const from = (at: number) => ({ at, forMs: 600 * MINUTE });
/** What another client of the account leaves: by turns all, and a part. */
const shared = (all: Omit<Fault, 'at' | 'forMs'>, part: number): Fault[] =>
	Array.from({ length: 120 }, (_, turn) => ({
		...{ ...all, at: turn * MINUTE, forMs: MINUTE },
		most: turn % 2 ? part : all.most,
	}));
const perSecond = { kind: 'rate', ms: 1000, as: 'told' } as const;
const atOnce = { kind: 'atOnce', as: 429 } as const;
const LIMITS: Record<string, Fault[]> = {
	'2 a second': [{ ...perSecond, ...always, most: 2 }],
	'30 a minute': [{ ...perSecond, ...always, most: 30, ms: MINUTE }],
	'100 a minute': [{ ...perSecond, ...always, most: 100, ms: MINUTE }],
	'60 a minute, without Retry-After': [{ kind: 'rate', ...always, most: 60, ms: MINUTE }],
	'60 a minute, answered late': [
		{ kind: 'rate', ...always, most: 60, ms: MINUTE },
		{ kind: 'messages', ...always, as: 'early' },
	],
	'2 a second, then 5': [
		{ ...perSecond, ...until(MINUTE), most: 2 },
		{ ...perSecond, ...from(MINUTE), most: 5 },
	],
	'a second, shared': shared({ ...perSecond, most: 4 }, 2),
	'4 at once': [{ ...atOnce, ...always, most: 4 }],
	'15 at once': [{ ...atOnce, ...always, most: 15 }],
	'10 at once, then 4': [
		{ ...atOnce, ...until(MINUTE), most: 10 },
		{ ...atOnce, ...from(MINUTE), most: 4 },
	],
	'at once, shared': shared({ ...atOnce, most: 10 }, 6),
};

const EMPTY = { seed: 1, triggers: [], others: [], restarts: [] };
// Tasks are accepted late, where their messages are early; and each is read, which counts, too.
const operation = name.endsWith('late') ? 'speak' : 'create';
const EXECUTION: Execution = {
	...{ at: 0, process: 0, operation, options: { timeout: 36_000 } },
	items: Array.from({ length: ITEMS }, (_, index) => `Picture ${index}.`),
	onError: 'continueRegularOutput',
	...{ tries: 1, rounds: 1, amount: 1 },
};

/** In ms: what it takes whoever knows the limits, and sends each work as soon as they allow. */
function leastMs(limits: Fault[], works: number[]): number {
	const sent: Array<{ at: number; end: number }> = [];
	let now = 0;
	const isLimited = ({ at, forMs, most = Infinity, ms }: Fault) => {
		const counted = sent.filter((each) => (ms ? each.at > now - ms : each.end > now));
		return at <= now && now < at + forMs && counted.length >= most;
	};
	for (const ms of works) {
		while (limits.some(isLimited)) now += 50;
		sent.push({ at: now, end: now + ms });
	}
	return Math.max(...sent.map(({ end }) => end));
}

const limits = LIMITS[name];
if (!limits) throw new Error(`--limit: ${Object.keys(LIMITS).join('; ')}`);
const { lines } = await play({ ...EMPTY, faults: limits, executions: [EXECUTION] });
const made = new Map(lines.flatMap((line) => (line.what === 'made' ? [[line.id, line.at]] : [])));
const works = lines.flatMap((line) =>
	line.what === 'charge' ? (made.get(line.id) ?? line.at) - line.at : [],
);
const ended = lines.find((line) => line.what === 'ended')!;
const refusals = lines.filter((line) => line.what === 'answer' && line.status === 429).length;
const lost = ended.given.filter(({ json }) => json.error !== undefined).length;
const [share, refused] = [leastMs(limits, works) / ended.at, refusals / (refusals + ITEMS)];
console.log(JSON.stringify({ name, share, refused, lost }));
removeEngineFolder();
