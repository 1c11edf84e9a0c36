/* What the commands need before they can run. Each part returns at once when it is there. */
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
 * Installs what a folder's package-lock.json says, unless it is there.
 * @param {string} title
 * @param {string} folder
 * @param {string[]} flags
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
			// Not every registry has the binaries for other platforms, and a lock file written with
			// one that has not lacks them: `npm ci` refuses it, `npm install` takes it as it is.
			if (!/Missing: .* from lock file/.test(error.output)) throw error;
			await run('install', '--no-save');
		}
	});
}

/** What installs a folder of tools, which have versions of their own; their scripts are not run. */
const toolsIn =
	(folder, title, ...flags) =>
	async () =>
		await npmCi(title, inProject('tools', folder), '--ignore-scripts', ...flags);

function runs(node, major) {
	try {
		return execFileSync(node, ['--version'], { encoding: 'utf8' }).startsWith(`v${major}.`);
	} catch {
		return false;
	}
}

/** Where the browser test looks for one. */
export const BROWSERS = [
	'/usr/bin/chromium',
	'/usr/bin/chromium-browser',
	'/usr/bin/google-chrome',
	'/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** VLC's library, as Debian's own Python has it. */
const VLC_FOR_PYTHON = '/usr/lib/python3/dist-packages/vlc.py';

/** The Node that the package `node` brings to a folder; its address. */
async function ensureNode(folder, major) {
	const node = join(folder, 'node_modules/node/bin/node');
	if (!runs(node, major)) {
		// It comes with an install script, and npm may be set to run none.
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

/** The project's dependencies; returns the Node to use. */
export async function ensureDependencies() {
	await npmCi('Installing dependencies', project);
	return await ensureNode(project, NODE_MAJOR);
}

export const environmentFor = (node, extra) =>
	cleanEnvironment({ ...extra, PATH: [dirname(node), process.env.PATH].join(delimiter) });

const SOURCES = ['nodes', 'credentials', 'icons', 'gulpfile.js', 'tsconfig.json', 'package.json'];

/** `dist`, built from the present sources. */
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

/** n8n's linters and its scan of packages, in a folder of their own (they need other versions). */
export const ensureLintTools = toolsIn('lint', 'Installing n8n’s linters');

/** The complete n8n. Of its install scripts only that of its database is needed. */
export async function ensureN8n(node) {
	const folder = inProject('tools/n8n');
	const title = 'Installing the complete n8n, once (about 2.4 GB, 3 to 6 minutes)';
	await toolsIn('n8n', title, '--legacy-peer-deps')();
	const binary = join(folder, 'node_modules/sqlite3/build/Release/node_sqlite3.node');
	if (existsSync(binary)) return;
	const headers = join(folder, `node_modules/node-${process.platform}-${process.arch}`);
	const nodedir = existsSync(join(headers, 'include')) ? { npm_config_nodedir: headers } : {};
	// It is compiled where GitHub, which has it ready, can't be reached: in a third of the time without
	// most optimizations, on all cores.
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
 * What installs Debian's packages (by name, whether each is there) where that can be done, and else asks
 * for them.
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

/** The engine of the oldest n8n that is supported, and the oldest Node that it runs on. */
export async function ensureOldest() {
	await toolsIn('oldest', 'Installing the engine of the oldest n8n')();
	await ensureNode(inProject('tools/oldest'), OLDEST_NODE_MAJOR);
}

/** The newest Node that n8n is run on; some tests run there, too. */
export async function ensureNewestNode() {
	await toolsIn('newest', 'Installing the newest Node')();
	await ensureNode(inProject('tools/newest'), NEWEST_NODE_MAJOR);
}

/** The registry from which n8n's own installer takes this package. */
export const ensureRegistry = toolsIn('registry', 'Installing a registry of npm packages');

export const ensureBrowser = programs('Chromium', () => ({
	chromium: BROWSERS.some((path) => existsSync(path)),
}));

/** What speaks, encodes, decodes and plays. */
export const ensureAudioPrograms = programs(
	'programs for sound',
	() => ({
		'espeak-ng': onPath('espeak-ng'),
		lame: onPath('lame'),
		ffmpeg: onPath('ffmpeg'),
		'python3-vlc': existsSync(VLC_FOR_PYTHON),
		'vlc-plugin-base': existsSync(VLC_FOR_PYTHON),
	}),
	// What python3-vlc recommends is the player with its windows.
	'--no-install-recommends',
);

/** The servers of n8n's queue mode, which need not be running. */
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

/** The servers that examples store files on: PostgreSQL and SFTP of the system, S3 from npm. */
export async function ensureStorageServers() {
	await ensureDebianServers();
	await toolsIn('servers', 'Installing an S3 server')();
}
