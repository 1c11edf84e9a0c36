import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { temporaryFolder } from '../../tools/cleanup.mts';

/* The jobs of .github/workflows, as far as they can be looked at without GitHub. */

interface Job {
	strategy?: { matrix: { command: string[] } };
	steps: Array<{ name?: string; run?: string }>;
}

const project = join(__dirname, '../..');
const read = (path: string) => readFileSync(join(project, path), 'utf8');
const { load } = createRequire(join(project, 'tools/lint/package.json'))('js-yaml') as {
	load(text: string): { jobs: Record<string, Job> };
};
const { lint, check } = load(read('.github/workflows/ci.yml')).jobs as Record<string, Job>;
const { publish, release } = load(read('.github/workflows/publish.yml')).jobs;
const runsOf = (job?: Job) => job!.steps.flatMap(({ run }) => run ?? []);

test('CI runs every command that a clean clone has to pass', () => {
	const inOrder = [...read('.ci/run').matchAll(/npm (?:run )?([\w:]+)/g)].map(([, name]) => name!);
	expect(runsOf(lint)).toEqual(['npm run lint']);
	expect(runsOf(check)).toContain('npm run ${{ matrix.command }}');
	expect(['lint', ...check!.strategy!.matrix.command].sort()).toEqual(inOrder.sort());
	const { scripts } = JSON.parse(read('package.json'));
	expect(Object.keys(scripts)).toEqual(expect.arrayContaining(inOrder));
});

test('before a version is published, everything is green with what CI installs for any of its jobs', () => {
	const installed = (job?: Job) =>
		runsOf(job).flatMap(
			(run) =>
				/install --yes (?:--no-install-recommends )?(.+)/s.exec(run)?.[1]!.split(/\s+/) ?? [],
		);
	expect(new Set(installed(publish))).toEqual(new Set(installed(check)));
	const order = ['bash .ci/run', 'npm publish --provenance --access public'];
	expect(runsOf(publish).slice(-2)).toEqual(order);
});

describe('in a folder of its own', () => {
	const folder = temporaryFolder('workflows');
	afterAll(() => folder.remove());
	beforeAll(() => writeFileSync(join(folder.path, 'package.json'), '{ "version": "1.2.3" }'));

	const run = (script: string, env: Record<string, string> = {}) =>
		spawnSync('bash', ['-e', '-c', script], {
			cwd: folder.path,
			env: { ...process.env, RUNNER_TEMP: folder.path, ...env },
			encoding: 'utf8',
		});

	test.each([
		['v1.2.3', 0],
		['v1.2.4', 1],
	])('of the tag %s, the version 1.2.3 is published or not', (tag, status) => {
		const step = publish!.steps.find(({ name }) => name === 'The tag is the version')!;
		expect(run(step.run!, { GITHUB_REF_NAME: tag })).toMatchObject({ status });
	});

	test.each([
		['## [1.2.3] - 2026-11-23\n\n- Something\n', 0, '- Something\n'],
		['## [Unreleased]\n\n- Something\n', 1, ''],
	])('of the change log %j, the notes of the release are its section', (text, status, notes) => {
		const script = runsOf(release).find((each) => each.includes('notes.mts'))!;
		writeFileSync(join(folder.path, 'CHANGELOG.md'), text);
		const made = run(script.replace('tools/', `${project}/tools/`));
		expect(made).toMatchObject({ status });
		expect(readFileSync(join(folder.path, 'notes.md'), 'utf8')).toBe(notes);
	});
});
