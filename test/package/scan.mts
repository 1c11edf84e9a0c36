/*
 * n8n's scan of community packages, offline: `scan.mts source FOLDER` as it treats a repository,
 * `scan.mts dist FOLDER` as it treats the published package. Prints its verdict as JSON.
 */
import { globSync } from 'node:fs';
import { join } from 'node:path';

const scanner = '@n8n/scan-community-package/scanner/scanner.mjs';
const { analyzePackage, SOURCE_FILE_PATTERNS } = await import(
	join(import.meta.dirname, '../../tools/lint/node_modules', scanner)
);

const [leg, folder] = process.argv.slice(2) as ['source' | 'dist', string];
const patterns: string[] = leg === 'source' ? SOURCE_FILE_PATTERNS : ['**/*.js', 'package.json'];
const { passed, details, message } = await analyzePackage(folder, patterns);
const { length: files } = globSync(patterns, { cwd: folder });
process.stdout.write(JSON.stringify({ passed, problems: details ?? message ?? '', files }));
