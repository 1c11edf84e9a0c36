import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import typescript from 'typescript';

/* What CONTRIBUTING's map promises of the code's rooms. */

const root = join(__dirname, '../..');
const files = readdirSync(join(root, 'nodes'), { recursive: true, encoding: 'utf8' })
	.filter((file) => file.endsWith('.ts'))
	.map((file) => `nodes/${file.split('\\').join('/')}`);

/** The rooms of `nodes/shared`, the lowest first: each may use those before it, never those after. */
const FLOORS = ['', 'async', 'parsing', 'pace', 'http', 'api', 'speech', 'generation', 'n8n'];

const textOf = (file: string) => readFileSync(join(root, file), 'utf8');
const folderOf = (file: string) => posix.dirname(file);

/** The project's own files that a file imports. */
function importsOf(file: string): string[] {
	return [...textOf(file).matchAll(/from '(\.[^']*)'/g)].map(([, path]) => {
		const target = posix.join(folderOf(file), path!);
		return files.includes(`${target}.ts`) ? `${target}.ts` : `${target}/index.ts`;
	});
}

const imports = new Map(files.map((file) => [file, importsOf(file)]));

/** The imports, as `file → target`, that should not be. */
const importsThat = (areWrong: (file: string, target: string) => boolean) =>
	[...imports].flatMap(([file, targets]) =>
		targets.filter((target) => areWrong(file, target)).map((target) => `${file} → ${target}`),
	);

test('every import leads to a file of its own', () => {
	expect(importsThat((_, target) => !files.includes(target))).toEqual([]);
});

/** The ways on which something leads back to itself. */
function circlesIn(targetsOf: Map<string, string[]>): string[] {
	const circles: string[] = [];
	const visit = (from: string, path: string[]) => {
		if (path.includes(from)) return void circles.push([...path, from].join(' → '));
		if (done.has(from)) return;
		for (const target of targetsOf.get(from) ?? []) visit(target, [...path, from]);
		done.add(from);
	};
	const done = new Set<string>();
	for (const from of targetsOf.keys()) visit(from, []);
	return circles;
}

const inside = Map.groupBy(files, folderOf);
const rooms = [...inside].map(([folder, own]): [string, string[]] => {
	const targets = own.flatMap((file) => imports.get(file)!.map(folderOf));
	return [folder, targets.filter((target) => target !== folder)];
});

test.each([
	['file', imports],
	['folder', new Map(rooms)],
])('no %s imports itself through others', (_, targets) => {
	expect(circlesIn(targets)).toEqual([]);
});

test('no room of nodes/shared imports from a higher one', () => {
	const floorOf = (file: string) => FLOORS.indexOf(folderOf(file).replace(/^nodes\/shared\/?/, ''));
	const isShared = (file: string) => file.startsWith('nodes/shared/');
	const upwards = importsThat(
		(file, target) => isShared(file) && (!isShared(target) || floorOf(target) > floorOf(file)),
	);
	expect(files.filter(isShared).map(floorOf)).not.toContain(-1);
	expect(upwards).toEqual([]);
});

test('neither node imports from the other', () => {
	const nodes = ['nodes/MediaGeneration/', 'nodes/MediaGenerationTrigger/'];
	const across = importsThat((file, target) =>
		nodes.some((node) => target.startsWith(node) && !file.startsWith(node)),
	);
	expect(across).toEqual([]);
});

test('state that outlives an execution is kept in account.ts alone', () => {
	const holds =
		/^(?:export )?(?:let |const \w+(?:: [^=]+)? = (?:new (?:Map|WeakMap|Set)(?:<[^>]*>)?\(\)|\{\}|\[\]);)|^\t(?:private |public )?static (?!async |\w+\()/m;
	// When a deadline ends is a fact of its signal, and goes with it.
	// The rows of all runs wait in one queue, which is empty when they have ended.
	const queue = 'nodes/MediaGeneration/run/concurrency.ts';
	const known = [queue, 'nodes/shared/account.ts', 'nodes/shared/async/deadline.ts'];
	expect(files.filter((file) => holds.test(textOf(file))).sort()).toEqual(known);
});

test('CONTRIBUTING names files that exist', () => {
	const named = [...textOf('CONTRIBUTING.md').matchAll(/`([\w./]+\.m?ts)`/g)].map(
		([, name]) => name!,
	);
	const isThere = (name: string) =>
		files.some((file) => file.endsWith(`/${name}`)) || existsSync(join(root, name));
	// These are the operations that the guide makes up.
	const madeUp = ['resources/emblem/create.ts', 'resources/speech/recite.ts'];
	expect(named.filter((name) => !isThere(name))).toEqual(madeUp);
});

test('the guides of CONTRIBUTING name only what is in the code', () => {
	const guides = textOf('CONTRIBUTING.md').split('\n## Adding')[1]!.split('\n## ')[0]!;
	const named = new Set([...guides.matchAll(/`([A-Za-z_]\w+)`/g)].map(([, name]) => name!));
	const paths = globSync('{nodes,credentials,simulator,check,test}/**/*.{ts,mts}', { cwd: root });
	const words = new Set(paths.flatMap((path) => textOf(path).match(/\w+/g) ?? []));
	const madeUp = ['music', 'music_url'];
	expect([...named].filter((name) => !words.has(name) && !madeUp.includes(name))).toEqual([]);
});

test('one word for one thing: no type twice, no method in more than three classes', () => {
	const types: string[] = [];
	const methods = new Map<string, Set<string>>();
	for (const file of files) {
		const source = typescript.createSourceFile(file, textOf(file), typescript.ScriptTarget.ES2022);
		for (const statement of source.statements) {
			const isType =
				typescript.isTypeAliasDeclaration(statement) ||
				typescript.isInterfaceDeclaration(statement) ||
				typescript.isClassDeclaration(statement);
			if (!isType || !statement.name) continue;
			types.push(statement.name.text);
			if (!typescript.isClassDeclaration(statement)) continue;
			for (const member of statement.members) {
				const isMethod = typescript.isMethodDeclaration(member) || typescript.isGetAccessor(member);
				if (!isMethod || !typescript.isIdentifier(member.name)) continue;
				const classes = methods.get(member.name.text) ?? new Set();
				methods.set(member.name.text, classes.add(statement.name.text));
			}
		}
	}
	expect(types.filter((name, at) => types.indexOf(name) !== at)).toEqual([]);
	const common = [...methods].filter(([, classes]) => classes.size > 3);
	expect(common.map(([name, classes]) => `${name}: ${[...classes].join()}`)).toEqual([]);
});
