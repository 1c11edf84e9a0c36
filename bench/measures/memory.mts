import { line, warmUp, type Contender } from '../contender.mts';
import { handBuilt } from '../handBuilt.mts';
import { ours } from '../ours.mts';
import {
	atMost,
	COLUMNS,
	mebibytes,
	median,
	row,
	seconds,
	type Cell,
	type Goal,
	type Table,
} from '../report.mts';
import type { Setting } from '../setting.mts';
import { settled } from '../settled.mts';

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
	/** Seconds from "ready at the service" to the end. */
	late: number;
}

async function costOf(contender: Contender, size: number): Promise<Cost> {
	const { n8n } = contender;
	await n8n.memoryInUse();
	const resident = n8n.memory();
	let most = resident;
	const watch = setInterval(() => (most = Math.max(most, n8n.memory())), SAMPLE_MS);
	const text = line(`[sim:slow=0.5] [sim:big-file=${size / MEBIBYTE}]`);
	const [time] = await contender.race('speech', [text]).finally(() => clearInterval(watch));
	return { resident: most - resident, late: time!.late };
}

async function costsOf(contender: Contender): Promise<Cost[]> {
	const all: Cost[] = [];
	for (const { size, times } of SERIES) {
		const found: Cost[] = [];
		while (found.length < times) found.push(await costOf(contender, size));
		const of = (kind: keyof Cost) => median(found.map((cost) => cost[kind]));
		all.push({ resident: of('resident'), late: of('late') });
	}
	return all;
}

/** Memory that a file of some size costs, each contender in a process that is fresh. */
export async function measureMemory(setting: Setting): Promise<{ table: Table; goals: Goal[] }> {
	const contenders = await Promise.all([
		ours(await setting.startN8n(), setting.account()),
		handBuilt(await setting.startN8n(), setting.account()),
	]);
	await warmUp(contenders);
	await Promise.all(contenders.map(({ n8n }) => settled(n8n)));
	const all: Cost[][] = [];
	for (const contender of contenders) all.push(await costsOf(contender));
	await Promise.all(contenders.map(({ n8n }) => setting.leave(n8n)));

	const cells = (index: number, kind: keyof Cost): Cell[] =>
		all.map((costs) => costs[index]![kind]);
	const last = SERIES.length - 1;
	const table: Table = {
		title: 'Memory that a file costs',
		about:
			'By how much the process (an n8n for each contender) grows at its peak while one file is made ' +
			`and stored, as the system sees it, looked at every ${SAMPLE_MS} ms: what was free again ` +
			'before is not counted a second time. The process is fresh, has made some small files and ' +
			'given back what its start took; the files follow one another as the rows do (1 KiB: twice, ' +
			'the mean), garbage is collected before each.',
		columns: COLUMNS,
		rows: [
			...SERIES.map(({ name }, index) => row(name, cells(index, 'resident'), mebibytes)),
			row('1 GiB: from ready to stored', cells(last, 'late'), seconds),
		],
	};
	const [small, first, next] = all[0] as [Cost, Cost, Cost];
	const goal = (which: string, { resident }: Cost) =>
		atMost(
			`resident memory for ${which} 256 MiB file, beyond that for 1 KiB`,
			24 * MEBIBYTE,
			resident - small.resident,
			mebibytes,
		);
	return { table, goals: [goal('the first', first), goal('the next', next)] };
}
