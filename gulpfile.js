const { execFileSync } = require('node:child_process');
const { rmSync } = require('node:fs');
const esbuild = require('esbuild');
const { dest, parallel, series, src } = require('gulp');

async function clean() {
	rmSync('dist', { recursive: true, force: true });
}

async function compile() {
	execFileSync(process.execPath, [require.resolve('typescript/bin/tsc')], { stdio: 'inherit' });
}

/**
 * An esbuild plugin that bundles packages, but leaves our own modules and n8n-workflow as separate files.
 *
 * n8n Cloud installs no runtime dependencies of a node, so eventsource-parser must be part of `dist`. Only the file
 * that imports it is bundled. The other modules stay separate, because both nodes must share one copy of their code and
 * of their state, such as the sockets.
 */
function keepOwnModules(build) {
	build.onResolve({ filter: /^(?:\.|n8n-workflow$)/ }, ({ importer, kind, path }) =>
		kind === 'entry-point' || importer.includes('node_modules')
			? undefined
			: { path, external: true },
	);
}

/** Puts eventsource-parser into the one file of `dist` that imports it. */
async function inlineParser() {
	await esbuild.build({
		entryPoints: ['dist/nodes/shared/parsing/generationEvents.js'],
		outfile: 'dist/nodes/shared/parsing/generationEvents.js',
		allowOverwrite: true,
		bundle: true,
		platform: 'neutral',
		format: 'cjs',
		target: 'es2022',
		plugins: [{ name: 'own-modules-stay', setup: keepOwnModules }],
	});
}

function copyAssets() {
	return src(['icons/*.svg', 'nodes/**/*.node.json', 'nodes/**/__schema__/**/*.json'], {
		base: '.',
		encoding: false,
	}).pipe(dest('dist'));
}

exports.build = series(clean, compile, parallel(inlineParser, copyAssets));
