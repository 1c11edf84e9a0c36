import {
	ensureAudioPrograms,
	ensureBrowser,
	ensureDist,
	ensureLintTools,
	ensureN8n,
	ensureNewestNode,
	ensureOldest,
	ensureQueueServers,
	ensureRegistry,
	ensureStorageServers,
} from './setup.mjs';

const jest = ['node_modules/jest/bin/jest.js'];
/** Makes jest also take the folders that `npm test` leaves out. */
const ALL_FOLDERS = '--testPathIgnorePatterns=/node_modules/';
const GREEN =
	'All tests passed. To see the node at work, run `npm run n8n`. To change something, read CONTRIBUTING.md.';

/**
 * What `npm run NAME` does, by NAME. First, each function in `needs` installs or builds something that the command
 * needs. Then Node 24 is started with the arguments `run`. If that succeeds, `next` is printed.
 * @type {Record<string, { needs: Array<(node: string) => Promise<void>>, run: string[], next?: string }>}
 */
export const commands = {
	demo: { needs: [ensureDist], run: ['demo/demo.mts'] },
	check: { needs: [ensureDist], run: ['check/main.mts'] },
	test: { needs: [ensureDist], run: jest, next: GREEN },
	'test:package': {
		needs: [ensureDist, ensureLintTools, ensureNewestNode],
		run: [...jest, 'test/package', ALL_FOLDERS],
	},
	'test:n8n': nodeTests('test/n8n', ensureN8n),
	'test:e2e': nodeTests('test/e2e', ensureN8n, ensureBrowser),
	'test:queue': nodeTests('test/queue', ensureN8n, ensureQueueServers),
	'test:install': nodeTests('test/install', ensureN8n, ensureBrowser, ensureRegistry),
	'test:storage': nodeTests('test/storage', ensureN8n, ensureStorageServers),
	'test:nightly': {
		needs: [ensureDist, ensureN8n, ensureQueueServers, ensureStorageServers],
		run: ['test/nightly/main.mts'],
	},
	'test:release': {
		needs: [ensureDist, ensureLintTools],
		run: [...jest, 'test/release', 'test/leaks', ALL_FOLDERS],
	},
	'test:oldest': nodeTests('test/oldest', ensureOldest),
	'test:audio': nodeTests('test/audio', ensureAudioPrograms, ensureBrowser),
	worlds: { needs: [], run: ['test/worlds/main.mts'] },
	pace: { needs: [], run: ['test/pace/main.mts'] },
	leaks: { needs: [ensureDist], run: ['--expose-gc', 'test/leaks/main.mts'] },
	n8n: { needs: [ensureDist, ensureN8n], run: ['tools/n8n/main.mts'] },
	simulator: { needs: [], run: ['simulator/main.mts'] },
	bench: { needs: [ensureDist, ensureN8n], run: ['bench/main.mts'] },
	release: { needs: [], run: ['tools/release/main.mts'] },
	lint: { needs: [ensureLintTools], run: ['tools/lint/main.mts'] },
	'lint:fix': { needs: [ensureLintTools], run: ['tools/lint/main.mts', '--fix'] },
};

/**
 * Returns the command that runs the tests of a folder in Node's own test runner. It runs one file at a time, because
 * most files start n8n.
 */
function nodeTests(folder, ...needs) {
	const flags = ['--test-concurrency=1', '--test-reporter=spec'];
	return { needs: [ensureDist, ...needs], run: ['--test', ...flags, `${folder}/*.test.mts`] };
}
