import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { temporaryFolder } from '../../tools/cleanup.mts';
import { project } from '../../tools/n8n/package.mts';
import { installAlone } from '../../tools/pack.mts';
import { cleanEnvironment, runHere } from '../../tools/process.mjs';

/*
 * The packed package in the engine of the oldest n8n that README names, on that n8n's oldest Node
 * (which has no WebSocket) and on the newest.
 */

const oldest = join(project, 'tools/oldest');
const folder = temporaryFolder('oldest');
after(() => folder.remove());
const { target } = installAlone(project, folder.path, oldest);
// Old Nodes run no TypeScript.
const outfile = join(folder.path, 'inEngine.mjs');
await build({
	entryPoints: [join(import.meta.dirname, 'inEngine.mts')],
	outfile,
	bundle: true,
	platform: 'node',
	format: 'esm',
	target: 'node20',
	// Of those that read a file beside them, only this one is not told of another.
	define: { 'import.meta.url': JSON.stringify(pathToFileURL(join(project, 'simulator/media/'))) },
	banner: {
		js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
	},
});
const env = cleanEnvironment({
	MEDIA_GENERATION_ENGINE: join(oldest, 'package.json'),
	MEDIA_GENERATION_PACKAGE: target,
	// It reports to people rather than to this one's runner.
	NODE_TEST_CONTEXT: undefined,
});

for (const [name, node] of [
	['its oldest Node', join(oldest, 'node_modules/node/bin/node')],
	['the newest Node', process.execPath],
] as const) {
	test(`the oldest n8n on ${name}`, { timeout: 240_000 }, async () => {
		const args = ['--test-force-exit', '--test-reporter=spec', outfile];
		assert.equal(await runHere(node, args, { env }), 0);
	});
}
