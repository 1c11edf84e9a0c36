import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/**
 * Packs the package in `project` as npm would publish it, and unpacks it into `target`. `dist` has
 * to be built. Returns the paths of the files in it.
 */
export function packInto(project: string, target: string, temporary: string): string[] {
	const packed = JSON.parse(
		execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', temporary], {
			cwd: project,
			encoding: 'utf8',
			stdio: ['ignore', 'pipe', 'ignore'],
		}),
	);
	// npm 11 and older print a list, npm 12 an object by package name.
	const [{ filename, files }] = Object.values(packed) as [
		{ filename: string; files: Array<{ path: string }> },
	];
	execFileSync('tar', ['-xzf', join(temporary, filename), '-C', target, '--strip-components=1']);
	return files.map(({ path }) => path);
}
