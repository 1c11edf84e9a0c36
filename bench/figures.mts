/** What a measure found, for people to read. */

type Show = (value: number) => string;

/** A figure, or in words why there is none. */
export type Cell = number | string;

export interface Row {
	name: string;
	cells: Cell[];
	/** How a figure is shown. */
	show: Show;
}

export const row = (name: string, cells: Cell[], show: Show): Row => ({ name, cells, show });

/** Figures side by side: what is measured in rows, the contenders in columns, ours first. */
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

export const COLUMNS = [
	'Media Generation node',
	'Hand-built workflow',
	'MiniMax node of n8n',
	'Plain client, no n8n',
];

export const seconds = (value: number) => `${value.toFixed(value < 1 ? 3 : 1)} s`;
export const times = (value: number) =>
	value > 0 && value < 0.1 ? value.toFixed(3) : value.toFixed(value < 10 ? 1 : 0);
export const mebibytes = (bytes: number) => `${(bytes / 1024 ** 2).toFixed(0)} MiB`;
export const kilobytes = (bytes: number) => `${(bytes / 1000).toFixed(0)} KB`;

/** A goal that a figure is at most a limit. */
export function atMost(name: string, limit: number, measured: number, show: Show): Goal {
	return { name, goal: `≤ ${show(limit)}`, measured: show(measured), met: measured <= limit };
}

/** A goal that a figure is below a limit. */
export function below(name: string, limit: number, measured: number, show: Show): Goal {
	return { name, goal: `< ${show(limit)}`, measured: show(measured), met: measured < limit };
}

export function median(values: number[]): number {
	const sorted = values.toSorted((a, b) => a - b);
	const middle = sorted.length >> 1;
	return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
