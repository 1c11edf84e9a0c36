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

/**
 * How many packages a folder's package-lock.json names, whether all of them are in its node_modules by npm's
 * own record, and a function that counts those that are unpacked there already.
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
