import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MATRIX } from './matrix.mts';
import { render } from './render.mts';
import { OPERATIONS } from './stage.mts';

const path = join(__dirname, '../../docs/faults.md');

test('docs/faults.md says what the matrix says (WRITE_DOCS=1 npm test -- document writes it)', () => {
	const text = render(MATRIX);
	if (process.env.WRITE_DOCS) writeFileSync(path, text);
	expect(readFileSync(path, 'utf8')).toBe(text);
});

test('every operation is in the matrix, and no fault is there twice', () => {
	const rows = MATRIX.flatMap((group) => group.rows);
	const used = new Set(rows.flatMap(({ operations }) => operations));
	expect([...used].sort()).toEqual([...OPERATIONS].sort());
	const names = rows.map(({ fault }) => fault);
	expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});
