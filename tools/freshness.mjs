/* Answers, in milliseconds, whether something has to be installed or built again. */
import { createHash } from 'node:crypto';
import {
	existsSync,
	lstatSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

const hash = (text) => createHash('sha256').update(text).digest('hex');
const read = (path) => (existsSync(path) ? readFileSync(path, 'utf8') : undefined);

/** A file that says for which state of its sources something was made. */
export function stamp(path) {
	return {
		holds: (state) => read(path) === state,
		put(state) {
			mkdirSync(dirname(path), { recursive: true });
			writeFileSync(path, state);
		},
	};
}

/** Name, size and time of every file in the given files and folders. */
export function fingerprint(paths) {
	const lines = [];
	const visit = (path) => {
		const stats = lstatSync(path, { throwIfNoEntry: false });
		if (stats?.isDirectory()) {
			for (const name of readdirSync(path).sort()) visit(join(path, name));
		} else {
			lines.push(`${path} ${stats ? `${stats.size} ${stats.mtimeMs}` : 'missing'}`);
		}
	};
	paths.forEach(visit);
	return hash(lines.join('\n'));
}

/** Whether a folder's node_modules is what its package-lock.json says. */
export function installed(folder) {
	const modules = join(folder, 'node_modules');
	const lock = read(join(folder, 'package-lock.json')) ?? '';
	const mark = stamp(join(modules, '.installed-lock'));
	const state = hash(lock);
	return {
		isCurrent() {
			if (mark.holds(state)) return true;
			// Somebody ran npm himself: npm's own record of what is there is as good.
			const record = read(join(modules, '.package-lock.json'));
			if (!record || !matches(JSON.parse(lock), JSON.parse(record))) return false;
			mark.put(state);
			return true;
		},
		put: () => mark.put(state),
		/** How many packages an installation fetches, at most. */
		size: () => Object.keys(JSON.parse(lock).packages).length - 1,
	};
}

function matches(lock, record) {
	return Object.entries(lock.packages).every(([path, { version, optional, link }]) => {
		if (path === '' || optional || link) return true;
		return record.packages[path]?.version === version;
	});
}
