/* The report of a check: a table and a verdict. */
import Table from 'cli-table3';

export interface Row {
	part: string;
	found: 'there' | 'different' | 'not there' | 'not tried';
	/** The remarks on the answers; '' if there are none. */
	differs: string;
	/** What this means for a workflow. */
	inN8n: string;
	grade: 'works' | 'limits' | 'fails';
}

/** The row about the paid operations that were not tried. */
export const UNTRIED = 'What is charged';

/** The exit codes: 0 to 2 for what the check found, 3 if it could not be done. */
export const EXIT = { works: 0, limits: 1, fails: 2, notDone: 3 } as const;

export function tableOf(rows: Row[], columns: number): string {
	const width = Math.max(80, Math.min(columns, 150)) - 24 - 11 - 13;
	const widths = [24, 11, Math.ceil(width * 0.55), Math.floor(width * 0.45)];
	const table = new Table({
		head: ['Part of the interface', '', 'Differs, or is open in the contract', 'In n8n'],
		colWidths: widths,
		wordWrap: true,
		style: { head: [], border: [] },
	});
	table.push(...rows.map(({ part, found, differs, inN8n }) => [part, found, differs, inN8n]));
	return table.toString();
}

export const gradeOf = (rows: Row[]): Row['grade'] =>
	(['fails', 'limits'] as const).find((grade) => rows.some((row) => row.grade === grade)) ??
	'works';

/** Returns one sentence that says how well the node works with the service, and why not better. */
export function verdictOf(rows: Row[]): string {
	const grade = gradeOf(rows);
	const reasons = rows
		.filter((row) => row.grade === grade)
		.map(({ part, inN8n }) => `${part}: ${inN8n}`);
	if (grade !== 'works') {
		return `${grade === 'limits' ? 'It works with limits' : 'It does not work'}: ${reasons.join('; ')}.`;
	}
	return rows.some(({ part }) => part === UNTRIED) ? 'It works, as far as was tried.' : 'It works.';
}
