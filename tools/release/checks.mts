import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The name of the branch from which releases are made. */
const BRANCH = 'main';
const VERSION = /^\d+\.\d+\.\d+$/;

/** Runs git in a folder. Returns its output without the last line break. Throws an Error if git fails. */
export const git = (folder: string, ...args: string[]): string =>
	execFileSync('git', args, { cwd: folder, encoding: 'utf8', stdio: 'pipe' }).trimEnd();

/**
 * Returns the section of a version in a change log that follows Keep a Changelog. Its heading must have a date. Returns
 * undefined if there is no such section.
 */
export function notesOf(changelog: string, version: string): string | undefined {
	const heading = /^## \[(.+)\] - \d{4}-\d\d-\d\d *(?:\n|$)/;
	const sections = changelog.split(/^(?=## )/m);
	return sections
		.find((text) => heading.exec(text)?.[1] === version)
		?.replace(heading, '')
		.trim();
}

/**
 * Reads which release the package in `folder` would be, and which problems prevent it. Each problem is a sentence that
 * says what to do. Only the state of git, `package.json`, `package-lock.json` and `CHANGELOG.md` count.
 */
export function readRelease(folder: string) {
	const read = (name: string, otherwise: string) =>
		existsSync(join(folder, name)) ? readFileSync(join(folder, name), 'utf8') : otherwise;
	const version = String(JSON.parse(read('package.json', '{}')).version);
	const lockFileVersion = JSON.parse(
		read('package-lock.json', JSON.stringify({ version })),
	).version;
	const notes = notesOf(read('CHANGELOG.md', ''), version);
	const branch = git(folder, 'branch', '--show-current');
	const uncommittedChanges = git(folder, 'status', '--porcelain');
	const tags = git(folder, 'tag', '--list', 'v*', '--sort=-version:refname').split('\n');
	const latest = tags.map((tag) => tag.slice(1)).find((tag) => VERSION.test(tag)) ?? '';
	const isNewer = version.localeCompare(latest, 'en', { numeric: true }) > 0;
	const branchInWords = branch === '' ? 'no branch' : `the branch ${branch}`;
	const checks: Array<[isWrong: boolean, problem: string]> = [
		[branch !== BRANCH, `This is ${branchInWords}: releases are made from ${BRANCH}.`],
		[
			uncommittedChanges !== '',
			`The work tree is not clean. Commit or discard these changes:\n${uncommittedChanges}`,
		],
		[
			!VERSION.test(version),
			`The version in package.json must look like 1.2.3, but is "${version}".`,
		],
		[
			!isNewer,
			`The version in package.json, ${version}, is not newer than the latest tag, v${latest}. Increase it with: npm version --no-git-tag-version patch (or minor, or major)`,
		],
		[
			lockFileVersion !== version,
			`package-lock.json says ${lockFileVersion}, package.json ${version}. Run: npm install`,
		],
		[
			notes === undefined,
			`CHANGELOG.md has no section "## [${version}] - YYYY-MM-DD". Make one from the entries under [Unreleased].`,
		],
		[notes === '', `The section [${version}] in CHANGELOG.md is empty: say what has changed.`],
	];
	const problems = checks.filter(([isWrong]) => isWrong).map(([, problem]) => problem);
	return { version, tag: `v${version}`, notes, problems };
}
