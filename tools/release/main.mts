/*
 * `npm run release`: checks that the package can be released, and tags it on this machine. Pushing the tag publishes it.
 * `npm run release -- --dry-run` only checks.
 */
import { parseArgs } from 'node:util';
import { cleanEnvironment, runHere } from '../process.mjs';
import { git, readRelease } from './checks.mts';

const { values } = parseArgs({ options: { 'dry-run': { type: 'boolean', default: false } } });
const folder = process.cwd();

/** The commands that must succeed. `test:package` runs both parts of n8n's scan. */
const COMMANDS = [['run', 'lint'], ['test'], ['run', 'test:package']];

function refuse(problems: string[]): never {
	console.error(`\nNot released:\n${problems.map((problem) => `- ${problem}`).join('\n')}`);
	process.exit(1);
}

const { version, tag, notes, problems } = readRelease(folder);
if (problems.length > 0) refuse(problems);

for (const args of COMMANDS) {
	console.log(`\n=== npm ${args.join(' ')}`);
	const code = await runHere('npm', args, { cwd: folder, env: cleanEnvironment() });
	if (code !== 0) refuse([`npm ${args.join(' ')} is not green (exit code ${code}).`]);
}
// The commands may have changed files.
const after = readRelease(folder).problems;
if (after.length > 0) refuse(after);

if (values['dry-run']) {
	console.log(
		`\nVersion ${version} can be released. This was a dry run, so the tag ${tag} was not created.`,
	);
} else {
	const message = `${version}\n\n${notes}`;
	git(folder, 'tag', '--annotate', tag, '--cleanup=verbatim', '--message', message);
	console.log(`\nTagged ${tag}, on this machine only. To publish it:

  git push --atomic origin main ${tag}

The workflow "Publish" then tests it again and publishes it. To take the tag back before
that: git tag --delete ${tag}`);
}
