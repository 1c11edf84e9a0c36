/*
 * `npm run lint`: checks formatting, types, n8n's rules and our own rules. `npm run lint:fix` also fixes what can be
 * fixed automatically.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runHere } from '../process.mjs';

const project = join(import.meta.dirname, '../..');
const { values } = parseArgs({ options: { fix: { type: 'boolean', default: false } } });

const prettier = 'node_modules/prettier/bin/prettier.cjs';
const typescript = 'node_modules/typescript/bin/tsc';
const eslint = 'tools/lint/node_modules/eslint/bin/eslint.js';
const knip = 'tools/lint/node_modules/knip/bin/knip.js';

/** All folders with TypeScript files. */
const sources = ['bench', 'check', 'credentials', 'demo', 'nodes', 'simulator', 'test', 'tools'];

const checks: Array<[title: string, ...command: string[]]> = [
	["n8n's rules", eslint, ...(values.fix ? ['--fix'] : []), 'nodes', 'credentials', 'package.json'],
	['Workflows of GitHub', 'tools/lint/workflows.mts'],
	['Formatting', prettier, values.fix ? '--write' : '--check', '--log-level=warn', '.'],
	['Types of the package', typescript, '--noEmit'],
	['Types of simulator, tools and tests', typescript, '-p', 'tsconfig.tools.json'],
	['Promises and switches', eslint, '--quiet', '-c', 'tools/lint/promises.config.mjs', ...sources],
	['Exports and files that nothing uses', knip, '-c', 'tools/lint/knip.config.mjs', '-n'],
];

const failed: string[] = [];
for (const [title, ...command] of checks) {
	const code = await runHere(process.execPath, command, { cwd: project });
	if (code > 128) process.exit(code);
	console.log(`${code === 0 ? '✓' : '✗'} ${title}`);
	if (code !== 0) failed.push(title);
}
if (failed.length > 0) {
	console.error(`\nFailed: ${failed.join(', ')}.`);
	process.exitCode = 1;
}
