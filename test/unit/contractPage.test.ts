import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/* docs/contract.md names tests, and comments name its sections: neither may go out of date. */

const project = join(__dirname, '../..');
const read = (path: string) => readFileSync(join(project, path), 'utf8');
const page = read('docs/contract.md');

const REFERENCE = /`((?:test|docs)\/[^`]+)`:((?: “[^”]+”,?)+)/g;

/** [file, title] of every test that the page names, as in `file`: “title”, “title”. */
const named = [...page.matchAll(REFERENCE)].flatMap(([, file = '', titles = '']) =>
	[...titles.matchAll(/“([^”]+)”/g)].map(([, title = '']): [string, string] => [file, title]),
);

/** True when a test file has every part of the title as a string, in quotes of any kind. */
function hasTitle(source: string, title: string): boolean {
	const plain = source.replace(/\\(['"`])/g, '$1');
	return title
		.split(' › ')
		.every((part) => ["'", '"', '`'].some((quote) => plain.includes(quote + part + quote)));
}

test('every test that docs/contract.md names exists', () => {
	const missing = named.filter(([file, title]) => {
		if (!existsSync(join(project, file))) return true;
		const source = read(file);
		return file === 'docs/faults.md'
			? !source.includes(`\n| ${title} |`)
			: !hasTitle(source, title);
	});
	expect(missing).toEqual([]);
});

test('every line of docs/contract.md that names tests is understood', () => {
	const lines = page.split('\n').filter((line) => /^ {2}`(?:test|docs)\//.test(line));
	expect(lines.length).toBeGreaterThan(50);
	expect(lines.filter((line) => !/^[; ]*$/.test(line.replace(REFERENCE, '')))).toEqual([]);
});

test('every section that a comment names is in docs/contract.md', () => {
	const sources = ['nodes', 'credentials', 'simulator'].flatMap((folder) =>
		(readdirSync(join(project, folder), { recursive: true }) as string[])
			.filter((name) => /\.m?ts$/.test(name))
			.map((name) => read(join(folder, name))),
	);
	const cited = sources.join('\n').match(/§\d+(?:\.\d+)?/g);
	const sections = page.match(/(?<=^#+ )§\d+(?:\.\d+)?/gm);
	expect([...new Set(cited)].filter((section) => !sections?.includes(section))).toEqual([]);
});
