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

const VERSION = /^\d+\.\d+\.\d+$/;

/** Below 0 when version `a` is older than `b`. */
const compare = (a: string, b: string) => a.localeCompare(b, 'en', { numeric: true });

/** The newest version that has a tag; undefined when nothing was released yet. */
function latestOf(folder: string): string | undefined {
	const tags = git(folder, 'tag', '--list', 'v*').split('\n');
	const versions = tags.map((tag) => tag.slice(1)).filter((version) => VERSION.test(version));
	return versions.sort(compare).at(-1);
}

/** What a change log in the style of Keep a Changelog says of a version, whose heading has a date. */
export function notesOf(changelog: string, version: string): string | undefined {
	const heading = /^## \[(.+)\] - \d{4}-\d\d-\d\d *(?:\n|$)/;
	const sections = changelog.split(/^(?=## )/m);
	return sections
		.find((text) => heading.exec(text)?.[1] === version)
		?.replace(heading, '')
		.trim();
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
	const latest = latestOf(folder);
	if (!VERSION.test(version)) {
		problems.push(`The version in package.json must be like 1.2.3; it is "${version}".`);
	} else if (latest && compare(version, latest) <= 0) {
		problems.push(
			`The version in package.json, ${version}, is not newer than the latest tag, v${latest}. Raise it with: npm version --no-git-tag-version patch (or minor, or major)`,
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
