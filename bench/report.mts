/* What the measures found, for people to read. */
import { format, resolveConfig } from 'prettier';

type Show = (value: number) => string;

/** A figure, or the reason why there is none. */
export type Cell = number | string;

export interface Row {
	name: string;
	cells: Cell[];
	/** How a figure is shown. */
	show: Show;
}

/** A table: what is measured in rows, the contenders in columns, this package's node first. */
export interface Table {
	title: string;
	/** How it was measured. */
	about: string;
	columns: string[];
	rows: Row[];
}

/** What the node of this package must keep to. */
export interface Goal {
	name: string;
	goal: string;
	measured: string;
	met: boolean;
}

export const COLUMNS = ['Media Generation node', 'Hand-built workflow'];

export const row = (name: string, cells: Cell[], show: Show): Row => ({ name, cells, show });
export const seconds = (value: number) => `${value.toFixed(value < 1 ? 3 : 1)} s`;
export const mebibytes = (bytes: number) => `${(bytes / 1024 ** 2).toFixed(0)} MiB`;
export const kilobytes = (bytes: number) => `${(bytes / 1000).toFixed(0)} KB`;

/** A goal that a figure is at most a limit. */
export function atMost(name: string, limit: number, measured: number, show: Show): Goal {
	return { name, goal: `≤ ${show(limit)}`, measured: show(measured), met: measured <= limit };
}

export function median(values: number[]): number {
	const sorted = values.toSorted((a, b) => a - b);
	const middle = sorted.length >> 1;
	return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** Returns a figure and, in brackets, its ratio to the figure of the first column. */
function cell({ cells, show }: Row, index: number): string {
	const value = cells[index]!;
	if (typeof value === 'string') return value;
	const [firstValue] = cells;
	if (index === 0 || typeof firstValue !== 'number' || firstValue <= 0) return show(value);
	return `${show(value)} (× ${Number((value / firstValue).toPrecision(2))})`;
}

const line = (cells: string[]) => `| ${cells.join(' | ')} |`;

const section = ({ title, about, columns, rows }: Table): string =>
	[
		`## ${title}`,
		'',
		about,
		'',
		line(['', ...columns]),
		line(['---', ...columns.map(() => '---:')]),
		...rows.map((row) => line([row.name, ...columns.map((_, index) => cell(row, index))])),
	].join('\n');

const goalSection = (goals: Goal[]): string =>
	[
		'## Goals of this package',
		'',
		line(['', 'goal', 'measured', '']),
		line(['---', '---:', '---:', '---']),
		...goals.map(({ name, goal, measured, met }) =>
			line([name, goal, measured, met ? 'met' : '**not met**']),
		),
	].join('\n');

/** The figures as a page of Markdown; `head` says where they come from. */
export async function page(head: string, goals: Goal[], tables: Table[]): Promise<string> {
	const whom =
		"This page shows how fast the node is and how much memory it takes. You don't need it to use the node.";
	const parts = ['# Benchmarks', whom, head, goalSection(goals), ...tables.map(section)];
	const options = await resolveConfig(import.meta.filename);
	return await format(parts.join('\n\n'), { ...options, parser: 'markdown' });
}
