import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/* `npm run release` takes a version's notes from the changelog. */

test.each(['Unreleased', '0.1.0'])('[%s] could be the notes of a release', (version) => {
	const text = readFileSync(join(__dirname, '../../CHANGELOG.md'), 'utf8');
	const said = text.split(/^## /m).find((part) => part.startsWith(`[${version}]`))!;
	const lines = said.slice(said.indexOf('### ')).split('\n').filter(Boolean);
	const titles = lines.filter((line) => line.startsWith('### ')).map((line) => line.slice(4));
	const kinds = ['Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security'];
	expect(titles).toEqual(kinds.filter((kind) => titles.includes(kind)));
	const rest = lines.filter((line) => !/^(?: {2})?- \S.*[.:]$|^### /.test(line));
	expect(rest).toEqual([]);
	expect(new Set(lines).size).toBe(lines.length);
});
