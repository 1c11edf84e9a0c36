import {
	atMost,
	COLUMNS,
	mebibytes,
	median,
	seconds,
	type Cell,
	type Row,
	type Table,
} from '../figures.mts';
import { check, line, warmUp } from '../run.mts';
import type { Entrant, Setting } from '../setting.mts';
import { settled } from './settled.mts';

const KIBIBYTE = 1024;
const MEBIBYTE = 1024 ** 2;
const SAMPLE_MS = 10;
/** Files one after the other: sizes in bytes, and how often. */
const SERIES = [
	{ name: '1 KiB', size: KIBIBYTE, times: 2 },
	{ name: '256 MiB, the first', size: 256 * MEBIBYTE, times: 1 },
	{ name: '256 MiB, the next', size: 256 * MEBIBYTE, times: 1 },
	{ name: '1 GiB', size: 1024 * MEBIBYTE, times: 1 },
];

interface Cost {
	/** By how much the process grows at most, in bytes, as the system sees it. */
	resident: number;
	/** The same for what it uses, as far as it can be asked. */
	inUse: number;
	/** Seconds from "ready at the service" to the end. */
	late: number;
}

async function costOf(entrant: Entrant, size: number): Promise<Cost> {
	const { contender } = entrant;
	const { process } = contender;
	const inUse = (await process.memoryInUse?.()) ?? NaN;
	await process.peakInUse?.();
	const resident = process.memory();
	let most = resident;
	const watch = setInterval(() => (most = Math.max(most, process.memory())), SAMPLE_MS);
	const text = line(`[sim:slow=0.5] [sim:big-file=${size / MEBIBYTE}]`);
	const ended = await contender.make('speech', [text]).finally(() => clearInterval(watch));
	const mostInUse = (await process.peakInUse?.()) ?? NaN;
	const [results] = await check(entrant, 'speech', [[text]]);
	return {
		resident: most - resident,
		inUse: mostInUse - inUse,
		late: (ended - results![0]!.readyAt) / 1000,
	};
}

/** For each part of the series; why it failed, where it did. */
async function costsOf(entrant: Entrant): Promise<Array<Cost | string>> {
	const all: Array<Cost | string> = [];
	for (const { size, times } of SERIES) {
		try {
			const found: Cost[] = [];
			while (found.length < times) found.push(await costOf(entrant, size));
			const of = (kind: keyof Cost) => median(found.map((cost) => cost[kind]));
			all.push({ resident: of('resident'), inUse: of('inUse'), late: of('late') });
		} catch (error) {
			all.push(`fails: ${(error as Error).message}`);
			await entrant.contender.clear('speech');
		}
	}
	return all;
}

/** Memory that a file of some size costs, each contender in a process that is fresh. */
export async function measureMemory(setting: Setting) {
	const arenas = await Promise.all([
		setting.arena('ours'),
		setting.arena('handBuilt'),
		setting.arena('vendor'),
	]);
	const entrants = [...arenas.flatMap((arena) => Object.values(arena.entrants)), setting.client];
	await warmUp(entrants, ['speech']);
	await Promise.all(entrants.map(({ contender }) => settled(contender.process)));
	const all: Array<Array<Cost | string>> = [];
	for (const entrant of entrants) all.push(await costsOf(entrant));
	await Promise.all(arenas.map((arena) => setting.leave(arena)));

	const row = (index: number, what: string, kind: keyof Cost, show: Row['show']): Row => ({
		name: `${SERIES[index]!.name}: ${what}`,
		cells: all.map((costs): Cell => {
			const cost = costs[index]!;
			if (typeof cost === 'string') return cost;
			return Number.isNaN(cost[kind]) ? '–' : cost[kind];
		}),
		show,
	});
	const table: Table = {
		title: 'Memory that a file costs',
		about:
			'By how much the process (an n8n for each contender, a plain Node.js for the client) grows ' +
			`at its peak while one file is made and stored, looked at every ${SAMPLE_MS} ms. The process ` +
			'is fresh, has made two small files and given back what its start took; the files follow one ' +
			'another as the rows do (1 KiB: twice, the mean), garbage is collected before each. Resident memory is what ' +
			'the system sees: what was free again before is not counted a second time. Memory in use is ' +
			'what Node.js sees: objects and buffers, with garbage that is not collected yet.',
		columns: COLUMNS,
		rows: [
			...SERIES.flatMap((_, index) => [
				row(index, 'resident memory', 'resident', mebibytes),
				row(index, 'memory in use', 'inUse', mebibytes),
			]),
			row(SERIES.length - 1, 'from ready to stored', 'late', seconds),
		],
	};
	const [small, first, later] = all[0] as [Cost, Cost, Cost];
	const goal = (which: string, cost: Cost) =>
		atMost(
			`resident memory for ${which} 256 MiB file, beyond that for 1 KiB`,
			24 * MEBIBYTE,
			cost.resident - small.resident,
			mebibytes,
		);
	return { table, goals: [goal('the first', first), goal('the next', later)] };
}
