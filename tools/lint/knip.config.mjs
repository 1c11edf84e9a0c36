/* The settings of knip, which finds exports, files and packages that nothing uses. */
export default {
	entry: [
		'credentials/*.ts',
		'nodes/*/*.node.ts',
		'{bench,check,simulator}/main.mts',
		'demo/demo.mts',
		'tools/*/main.mts',
		'test/{leaks,mutants,nightly,pace,worlds}/main.mts',
		// Node's own test runner runs these.
		'test/{audio,e2e,install,n8n,oldest,queue,storage}/*.test.mts',
		// Other files start these by their path, as processes or threads.
		'bench/probe.mts',
		'simulator/media/rendering.mts',
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
	// Types are not checked, because the types of parameters and results are exported together with their function.
	include: ['dependencies', 'exports', 'files'],
	// The commands run on the Node of the package `node`, but no file names that package. n8n brings its own
	// n8n-workflow.
	ignoreDependencies: ['node', 'n8n-workflow'],
};
