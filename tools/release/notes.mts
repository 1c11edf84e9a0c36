/* Prints the section of CHANGELOG.md for the version in package.json: the release notes on GitHub. */
import { readFileSync } from 'node:fs';
import { notesOf } from './checks.mts';

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
const notes = notesOf(readFileSync('CHANGELOG.md', 'utf8'), version);
if (!notes) {
	console.error(`CHANGELOG.md has no section for version ${version}.`);
	process.exit(1);
}
console.log(notes);
