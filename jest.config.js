/** @type {import('jest').Config} */
module.exports = {
	testEnvironment: '<rootDir>/test/environment.js',
	roots: ['<rootDir>/test'],
	testMatch: ['**/*.test.ts'],
	// Those of npm run test:package and test:release, which need more tools or more time.
	testPathIgnorePatterns: ['/node_modules/', '/test/package/', '/test/release/', '/test/leaks/'],
	moduleFileExtensions: ['ts', 'mts', 'js', 'mjs', 'json', 'node'],
	// The parser is an ES module, which jest's sandbox can't load as it is.
	transformIgnorePatterns: ['/node_modules/(?!eventsource-parser/)'],
	transform: {
		'^.+(?:\\.m?ts|/eventsource-parser/.+\\.js)$': [
			'@swc/jest',
			{
				jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
				module: { type: 'commonjs' },
			},
		],
	},
	setupFilesAfterEnv: ['<rootDir>/test/equality.js'],
	testSequencer: '<rootDir>/test/sequencer.js',
	// In jest's sandbox each look at a global takes long, and those who draw and speak use this one
	// for every pixel and sample.
	sandboxInjectedGlobals: ['Math'],
	// What hangs is found out all the same; a busy machine takes long for what works.
	testTimeout: 120_000,
	// In ms; one of a busy machine takes longer than jest's half second, one that leaks takes for ever.
	workerGracefulExitTimeout: 15_000,
	// The tests wait for sockets and clocks far more than they compute.
	maxWorkers: 8,
	// Of the tests of one file that may run at once.
	maxConcurrency: 20,
};
