import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

/* Links in the pages, and those that n8n shows, lead somewhere. */

const root = join(__dirname, '../..');
const pages = ['.', 'docs', 'simulator', 'examples', '.github'].flatMap((folder) =>
	readdirSync(join(root, folder))
		.filter((name) => name.endsWith('.md'))
		.map((name) => normalize(join(folder, name))),
);
const textOf = (path: string) => readFileSync(join(root, path), 'utf8');

/** The anchors that GitHub makes of a page's headings. */
function anchorsOf(page: string): string[] {
	const seen = new Map<string, number>();
	const prose = textOf(page).replace(/^```[^]*?^```/gm, '');
	return [...prose.matchAll(/^#+ +(.+)$/gm)].map(([, heading]) => {
		const slug = heading!
			.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
			.toLowerCase()
			.replace(/[^\p{L}\p{N} _-]/gu, '')
			.replaceAll(' ', '-');
		const before = seen.get(slug) ?? 0;
		seen.set(slug, before + 1);
		return before === 0 ? slug : `${slug}-${before}`;
	});
}

/** What is wrong with a link that stands in a page; undefined for a good one, or one to elsewhere. */
function wrongWith(page: string, link: string): string | undefined {
	if (/^[a-z]+:/i.test(link)) return undefined;
	const [path = '', anchor] = link.replace('?raw=true', '').split('#');
	const target = path === '' ? page : normalize(join(dirname(page), path));
	if (!existsSync(join(root, target))) return `${link}: there is no ${target}`;
	if (anchor === undefined || !statSync(join(root, target)).isFile()) return undefined;
	return anchorsOf(target).includes(anchor) ? undefined : `${link}: no such heading in ${target}`;
}

test.each(pages)('%s has no dead link', (page) => {
	const links = [...textOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link!);
	expect(links.map((link) => wrongWith(page, link)).filter(Boolean)).toEqual([]);
});

test.each([
	'credentials/MediaGenerationApi.credentials.ts',
	'nodes/MediaGeneration/MediaGeneration.node.json',
	'nodes/MediaGenerationTrigger/MediaGenerationTrigger.node.json',
])('the documentation that %s names exists', (path) => {
	const own = /github\.com\/[\w-]+\/[\w-]+(?:\/blob\/main\/([\w./-]+))?(#[\w-]+)?/g;
	const links = [...textOf(path).matchAll(own)].map(
		([, page = 'README.md', anchor = '']) => page + anchor,
	);
	expect(links.length).toBeGreaterThan(0);
	// "readme" is GitHub's own for the page as a whole.
	const others = links.filter((link) => link !== 'README.md#readme');
	expect(others.map((link) => wrongWith('README.md', link)).filter(Boolean)).toEqual([]);
});

/** The files that a page links to, by the ending of their names. */
const linked = (page: string, ending: string) =>
	[...textOf(page).matchAll(/\]\(([^)\s#]+)/g)]
		.map(([, link]) => link!)
		.filter((link) => link.endsWith(ending));

test('README is a page of 1,000 words, with at most fifteen recipes', () => {
	expect(textOf('README.md').trim().split(/\s+/).length).toBeLessThanOrEqual(1000);
	expect(new Set(linked('README.md', '.json')).size).toBeLessThanOrEqual(15);
});

test.each([
	['examples', '.json'],
	['docs', '.md'],
])('%s/README.md lists every file beside it', (folder, ending) => {
	const files = readdirSync(join(root, folder)).filter((name) => name.endsWith(ending));
	expect(['README.md', ...linked(`${folder}/README.md`, ending)]).toEqual(
		expect.arrayContaining(files),
	);
});

const [, forBuilders] = textOf('docs/README.md').split('\n## ');
const builders = [...forBuilders!.matchAll(/\(([\w-]+\.md)\)/g)].map(([, name]) => `docs/${name}`);
test.each(['README.md', ...builders])('%s has sentences of fifteen words', (page) => {
	const prose = textOf(page).replace(/^(?:```[^]*?^```|#.*|\|.*)$/gm, '');
	const pieces = prose.split(/\n\s*(?:\n|[-\d])|(?<=[.?!])\s/);
	const sentences = pieces.filter((piece) => /\w\s+\w/.test(piece));
	const words = sentences.flatMap((sentence) => sentence.match(/\S+/g)!);
	expect(words.length / sentences.length).toBeLessThanOrEqual(15);
});

// Pasted with its "=", an expression becomes an empty one, or its value begins with "=".
test.each(['README.md', ...builders])('%s has expressions as the editor takes them', (page) => {
	expect(textOf(page)).not.toContain('={{');
});

/* docs/contract.md names tests, and comments name its sections: neither may go out of date. */

const contract = textOf('docs/contract.md');

const REFERENCE = /`((?:test|docs)\/[^`]+)`:((?: “[^”]+”,?)+)/g;

/** [file, title] of every test that the page names, as in `file`: “title”, “title”. */
const named = [...contract.matchAll(REFERENCE)].flatMap(([, file = '', titles = '']) =>
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
		if (!existsSync(join(root, file))) return true;
		const source = textOf(file);
		return file === 'docs/faults.md'
			? !source.includes(`\n| ${title} |`)
			: !hasTitle(source, title);
	});
	expect(missing).toEqual([]);
});

test('every line of docs/contract.md that names tests is understood', () => {
	const lines = contract.split('\n').filter((line) => /^ {2}`(?:test|docs)\//.test(line));
	expect(lines.length).toBeGreaterThan(50);
	expect(lines.filter((line) => !/^[; ]*$/.test(line.replace(REFERENCE, '')))).toEqual([]);
});

test('every section that a comment names is in docs/contract.md', () => {
	const sources = ['nodes', 'credentials', 'simulator'].flatMap((folder) =>
		(readdirSync(join(root, folder), { recursive: true }) as string[])
			.filter((name) => /\.m?ts$/.test(name))
			.map((name) => textOf(join(folder, name))),
	);
	const cited = sources.join('\n').match(/§\d+(?:\.\d+)?/g);
	const sections = contract.match(/(?<=^#+ )§\d+(?:\.\d+)?/gm);
	expect([...new Set(cited)].filter((section) => !sections?.includes(section))).toEqual([]);
});
