import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The branch that releases are made from. */
const BRANCH = 'main';

/** What is released. */
export interface Release {
	version: string;
	tag: string;
	/** The version's section of the change log, without its heading. */
	notes: string;
}

/** Runs git in a folder; returns what it printed, without the last line break. */
export const git = (folder: string, ...args: string[]): string =>
	execFileSync('git', args, { cwd: folder, encoding: 'utf8', stdio: 'pipe' }).trimEnd();

/** The numbers of a version such as `1.20.3`; undefined for anything else. */
function numbersOf(version: string): number[] | undefined {
	const parts = /^(\d+)\.(\d+)\.(\d+)$/.exec(version)?.slice(1);
	return parts?.map(Number);
}

/** Below 0 when version `a` is older than `b`. */
function compare(a: number[], b: number[]): number {
	const differing = a.findIndex((number, index) => number !== b[index]);
	return differing === -1 ? 0 : a[differing]! - b[differing]!;
}

/** The tag of the newest version; undefined when nothing was released yet. */
function latestTag(folder: string): string | undefined {
	return git(folder, 'tag', '--list', 'v*')
		.split('\n')
		.filter((tag) => numbersOf(tag.slice(1)) !== undefined)
		.sort((a, b) => compare(numbersOf(a.slice(1))!, numbersOf(b.slice(1))!))
		.at(-1);
}

/** What a change log in the style of Keep a Changelog says of a version, whose heading has a date. */
export function notesOf(changelog: string, version: string): string | undefined {
	const sections = changelog.split(/^(?=## )/m);
	const heading = new RegExp(
		`^## \\[${version.replaceAll('.', '\\.')}\\] - \\d{4}-\\d\\d-\\d\\d *$`,
		'm',
	);
	const section = sections.find((text) => heading.test(text.split('\n')[0]!));
	return section?.split('\n').slice(1).join('\n').trim();
}

const readJson = (path: string): { version?: string } =>
	existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {};

/**
 * What stands against a release of the package in `folder`, as sentences that say what to do; none
 * when there is nothing. Looks at git, `package.json` and `CHANGELOG.md` alone.
 */
export function readRelease(folder: string): { release: Release; problems: string[] } {
	const problems: string[] = [];
	const branch = git(folder, 'branch', '--show-current');
	if (branch !== BRANCH) {
		const present = branch === '' ? 'no branch' : `the branch ${branch}`;
		problems.push(`This is ${present}: releases are made from ${BRANCH}.`);
	}
	const changed = git(folder, 'status', '--porcelain');
	if (changed !== '') {
		problems.push(`The work tree is not clean. Commit these first, or drop them:\n${changed}`);
	}

	const version = readJson(join(folder, 'package.json')).version ?? '';
	const tag = `v${version}`;
	const latest = latestTag(folder);
	const numbers = numbersOf(version);
	if (!numbers) {
		problems.push(`The version in package.json must be like 1.2.3; it is "${version}".`);
	} else if (latest && compare(numbers, numbersOf(latest.slice(1))!) <= 0) {
		problems.push(
			`The version in package.json, ${version}, is not newer than the latest tag, ${latest}. Raise it with: npm version --no-git-tag-version patch (or minor, or major)`,
		);
	}
	const locked = readJson(join(folder, 'package-lock.json')).version;
	if (locked !== undefined && locked !== version) {
		problems.push(`package-lock.json says ${locked}, package.json ${version}. Run: npm install`);
	}

	const path = join(folder, 'CHANGELOG.md');
	const changelog = existsSync(path) ? readFileSync(path, 'utf8') : '';
	const notes = notesOf(changelog, version);
	if (notes === undefined) {
		problems.push(
			`CHANGELOG.md has no section "## [${version}] - YYYY-MM-DD". Make one of what is under [Unreleased].`,
		);
	} else if (notes === '') {
		problems.push(`The section [${version}] in CHANGELOG.md is empty: say what has changed.`);
	}
	return { release: { version, tag, notes: notes ?? '' }, problems };
}
