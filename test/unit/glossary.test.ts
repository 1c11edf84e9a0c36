import { globSync, readFileSync } from 'node:fs';
import ts from 'typescript';

/** Words that the glossary of CONTRIBUTING.md replaces: no value, parameter, field or method is called so. */
const BANNED = new Set(
	`left told mark marks over rest kept asked lack mine said heard spoken looked got most begin begins away soon
	reading readings working news hear underWay unclear isMine nudge goesOn wanted given room free lost own made why work begun`.split(
		/\s+/,
	),
);

/** Returns the names that a file declares, without the fields that it only reads. */
function declaredNames(path: string) {
	const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest);
	const names: Array<{ name: string; line: number }> = [];
	const visit = (node: ts.Node): void => {
		const isDeclaration =
			ts.isVariableDeclaration(node) ||
			ts.isParameter(node) ||
			ts.isPropertyDeclaration(node) ||
			ts.isPropertySignature(node) ||
			ts.isPropertyAssignment(node) ||
			ts.isShorthandPropertyAssignment(node) ||
			ts.isMethodDeclaration(node) ||
			ts.isMethodSignature(node) ||
			ts.isAccessor(node) ||
			ts.isFunctionDeclaration(node) ||
			(ts.isBindingElement(node) && node.propertyName === undefined);
		if (
			isDeclaration &&
			node.name &&
			(ts.isIdentifier(node.name) || ts.isPrivateIdentifier(node.name))
		) {
			const { line } = ts.getLineAndCharacterOfPosition(source, node.name.getStart(source));
			names.push({ name: node.name.text.replace(/^#/, ''), line: line + 1 });
		}
		ts.forEachChild(node, visit);
	};
	visit(source);
	return names;
}

/** Words that say in each test something else. */
const BANNED_IN_TESTS = new Set(
	'told mine asked got heard hear begun most underWay news reading begins why soon'.split(' '),
);
/** What is in a table of an example, or is used in too many places. */
const KNOWN = ['test/nightly/verdict.mts begun', 'test/engine/triggerSetup.ts told'];

const PATHS = [
	...['nodes/**/*.ts', 'credentials/**/*.ts', 'simulator/**/*.mts', 'demo/*.mts', 'bench/**/*.mts'],
	...[
		'test/faults/*.mts',
		'test/service/*.mts',
		'test/worlds/*.mts',
		'check/*.mts',
		'test/check/*.ts',
	],
];

test.each([
	['the code', PATHS, BANNED],
	['tests', ['test/**/*.ts', 'test/**/*.mts'], BANNED_IN_TESTS],
])(
	'no value, parameter, field or method of %s has a name that the glossary replaces',
	(_, globs, banned) => {
		const paths = globSync(globs).sort();
		const found = paths.flatMap((path) =>
			declaredNames(path)
				.filter(({ name }) => banned.has(name) && !KNOWN.includes(`${path} ${name}`))
				.map(({ name, line }) => `${path}:${line} ${name}`),
		);
		expect(paths.length).toBeGreaterThan(100);
		expect(found).toEqual([]);
	},
);
