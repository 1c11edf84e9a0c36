import { removeEngineFolder } from '../../demo/engine.mts';
import { MINUTE } from '../worlds/clock.mts';
import { play } from '../worlds/play.mts';
import type { Execution, Fault } from '../worlds/world.mts';

/*
 * node test/pace/main.mts: how near the node comes to limits that it is not told, beside one who knows them, and
 * how much it is refused or loses. With a night's items: ten are refused in the beginning, which is 4 % of 240.
 */
const ITEMS = 1000;

/** Limits from one minute to another. */
const from = (first: number, last: number, more: Omit<Fault, 'at' | 'forMs'>): Fault => {
	return { at: first * MINUTE, forMs: (last - first) * MINUTE, ...more };
};
const always = (more: Omit<Fault, 'at' | 'forMs'>) => from(0, 600, more);
const second = (most: number) => ({ kind: 'rate', ms: 1000, as: 'told', most }) as const;
const minute = (most: number, as = 'told') => ({ kind: 'rate', ms: MINUTE, as, most }) as const;
const atOnce = (most: number) => ({ kind: 'atOnce', as: 429, most }) as const;
/** What another client of the account leaves: by turns all, and a part. */
const shared = (limitOf: typeof second | typeof atOnce, all: number, part: number) =>
	Array.from({ length: 120 }, (_, turn) => from(turn, turn + 1, limitOf(turn % 2 ? part : all)));

/** The least share of what is possible, the most that is refused, and the limit. */
const LIMITS: Record<string, [share: number, refused: number, ...Fault[]]> = {
	'2 a second': [0.88, 0.04, always(second(2))],
	'2 a second, then 5': [0.85, 0.03, from(0, 1, second(2)), from(1, 600, second(5))],
	'30 a minute': [0.95, 0.045, always(minute(30))],
	'100 a minute': [0.95, 0.02, always(minute(100))],
	'60 a minute, untold': [0.9, 0.04, always(minute(60, ''))],
	// Each task is read, too, which counts; 'late' ones are accepted late, where their messages are early.
	'30 a minute, speech': [0.93, 0.04, always(minute(30))],
	'30 a minute, speech without messages': [
		...([0.9, 0.048] as const),
		...[always(minute(30)), always({ kind: 'messages', as: 'none' })],
	],
	'60 a minute, speech, late': [
		...([0.85, 0.04] as const),
		...[always(minute(60, '')), always({ kind: 'messages', as: 'early' })],
	],
	'a second, shared': [0.8, 0.045, ...shared(second, 4, 2)],
	'4 at once': [0.97, 0.03, always(atOnce(4))],
	'15 at once': [0.97, 0.03, always(atOnce(15))],
	'10 at once, then 4': [0.97, 0.035, from(0, 1, atOnce(10)), from(1, 600, atOnce(4))],
	'at once, shared': [0.84, 0.05, ...shared(atOnce, 10, 6)],
};

const EXECUTION: Execution = {
	...{ name: 'execution 0', at: 0, process: 0 },
	...{ options: { timeout: 36_000 }, onError: 'continueRegularOutput' },
	...{ operation: 'create', tries: 1, rounds: 1, amount: 1, stopAfter: undefined },
	items: Array.from({ length: ITEMS }, (_, index) => `Picture ${index}.`),
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

let missed = 0;
for (const [name, [share, most, ...faults]] of Object.entries(LIMITS)) {
	const isSpeech = name.includes('speech');
	const execution = { ...EXECUTION, operation: isSpeech ? 'speak' : 'create' };
	const others = { triggers: [], others: [], restarts: [] };
	const { lines } = await play({ seed: 1, faults, executions: [execution], ...others });
	const made = new Map(lines.flatMap((line) => (line.what === 'made' ? [[line.id, line.at]] : [])));
	const works = lines.flatMap((line) =>
		line.what === 'charge' ? [made.get(line.id)! - line.at, ...(isSpeech ? [0] : [])] : [],
	);
	const ended = lines.find((line) => line.what === 'ended')!;
	const refusals = lines.filter((line) => line.what === 'answer' && line.status === 429).length;
	const sent = lines.filter(
		(line) => line.what === 'request' && line.host.startsWith('api'),
	).length;
	const lost = ended.given.filter(({ json }) => json.error !== undefined).length;
	const [reached, refused] = [leastMs(faults, works) / ended.at, refusals / sent];
	if (reached < share || refused > most || lost > 0) missed++;
	console.log(name, { reached, refused, lost });
}
console.log(`pace: ${missed} limits missed`);
removeEngineFolder();
