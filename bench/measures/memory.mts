import { line, warmUp, type Contender } from '../contender.mts';
import { handBuilt } from '../handBuilt.mts';
import { ours } from '../ours.mts';
import { atMost, COLUMNS, mebibytes, row, type Goal, type Table } from '../report.mts';
import type { Setting } from '../setting.mts';
import { settled } from '../settled.mts';

const KIBIBYTE = 1024;
const MEBIBYTE = 1024 ** 2;
const SAMPLE_MS = 10;
/** The sizes of the files, in bytes. They are generated one after the other. */
const SERIES = [
	{ name: '1 KiB', size: KIBIBYTE },
	{ name: '256 MiB, the first', size: 256 * MEBIBYTE },
	{ name: '256 MiB, the next', size: 256 * MEBIBYTE },
	{ name: '1 GiB', size: 1024 * MEBIBYTE },
];

/** Resolves with the peak growth of the resident memory while a file is generated, in bytes. */
async function costOf(contender: Contender, size: number): Promise<number> {
	const { n8n } = contender;
	await n8n.memoryInUse();
	const resident = n8n.memory();
	let peak = resident;
	const watch = setInterval(() => (peak = Math.max(peak, n8n.memory())), SAMPLE_MS);
	const text = line(`[sim:slow=0.5] [sim:big-file=${size / MEBIBYTE}]`);
	await contender.race('speech', [text]).finally(() => clearInterval(watch));
	return peak - resident;
}

/** Measures the memory that files of different sizes cost. Each contender has a new n8n. */
export async function measureMemory(setting: Setting): Promise<{ table: Table; goals: Goal[] }> {
	const contenders = await Promise.all([
		ours(await setting.startN8n(), setting.account()),
		handBuilt(await setting.startN8n(), setting.account()),
	]);
	await warmUp(contenders);
	await Promise.all(contenders.map(({ n8n }) => settled(n8n)));
	const all: number[][] = [];
	for (const contender of contenders) {
		const costs: number[] = [];
		for (const { size } of SERIES) costs.push(await costOf(contender, size));
		all.push(costs);
	}
	await Promise.all(contenders.map(({ n8n }) => setting.leave(n8n)));

	const table: Table = {
		title: 'Memory per file',
		about:
			'How much the process grows at its peak while one file is generated and stored. Each ' +
			`contender has its own n8n, whose resident memory is measured every ${SAMPLE_MS} ms. ` +
			'Memory that was already free is not counted again. Before the first file, the process ' +
			'has handled some small files and released the memory of its start. The files are ' +
			'processed in the order of the rows, with a garbage collection before each.',
		columns: COLUMNS,
		rows: SERIES.map(({ name }, index) =>
			row(
				name,
				all.map((costs) => costs[index]!),
				mebibytes,
			),
		),
	};
	const [small, first, next] = all[0] as [number, number, number];
	const goal = (which: string, cost: number) =>
		atMost(
			`resident memory for ${which} 256 MiB file, beyond that for 1 KiB`,
			24 * MEBIBYTE,
			cost - small,
			mebibytes,
		);
	return { table, goals: [goal('the first', first), goal('the next', next)] };
}
