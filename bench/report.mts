import { format, resolveConfig } from 'prettier';
import type { Goal, Row, Table } from './figures.mts';

const cell = (row: Row, index: number): string => {
	const value = row.cells[index]!;
	if (typeof value === 'string') return value;
	const own = row.cells[0];
	const shown = row.show(value);
	if (index === 0 || typeof own !== 'number' || own <= 0) return shown;
	const ratio = value / own;
	return `${shown} (× ${ratio.toPrecision(ratio < 100 ? 2 : 3).replace(/e\+\d+$/, '')})`;
};

const line = (cells: string[]) => `| ${cells.join(' | ')} |`;

function section({ title, about, columns, rows }: Table): string {
	return [
		`## ${title}`,
		'',
		about,
		'',
		line(['', ...columns]),
		line(['---', ...columns.map(() => '---:')]),
		...rows.map((row) => line([row.name, ...columns.map((_, index) => cell(row, index))])),
	].join('\n');
}

function goalSection(goals: Goal[]): string {
	return [
		'## Goals of this package',
		'',
		line(['', 'goal', 'measured', '']),
		line(['---', '---:', '---:', '---']),
		...goals.map(({ name, goal, measured, met }) =>
			line([name, goal, measured, met ? 'met' : '**not met**']),
		),
	].join('\n');
}

const WHOM =
	'For those who want to know how fast the node is and how much memory it takes before they rely on it, and for those who change it. Using it needs none of this.';

const formatted = async (text: string): Promise<string> =>
	await format(text, { ...(await resolveConfig(import.meta.filename)), parser: 'markdown' });

/** A page of Markdown in which one section, the one of the table's title, is written anew. */
export async function withSection(text: string, table: Table): Promise<string> {
	const heading = `## ${table.title}\n`;
	const begin = text.indexOf(heading);
	if (begin < 0) throw new Error(`There is no section “${table.title}”`);
	const next = text.indexOf('\n## ', begin);
	const rest = next < 0 ? '' : text.slice(next + 1);
	return await formatted(`${text.slice(0, begin)}${section(table)}\n\n${rest}`);
}

/** The figures as a page of Markdown. */
export async function page(head: string, goals: Goal[], tables: Table[]): Promise<string> {
	const text = [
		'# Measured',
		WHOM,
		head,
		'![Four figures of the tables below](bench.svg)',
		goalSection(goals),
		...tables.map(section),
	].join('\n\n');
	return await formatted(text);
}
