import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { git } from '../../tools/release/checks.mts';

/* The shell steps of .github/workflows, as far as they run without GitHub, in a clean clone. */

const project = join(__dirname, '../..');
const read = (path: string) => readFileSync(join(project, path), 'utf8');
/** The commands of a workflow's steps, in their order. */
const stepsOf = (name: string) =>
	[...read(`.github/workflows/${name}`).matchAll(/^\s+(?:- )?run: (.+)$/gm)].map(([, run]) => run!);
const commandsOf = (text: string) =>
	[...text.matchAll(/npm (?:run )?([\w:]+)/g)].map(([, name]) => name!);

let clone: string;
beforeAll(() => {
	clone = mkdtempSync(join(tmpdir(), 'media-generation-clone-'));
	git(project, 'clone', '--quiet', '--no-hardlinks', project, clone);
});
afterAll(() => rmSync(clone, { recursive: true, force: true }));

function runs(step: string, extra: NodeJS.ProcessEnv = {}) {
	// npm tells its scripts about their package in variables that the clone's npm must not see.
	const own = Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name));
	const env = { ...Object.fromEntries(own), ...extra };
	return spawnSync('bash', ['-e', '-c', step], { cwd: clone, encoding: 'utf8', env });
}

test('CI runs every command that a clean clone has to pass', () => {
	const inOrder = commandsOf(read('.ci/run'));
	const [, matrix = ''] = /command:\s*\[([^\]]*)\]/.exec(read('.github/workflows/ci.yml'))!;
	const sideBySide = matrix.match(/[\w:]+/g) ?? [];
	const lintFirst = commandsOf(stepsOf('ci.yml')[0]!);
	expect([...lintFirst, ...sideBySide].sort()).toEqual(inOrder.sort());
	const { scripts } = JSON.parse(read('package.json'));
	expect(Object.keys(scripts)).toEqual(expect.arrayContaining(inOrder));
});

test('a tag that is not the version is not published', () => {
	const [step] = stepsOf('publish.yml') as [string];
	const { version } = JSON.parse(read('package.json'));
	expect(runs(step, { GITHUB_REF_NAME: `v${version}` }).status).toBe(0);
	expect(runs(step, { GITHUB_REF_NAME: 'v0.0.0' }).status).toBe(1);
});

test('what is published is built from the clone', () => {
	symlinkSync(join(project, 'node_modules'), join(clone, 'node_modules'), 'junction');
	const step = stepsOf('publish.yml').at(-1)!;
	expect(step).toBe('npm publish --provenance --access public');
	// Without GitHub there is nobody to sign the provenance.
	const { status, stdout, stderr } = runs(`${step.replace(' --provenance', '')} --dry-run --json`);
	expect({ status, stderr }).toMatchObject({ status: 0 });
	expect(stdout).toContain('dist/nodes/MediaGeneration/MediaGeneration.node.js');
	expect(stdout).toContain('dist/nodes/shared/parsing/generationEvents.js');
}, 120_000);
