/*
 * n8n's scan of community packages, offline: `scan.mts source FOLDER` as it treats a repository,
 * `scan.mts dist FOLDER` as it treats the published package. Prints errors and warnings as JSON.
 */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const tools = join(import.meta.dirname, '../../tools/lint/node_modules');
const load = async (path: string) => await import(pathToFileURL(join(tools, path)).href);

const { analyzePackage, buildScanConfig, SOURCE_FILE_PATTERNS } = await load(
	'@n8n/scan-community-package/scanner/scanner.mjs',
);
const { ESLint } = await load('eslint/lib/api.js');

const [leg, folder] = process.argv.slice(2) as ['source' | 'dist', string];
const patterns = leg === 'source' ? SOURCE_FILE_PATTERNS : ['**/*.js', 'package.json'];

const { passed, details, message } = await analyzePackage(folder, patterns);

// The verdict says nothing of warnings: the same rules once more, for them alone.
const eslint = new ESLint({
	cwd: folder,
	allowInlineConfig: false,
	overrideConfigFile: true,
	overrideConfig: await buildScanConfig(),
	errorOnUnmatchedPattern: false,
});
const results: Array<{ filePath: string; messages: Array<Record<string, unknown>> }> =
	await eslint.lintFiles(patterns);
const warnings = results.flatMap(({ filePath, messages }) =>
	messages
		.filter(({ severity }) => severity === 1)
		.map((found) => `${filePath}:${found.line} ${found.ruleId}: ${found.message}`),
);

process.stdout.write(JSON.stringify({ passed, files: results.length, message, details, warnings }));
