import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Clone } from './clone.mts';
import { readJobs } from './jobs.mts';

/* The jobs of .github/workflows, as far as they run without GitHub, in a clean clone. */

const project = join(__dirname, '../..');
const read = (path: string) => readFileSync(join(project, path), 'utf8');
const commandsOf = (text: string) =>
	[...text.matchAll(/npm (?:run )?([\w:]+)/g)].map(([, name]) => name!);

const jobs = readJobs(project);
const runsOf = (workflow: string) =>
	jobs
		.filter((job) => job.workflow === workflow)
		.flatMap(({ steps }) => steps.map(({ run }) => run));
const stepsOf = (name: string) => jobs.find((job) => job.name === name)!.steps;

test('CI runs every command that a clean clone has to pass', () => {
	const inOrder = commandsOf(read('.ci/run'));
	expect(commandsOf(runsOf('ci.yml').join('\n')).sort()).toEqual(inOrder.sort());
	const { scripts } = JSON.parse(read('package.json'));
	expect(Object.keys(scripts)).toEqual(expect.arrayContaining(inOrder));
});

test('before a version is published, what CI installs for any of its jobs is there', () => {
	const installed = (workflow: string) =>
		runsOf(workflow).flatMap((run) => /install --yes (.+)/.exec(run)?.[1]!.split(/\s+/) ?? []);
	expect(new Set(installed('publish.yml'))).toEqual(new Set(installed('ci.yml')));
});

describe('a clean clone', () => {
	let clone: Clone;
	beforeAll(() => {
		clone = new Clone(project);
	});
	afterAll(() => clone.remove());

	test('does not publish a tag that is not the version', async () => {
		const step = stepsOf('publish').find(({ title }) => title === 'The tag is the version')!;
		expect(await clone.run(step)).toMatchObject({ code: 0 });
		const extra = { GITHUB_REF_NAME: 'v0.0.0' };
		expect(await clone.run(step, { extra })).toMatchObject({ code: 1 });
	});

	test('makes no release without notes', async () => {
		const [step] = stepsOf('release');
		writeFileSync(join(clone.folder, 'CHANGELOG.md'), '## [Unreleased]\n\n- Something\n');
		const { code, output } = await clone.run(step!);
		expect(code).toBe(1);
		expect(output).toMatch(/^CHANGELOG\.md says nothing of \d/);
	});
});

test('the jobs of a tag publish the version, and its part of the change log as its release', async () => {
	const { version } = JSON.parse(read('package.json'));
	const without = ['Everything is green', 'Install what the tests run'];
	const { stdout } = await promisify(execFile)(
		process.execPath,
		[
			join(__dirname, 'main.mts'),
			'publish',
			'release',
			...without.flatMap((title) => ['--without', title]),
		],
		{ cwd: project },
	);
	expect(stdout).toContain(`+ n8n-nodes-media-generation@${version}`);
	expect(stdout).toContain('dist/nodes/MediaGeneration/MediaGeneration.node.js');
	expect(stdout).toContain(`gh release create v${version} --verify-tag`);
	const [firstOfUnreleased] = /^- .*$/m.exec(read('CHANGELOG.md'))!;
	expect(stdout).toContain(firstOfUnreleased);
}, 300_000);
