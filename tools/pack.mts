import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './cleanup.mts';

/**
 * Packs the package in the folder `project` as npm would publish it, and unpacks it into the folder `target`. `dist`
 * must be built. Returns the paths of its files, relative to `target`.
 */
export function packInto(project: string, target: string): string[] {
	const folder = temporaryFolder('pack');
	try {
		const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder.path];
		const stdio: ['ignore', 'pipe', 'ignore'] = ['ignore', 'pipe', 'ignore'];
		const packed = JSON.parse(execFileSync('npm', args, { cwd: project, encoding: 'utf8', stdio }));
		// npm 11 and older print an array. npm 12 prints an object whose keys are the names of the packages.
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
 * Packs the package in the folder `project` and installs it in `folder`. The only other package there is n8n-workflow,
 * from the node_modules of the folder `provider`, because a published node can rely on no other. Returns the package's
 * folder and the paths of its files.
 */
export function installAlone(project: string, folder: string, provider = project) {
	const target = join(folder, 'node_modules/n8n-nodes-media-generation');
	const files = packInto(project, target);
	const workflow = 'node_modules/n8n-workflow';
	symlinkSync(join(provider, workflow), join(folder, workflow), 'junction');
	return { target, files };
}
