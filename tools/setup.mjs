/* Installs and builds what the commands need. Each function returns at once if its part is there already. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fingerprint, installed, stamp } from './freshness.mjs';
import { cleanEnvironment, runQuietly, SetupError } from './process.mjs';
import { step } from './progress.mjs';
import { findPrograms, onPath } from './servers/programs.mjs';

export const project = join(dirname(fileURLToPath(import.meta.url)), '..');
const inProject = (...parts) => join(project, ...parts);

const NODE_MAJOR = 24;
const OLDEST_NODE_MAJOR = 20;
const NEWEST_NODE_MAJOR = 26;
const QUIET = ['--no-audit', '--no-fund', '--loglevel=http'];
const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';

/**
 * Installs the packages of a folder's package-lock.json, unless they are installed.
 * @param {string} title what the terminal shows meanwhile
 * @param {string} folder the path of the folder
 * @param {string[]} flags further flags for npm
 */
async function npmCi(title, folder, ...flags) {
	const { isCurrent, size, unpacked } = installed(folder);
	if (isCurrent) return;
	await step(title, async (say) => {
		const run = async (...command) => {
			let fetched = 0;
			say(() => {
				const there = unpacked();
				if (there > 0) return `${there} of ${size} packages unpacked`;
				return fetched > 0 ? `${fetched} packages fetched` : 'npm reads what to fetch';
			});
			await runQuietly(npm, [...command, ...QUIET, ...flags], {
				cwd: folder,
				env: cleanEnvironment(),
				onLine(line) {
					if (/^npm http fetch GET 200 .*\.tgz/.test(line)) fetched++;
				},
			});
		};
		try {
			await run('ci');
		} catch (error) {
			// Some registries do not have the packages for other platforms, so a lock file that was written with such a
			// registry lacks them. `npm ci` refuses that lock file, but `npm install` accepts it.
			if (!/Missing: .* from lock file/.test(error.output)) throw error;
			await run('install', '--no-save');
		}
	});
}

/**
 * Returns a function that installs the packages of a folder below `tools`, which need other versions than the project.
 * Their install scripts are not run.
 */
const toolsIn =
	(folder, title, ...flags) =>
	async () =>
		await npmCi(title, inProject('tools', folder), '--ignore-scripts', ...flags);

/** True if the program `node` is a Node of this major version. */
function runs(node, major) {
	try {
		return execFileSync(node, ['--version'], { encoding: 'utf8' }).startsWith(`v${major}.`);
	} catch {
		return false;
	}
}

/** The paths at which a browser may be installed. */
export const BROWSERS = [
	'/usr/bin/chromium',
	'/usr/bin/chromium-browser',
	'/usr/bin/google-chrome',
	'/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** VLC's library for Python, where Debian installs it. */
const VLC_FOR_PYTHON = '/usr/lib/python3/dist-packages/vlc.py';

/**
 * Downloads the Node of the package `node` in a folder, unless it is there. Resolves with its path. Throws a SetupError
 * if it then does not run, or has another major version.
 */
async function ensureNode(folder, major) {
	const node = join(folder, 'node_modules/node/bin/node');
	if (!runs(node, major)) {
		// The package has an install script for this, but npm may be configured not to run install scripts.
		await step(`Downloading Node ${major}`, () =>
			runQuietly(process.execPath, ['installArchSpecificPackage.js'], {
				cwd: join(folder, 'node_modules/node'),
				env: cleanEnvironment(),
			}),
		);
	}
	if (!runs(node, major)) {
		throw new SetupError(`Node ${major} could not be installed as ${node}.`);
	}
	return node;
}

/** Installs the dependencies of the project. Resolves with the path of the Node that runs the commands. */
export async function ensureDependencies() {
	await npmCi('Installing dependencies', project);
	return await ensureNode(project, NODE_MAJOR);
}

export const environmentFor = (node, extra) =>
	cleanEnvironment({ ...extra, PATH: [dirname(node), process.env.PATH].join(delimiter) });

const SOURCES = ['nodes', 'credentials', 'icons', 'gulpfile.js', 'tsconfig.json', 'package.json'];

/** Builds `dist`, unless it was built from the present sources. `node` is the path of Node. */
export async function ensureDist(node) {
	const built = stamp(inProject('node_modules/.dist-sources'));
	const state = fingerprint(SOURCES.map((source) => inProject(source)));
	const entry = inProject('dist/nodes/MediaGeneration/MediaGeneration.node.js');
	if (built.holds(state) && existsSync(entry)) return;
	await step('Building the package', () =>
		runQuietly(node, [inProject('node_modules/gulp/bin/gulp.js'), 'build'], {
			cwd: project,
			env: environmentFor(node),
		}),
	);
	built.put(state);
}

/** Installs n8n's linters and its scan of packages. */
export const ensureLintTools = toolsIn('lint', 'Installing n8n’s linters');

/** Installs the complete n8n. Of all install scripts, only that of its database driver is run. */
export async function ensureN8n(node) {
	const folder = inProject('tools/n8n');
	const title = 'Installing the full n8n, once (about 2.4 GB, 3 to 6 minutes)';
	await toolsIn('n8n', title, '--legacy-peer-deps')();
	const binary = join(folder, 'node_modules/sqlite3/build/Release/node_sqlite3.node');
	if (existsSync(binary)) return;
	const headers = join(folder, `node_modules/node-${process.platform}-${process.arch}`);
	const nodedir = existsSync(join(headers, 'include')) ? { npm_config_nodedir: headers } : {};
	// The driver is downloaded from GitHub or, if GitHub cannot be reached, compiled. With few optimizations and on all
	// cores, that takes a third of the time.
	const quick = { CFLAGS: '-O1', CXXFLAGS: '-O1', JOBS: 'max' };
	const env = environmentFor(node, { ...nodedir, ...quick });
	await step('Downloading or compiling n8n’s database driver, once (one to three minutes)', () =>
		runQuietly(npm, ['rebuild', 'sqlite3'], { cwd: folder, env }),
	);
	if (!existsSync(binary)) {
		throw new SetupError('The database driver of n8n (sqlite3) was not built.');
	}
}

/**
 * Returns a function that installs packages of Debian. On a system where it cannot install them, it throws a SetupError
 * that names the missing packages.
 *
 * @param what the packages in words for the user
 * @param packagesOf gets the paths of the known programs; returns the names of the packages, each with a value that is
 *   truthy if the package is installed
 * @param flags further flags for apt-get
 */
const programs =
	(what, packagesOf, ...flags) =>
	async () => {
		const packages = packagesOf(findPrograms());
		const missing = Object.keys(packages).filter((name) => !packages[name]);
		if (missing.length === 0) return;
		if (
			process.platform !== 'linux' ||
			process.getuid?.() !== 0 ||
			!existsSync('/usr/bin/apt-get')
		) {
			throw new SetupError(`This command needs ${what}. Please install: ${missing.join(', ')}.`);
		}
		const options = { cwd: project, env: cleanEnvironment({ DEBIAN_FRONTEND: 'noninteractive' }) };
		await step(`Installing ${what}, once`, async () => {
			await runQuietly('apt-get', ['update'], options);
			await runQuietly('apt-get', ['install', '-y', ...flags, ...missing], options);
		});
	};

/** Installs the engine of the oldest supported n8n, and the oldest Node on which it runs. */
export async function ensureOldest() {
	await toolsIn('oldest', 'Installing the engine of the oldest n8n')();
	await ensureNode(inProject('tools/oldest'), OLDEST_NODE_MAJOR);
}

/** Installs the newest Node on which n8n runs. Some tests run on it. */
export async function ensureNewestNode() {
	await toolsIn('newest', 'Installing the newest Node')();
	await ensureNode(inProject('tools/newest'), NEWEST_NODE_MAJOR);
}

/** Installs the npm registry from which n8n's own installer gets this package in a test. */
export const ensureRegistry = toolsIn('registry', 'Installing a registry of npm packages');

export const ensureBrowser = programs('Chromium', () => ({
	chromium: BROWSERS.some((path) => existsSync(path)),
}));

/** Installs the programs that speak, encode, decode and play sound. */
export const ensureAudioPrograms = programs(
	'programs for sound',
	() => ({
		'espeak-ng': onPath('espeak-ng'),
		lame: onPath('lame'),
		ffmpeg: onPath('ffmpeg'),
		'python3-vlc': existsSync(VLC_FOR_PYTHON),
		'vlc-plugin-base': existsSync(VLC_FOR_PYTHON),
	}),
	// python3-vlc recommends VLC with its graphical interface, which is not needed.
	'--no-install-recommends',
);

/** Installs the servers of n8n's queue mode. They need not be running. */
export const ensureQueueServers = programs(
	'Redis and PostgreSQL',
	({ redis, initdb, postgres }) => ({ 'redis-server': redis, postgresql: initdb && postgres }),
);

const ensureDebianServers = programs(
	'servers that files are stored on',
	({ initdb, postgres, sshd, sshKeygen, xmllint }) => ({
		postgresql: initdb && postgres,
		'openssh-server': sshd && sshKeygen,
		'libxml2-utils': xmllint,
	}),
);

/**
 * Installs the servers on which the examples store files: PostgreSQL and SFTP as packages of Debian, and S3 from npm.
 */
export async function ensureStorageServers() {
	await ensureDebianServers();
	await toolsIn('servers', 'Installing an S3 server')();
}
