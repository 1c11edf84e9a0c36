import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './cleanup.mts';

/**
 * Packs the package in `project` as npm would publish it, and unpacks it into the folder `target`. `dist`
 * must be built. Returns the paths of the files in it.
 */
export function packInto(project: string, target: string): string[] {
	const folder = temporaryFolder('pack');
	try {
		const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder.path];
		const stdio: ['ignore', 'pipe', 'ignore'] = ['ignore', 'pipe', 'ignore'];
		const packed = JSON.parse(execFileSync('npm', args, { cwd: project, encoding: 'utf8', stdio }));
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

/**
 * The same into a folder in which all that a published node may count on is beside it: the n8n-workflow
 * of `provider`. Returns the package's folder as well.
 */
export function packAlone(project: string, folder: string, provider = project) {
	const target = join(folder, 'node_modules/n8n-nodes-media-generation');
	const files = packInto(project, target);
	const workflow = 'node_modules/n8n-workflow';
	symlinkSync(join(provider, workflow), join(folder, workflow), 'junction');
	return { target, files };
}
