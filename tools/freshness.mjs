/* Finds out within milliseconds whether something has to be installed or built again. */
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

/**
 * Returns access to a file that contains the state of the sources from which something was made. `holds` returns true
 * if the file contains that state; `put` writes it.
 */
export function stamp(path) {
	return {
		holds: (state) => read(path) === state,
		put(state) {
			mkdirSync(dirname(path), { recursive: true });
			writeFileSync(path, state);
		},
	};
}

/** Returns a digest of the names, sizes and times of all files in the given files and folders. */
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

/**
 * Compares the package-lock.json of a folder with its node_modules.
 *
 * - `isCurrent`: true if, according to npm's own record, all packages that are not optional are installed.
 * - `size`: how many packages package-lock.json names.
 * - `unpacked()`: how many of them are unpacked in node_modules now.
 */
export function installed(folder) {
	const { packages } = JSON.parse(read(join(folder, 'package-lock.json')));
	const record = read(join(folder, 'node_modules/.package-lock.json'));
	const there = record && JSON.parse(record).packages;
	const isCurrent = Object.entries(packages).every(([path, { version, optional, link }]) => {
		if (path === '' || optional || link) return Boolean(there);
		return there?.[path]?.version === version;
	});
	const paths = Object.keys(packages).filter((path) => path !== '');
	const unpacked = () =>
		paths.filter((path) => existsSync(join(folder, path, 'package.json'))).length;
	return { isCurrent, size: paths.length, unpacked };
}
