import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './cleanup.mts';

/**
 * Packs the package in `project` as npm would publish it, and unpacks it into the folder `target`. `dist`
 * must be built. Returns the paths of the files in it.
 */
export function packInto(project: string, target: string): string[] {
	const folder = temporaryFolder('pack');
	try {
		const packed = JSON.parse(
			execFileSync(
				'npm',
				['pack', '--json', '--ignore-scripts', '--pack-destination', folder.path],
				{
					cwd: project,
					encoding: 'utf8',
					stdio: ['ignore', 'pipe', 'ignore'],
				},
			),
		);
		// npm 11 and older print a list, npm 12 an object by package name.
		const [{ filename, files }] = Object.values(packed) as [
			{ filename: string; files: Array<{ path: string }> },
		];
		mkdirSync(target, { recursive: true });
		const tarball = join(folder.path, filename);
		execFileSync('tar', ['-xzf', tarball, '-C', target, '--strip-components=1']);
		return files.map(({ path }) => path);
	} finally {
		folder.remove();
	}
}
