import type { Panel } from './chart.mts';
import type { Table } from './figures.mts';

type Tables = Record<'latency' | 'wallTime' | 'memory', Table>;

/** The figures that are drawn: one row of a table each. */
export function panels({ latency, wallTime, memory }: Tables) {
	const FOUR = ['this node', 'by hand', 'MiniMax node', 'plain client'];
	const list: Panel[] = [
		panel('Speech: from ready to delivered', 'median', latency, 'speech, median', FOUR),
		panel('Video: from ready to delivered', 'median', latency, 'video, median', FOUR),
		panel('10 items of 3 s each', 'one execution; speech', wallTime, '10 items', [
			'this node',
			'',
			'by hand',
			'MiniMax speech',
			'MiniMax video',
			'plain client',
		]),
		panel(
			'Memory for a file of 256 MiB',
			'growth of the process at its peak',
			memory,
			'256 MiB, the first: resident memory',
			FOUR,
		),
	];
	const label = list
		.map(
			({ title, bars }) => `${title}: ${bars.map((bar) => `${bar.name} ${bar.shown}`).join(', ')}`,
		)
		.join('. ');
	return { label, list };
}

/** A row of a table; contenders without a figure are left out. */
function panel(title: string, note: string, table: Table, rowName: string, names: string[]): Panel {
	const row = table.rows.find(({ name }) => name === rowName);
	if (!row) throw new Error(`"${table.title}" has no row "${rowName}"`);
	const bars = names.flatMap((name, index) => {
		const value = row.cells[index];
		return typeof value === 'number' ? [{ name, value, shown: row.show(value) }] : [];
	});
	return { title, note, bars };
}
