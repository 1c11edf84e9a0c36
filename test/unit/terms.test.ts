import { globSync, readFileSync } from 'node:fs';
import type { INode } from 'n8n-workflow';
import { GENERATED_KINDS, MEDIA } from '../../nodes/shared/contract';
import { COMMON } from './terms';

/* One word for one thing, in the pages for builders and in the example workflows. */

/** What is not said → what is said instead. */
const BANNED: Array<[RegExp, string]> = [
	...COMMON,
	[/\b(?:a|each|every|the) speech\b(?! task)|\bspeeches\b/i, 'audio, speech task'],
	[/\b(?:speaks?|spoken|speaking)\b/i, 'convert'],
	[/\brecipes?\b/i, 'example workflow'],
	[/\b(?:run|try|start) (?:this|it) again\b|\bonce more\b|\banew\b/i, 'retry, run again'],
	[/\bwhoever\b|\bsomebody\b/i, 'anyone, no matter who'],
	[/\blooks? (?:it|them|progress) up\b|\blooked up\b/i, 'check, poll'],
	[/\bheard\b|\bpassed over\b/i, 'listen for, detect, ignore'],
	[/\bnote(?:s|d)? (?:the|its|each) (?:task|ID|URL)/i, 'save'],
	[/\binput fields?\b/i, 'input binary field'],
	[/\bcut short\b/i, 'interrupted'],
	[/\bTask (?:Completed|Failed|Progress)\b|\bImage Made\b/, "the trigger's events"],
	[/\bOrdered Images\b|\bImages, in Order\b|→ (?:Speak|Create)\*\*/, "today's names"],
];

const [, forBuilders] = readFileSync('docs/README.md', 'utf8').split('\n## ');
const builders = [...forBuilders!.matchAll(/\(([\w-]+\.md)\)/g)].map(([, name]) => `docs/${name}`);

/** What is read of a page: not code, targets of links, nor messages, which the first cells of tables quote. */
const proseOf = (page: string) =>
	readFileSync(page, 'utf8')
		.replace(/^## (?:Messages|What can go wrong)$[^]*?^(?!\||## |$)/gm, (table) =>
			table.replace(/^\|[^|]*\|/gm, ''),
		)
		.replace(/```[^]*?```|`[^`\n]*`|\]\([^)]*\)/g, '');

/** What is read of a workflow: its name, its notes, and the names of its nodes. */
function textsOf(path: string) {
	const { name, nodes }: { name: string; nodes: INode[] } = JSON.parse(readFileSync(path, 'utf8'));
	const texts = nodes.flatMap(({ name, parameters: { content, formTitle, toolDescription } }) =>
		[name, content, formTitle, toolDescription].filter((text) => text !== undefined),
	);
	return [name, ...texts].join('\n').replace(/`[^`\n]*`/g, '');
}

test('the pages for builders and the examples have one word for one thing', () => {
	const pages = ['README.md', 'docs/README.md', 'examples/README.md', ...builders];
	const workflows = globSync('examples/*.json').sort();
	const texts = [
		...pages.map((page) => [page, proseOf(page)] as const),
		...workflows.map((path) => [path, textsOf(path)] as const),
	];
	const found = texts.flatMap(([page, text]) =>
		BANNED.flatMap(([banned, instead]) =>
			[...text.matchAll(new RegExp(banned, `${banned.flags}g`))].map(
				([word]) => `${page}: ${word} (${instead})`,
			),
		),
	);
	expect(texts.length).toBeGreaterThan(30);
	expect(found).toEqual([]);
});

/** Names and headings, which never change, and what is true of videos and images alone. */
const FIXED = /video or image (?:created|failed)|\w+ → |^#.*|`image`, `video`: one each/gim;

/** The sentences that list kinds of media in the history, but not all of these. */
function incompleteLists(kinds: Array<[kind: string, plural: string]>): string[] {
	const named = (words: string[]) => String.raw`\b(?:${words.join('|')})\b`;
	const anyKind = named(kinds.flat());
	const list = new RegExp(`${anyKind}\\W{1,3}(?:(?:and|or) )?(?:an? )?\\W?${anyKind}`, 'i');
	const read = ['nodes/**/*.{ts,json}', 'docs/*.md', 'check/*.mts', 'simulator/*.{mts,md}'];
	const paths = globSync([...read, 'README.md', 'package.json', 'test/faults/document.test.ts']);
	return paths.flatMap((path) => {
		// It is generated.
		if (path === 'docs/faults.md') return [];
		const sentences = readFileSync(path, 'utf8')
			.replace(FIXED, '')
			.split(/(?<=[.!?]) |\n/);
		const lists = sentences.filter((text) => {
			const count = kinds.filter((words) => new RegExp(named(words), 'i').test(text)).length;
			return list.test(text) && count > 1 && count < kinds.length;
		});
		return lists.map((text) => `${path}: ${text.trim()}`);
	});
}

test('a sentence that lists kinds of media lists all that the history has', () => {
	const kinds = GENERATED_KINDS.map((kind): [string, string] => [kind, MEDIA[kind].plural]);
	expect(incompleteLists(kinds)).toEqual([]);
	expect(incompleteLists([...kinds, ['opera', 'operas']]).length).toBeGreaterThan(50);
});
