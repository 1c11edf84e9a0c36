import { play } from '../worlds/play.mts';
import type { Execution, Fault } from '../worlds/world.mts';
import { HELD, LIMITS, type Row } from './limits.mts';

/** A night's rows. */
const ITEMS = 1000;

export type Measured = Awaited<ReturnType<typeof measureOnce>>;

/** Where a first run misses something, the mean of so many runs counts: one alone may be off by 10 points. */
const RUNS = 5;

/** Spreads the rows over processes: one execution in each, and what becomes of them. */
async function played(row: Row, processes: number, seed: number) {
	const { faults, items = ITEMS, againAt, timeout = 36_000 } = row;
	const operation = row.operation ?? 'image:create';
	const executionOf = (process: number, at: number, count: number): Execution => ({
		...{ name: `execution ${process}${at ? ' later' : ''}`, at, process, operation },
		...{ options: { timeout }, onError: 'continueRegularOutput' },
		...{ tries: 1, rounds: 1, fileCount: 1, stopAfter: undefined },
		items: Array.from({ length: count }, (_, index) => `Picture ${process}-${index}-${at}.`),
	});
	const executions = Array.from({ length: processes }, (_, process) =>
		executionOf(process, 0, Math.ceil((items - process) / processes)),
	);
	if (againAt) executions.push(executionOf(0, againAt, items));
	const others = { triggers: [], others: [], restarts: [] };
	const { lines } = await play({ seed, faults, executions, ...others });
	const ends = lines.flatMap((line) => (line.what === 'ended' ? [line] : []));
	return { lines, ends, lastEnd: Math.max(...ends.map(({ at }) => at)), operation };
}

/** In ms: what it takes whoever knows the limits, and sends each work as soon as they allow. */
function leastMs(limits: Fault[], works: number[], againAt = Infinity): number {
	const sent: Array<{ at: number; end: number }> = [];
	let now = 0;
	const isLimited = ({ at, forMs, limit = Infinity, ms }: Fault) => {
		if (at > now || now >= at + forMs) return false;
		const counted = sent.filter((each) => (ms ? each.at > now - ms : each.end > now));
		return counted.length >= limit;
	};
	for (const [index, ms] of works.entries()) {
		if (index === works.length / 2) now = Math.max(now, againAt < Infinity ? againAt : 0);
		while (limits.some(isLimited)) now += 50;
		sent.push({ at: now, end: now + ms });
	}
	return Math.max(...sent.map(({ end }) => end));
}

/** How near the node comes to a limit, and how much it is refused, or loses; by chance, which `seed` decides. */
async function measureOnce(name: string, processes: number, seed: number) {
	const row = LIMITS[name]!;
	const { lines, ends, lastEnd, operation } = await played(row, processes, seed);
	const finished = new Map(
		lines.flatMap((line) => (line.what === 'finished' ? [[line.id, line.at]] : [])),
	);
	const works = lines.flatMap((line) => {
		const end = line.what === 'charge' ? finished.get(line.id) : undefined;
		return end === undefined ? [] : [end - line.at, ...(operation === 'speech:speak' ? [0] : [])];
	});
	const refusals = lines.filter((line) => line.what === 'answer' && line.status === 429).length;
	const sent = lines.filter((line) => line.what === 'request' && line.host.startsWith('api'));
	const outputs = ends.flatMap((end) => end.outputs);
	const possible = row.beside
		? (await played({ ...row, ...row.beside }, processes, seed)).lastEnd + row.beside.later
		: leastMs(row.faults, works, row.againAt);
	const first = ends.filter(({ execution }) => !execution.includes('later')).map(({ at }) => at);
	return {
		minutes: lastEnd / 60_000,
		share: possible / lastEnd,
		refused: refusals / sent.length,
		lost: outputs.filter(({ json }) => json.error !== undefined).length / outputs.length,
		/** The last end beside the first. */
		spread: Math.max(...first) / Math.min(...first),
	};
}

/** The figures of a limit, and what of them does not come up to what is promised. */
export async function measure(name: string, processes: number) {
	const first = await measureOnce(name, processes, 1);
	if (missesOf(name, processes, first).length === 0) return { measured: first, misses: [] };
	const runs = [first];
	while (runs.length < RUNS) runs.push(await measureOnce(name, processes, runs.length + 1));
	const mean = (what: keyof Measured) => runs.reduce((sum, run) => sum + run[what], 0) / RUNS;
	const measured: Measured = {
		...{ minutes: mean('minutes'), share: mean('share'), refused: mean('refused') },
		...{ lost: mean('lost'), spread: mean('spread') },
	};
	return { measured, misses: missesOf(name, processes, measured) };
}

/** What of it does not come up to what is promised. */
function missesOf(name: string, processes: number, measured: Measured): string[] {
	const { changes, ...row } = { ...LIMITS[name]!, ...HELD[name] };
	const isAlone = processes === 1;
	const isOverload = row.lost !== undefined;
	const share = isOverload ? 0 : (changes ? 0.75 : 0.85) - (isAlone ? 0 : 0.1);
	const misses = {
		share: measured.share < (row.share?.[processes] ?? share),
		refused: measured.refused > (row.refused?.[processes] ?? (isAlone ? 0.05 : 0.1)),
		lost: measured.lost > (row.lost?.[processes] ?? 0),
		spread: measured.spread > (row.spread?.[processes] ?? (isOverload || row.items ? 9 : 1.5)),
	};
	return Object.entries(misses).flatMap(([what, isMissed]) => (isMissed ? [what] : []));
}
