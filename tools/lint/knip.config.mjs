/* What is exported and imported nowhere, and files and packages that nothing uses. */
export default {
	entry: [
		'credentials/*.ts',
		'nodes/*/*.node.ts',
		'{bench,check,simulator}/main.mts',
		'demo/demo.mts',
		'tools/*/main.mts',
		'test/{leaks,mutants,nightly,pace,worlds}/main.mts',
		// Run by Node's own test runner.
		'test/{audio,e2e,install,n8n,oldest,queue,storage}/*.test.mts',
		// Processes of their own, started by name.
		'bench/probe.mts',
		'simulator/media/rendering.mts',
		'test/check/record.mts',
		'test/leaks/service.mts',
		'test/oldest/inEngine.mts',
		'test/package/{load,scan}.mts',
		'tools/lint/workflows.mts',
		'tools/release/notes.mts',
		'tools/servers/s3Process.mjs',
		'eslint.config.mjs',
		'tools/lint/*.config.mjs',
	],
	project: ['**/*.{ts,mts,mjs}'],
	// No types: those that an exported function takes and returns are exported along with it.
	include: ['dependencies', 'exports', 'files'],
	// The Node that the commands run on; no file names it. n8n brings its own n8n-workflow.
	ignoreDependencies: ['node', 'n8n-workflow'],
};
