import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder, type TemporaryFolder } from '../../tools/cleanup.mts';
import { git } from '../../tools/release/checks.mts';

/* `npm run release`, on a package of its own whose lint and tests pass or fail as told. */

const main = join(__dirname, '../../tools/release/main.mts');
let temporary: TemporaryFolder;
let folder: string;

const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
const tags = () => git(folder, 'tag', '--list');

function writePackage(version: string, scripts: Record<string, string> = {}) {
	const [lint, test] = ['node --version', 'node --version'];
	const passing = { lint, test, 'test:package': 'node --version' };
	write('package.json', JSON.stringify({ version, scripts: { ...passing, ...scripts } }));
}

function commitPackage(version: string, scripts?: Record<string, string>) {
	writePackage(version, scripts);
	git(folder, 'commit', '--quiet', '--all', '--message', 'Changes');
}

const changelog = (...sections: string[]) => write('CHANGELOG.md', sections.join('\n'));
const section = (version: string) => `## [${version}] - 2026-11-21\n\n- Something of ${version}\n`;

function release(...args: string[]) {
	return spawnSync(process.execPath, [main, ...args], { cwd: folder, encoding: 'utf8' });
}

/** The reasons that were given, once the release was refused and nothing tagged. */
function refused(): string {
	const before = tags();
	const { status, stderr } = release();
	expect(status).toBe(1);
	expect(stderr).toContain('Not released:');
	expect(stderr).not.toMatch(/^\s+at /m);
	expect(tags()).toBe(before);
	return stderr;
}

beforeEach(() => {
	temporary = temporaryFolder('release');
	folder = temporary.path;
	git(folder, 'init', '--quiet', '--initial-branch=main');
	git(folder, 'config', 'user.name', 'Somebody');
	git(folder, 'config', 'user.email', 'somebody@example.com');
	writePackage('1.10.0');
	changelog('# Changelog', '', '## [Unreleased]', '', section('1.10.0'), section('1.9.0'));
	git(folder, 'add', '.');
	git(folder, 'commit', '--quiet', '--message', 'Begin');
	git(folder, 'tag', 'v1.9.0');
	git(folder, 'tag', 'v1.2.0');
});
afterEach(() => temporary.remove());

test('tags the version with its notes, and says what to push', () => {
	const { status, stdout } = release();
	expect(status).toBe(0);
	expect(stdout).toContain('git push --atomic origin main v1.10.0');
	expect(git(folder, 'rev-parse', 'v1.10.0^{commit}')).toBe(git(folder, 'rev-parse', 'HEAD'));
	const message = git(folder, 'tag', '--list', '--format=%(contents)', 'v1.10.0');
	expect(message).toBe('1.10.0\n\n- Something of 1.10.0');
});

test('a dry run makes no tag', () => {
	const { status, stdout } = release('--dry-run');
	expect(status).toBe(0);
	expect(stdout).toContain('1.10.0 can be released');
	expect(tags()).not.toContain('v1.10.0');
});

const scripts = (more: object) => () => commitPackage('1.10.0', { ...more });
const leaving = `node --eval "fs.writeFileSync('left-behind', '')"`;
const notNewer = /is not newer than the latest tag, v1\.9\.0\./;
const noSection = /no section "## \[1\.10\.0\] - YYYY-MM-DD"/;

test.each<[what: string, spoil: () => void, words: RegExp]>([
	['a changed work tree', () => write('forgotten.txt', ''), /not clean[^]*\?\? forgotten\.txt/],
	['another branch', () => git(folder, 'switch', '--quiet', '--create', 'other'), /branch other:/],
	['no branch', () => git(folder, 'switch', '--quiet', '--detach'), /This is no branch/],
	['the latest version', () => commitPackage('1.9.0'), notNewer],
	['an older one', () => commitPackage('1.3.0'), notNewer],
	['what is no version', () => commitPackage('1.10'), /like 1\.2\.3, but is "1\.10"/],
	[
		'a lock file of another version',
		() => write('package-lock.json', JSON.stringify({ version: '1.9.0' })),
		/package-lock\.json says 1\.9\.0, package\.json 1\.10\.0\./,
	],
	['no section', () => changelog(section('1.9.0')), noSection],
	['no date', () => changelog('## [1.10.0]\n\n- Something\n'), noSection],
	['a version that only looks alike', () => changelog(section('1.10.01')), noSection],
	['an empty section', () => changelog(`## [1.10.0] - 2026-11-21\n\n${section('1.9.0')}`), /empty/],
	['a lint', scripts({ lint: 'exit 3' }), /npm run lint is not green \(exit code 3\)/],
	['a test', scripts({ test: 'exit 3' }), /npm test is not green \(exit code 3\)/],
	['the package', scripts({ 'test:package': 'exit 3' }), /npm run test:package is not green/],
	['checks that change files', scripts({ test: leaving }), /not clean[^]*left-behind/],
])('refuses %s', (_, spoil, words) => {
	spoil();
	expect(refused()).toMatch(words);
});

test('says all that is wrong at once', () => {
	writePackage('1.9.0');
	changelog('');
	expect(refused()).toMatch(/not clean[^]*not newer[^]*no section/);
});
