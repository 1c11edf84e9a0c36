import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packInto } from '../pack.mts';

export const project = join(import.meta.dirname, '../..');

/**
 * Packs this package and installs it in a user folder of n8n, as n8n's own installer does: unpacked, without the
 * dependencies that users do not get, and listed in `nodes/package.json`. `dist` must be built.
 */
export function installPackage(userFolder: string): void {
	const nodes = join(userFolder, '.n8n', 'nodes');
	const { name } = readJson(join(project, 'package.json'));
	const target = join(nodes, 'node_modules', name);
	rmSync(target, { recursive: true, force: true });
	packInto(project, target);
	const manifest = join(target, 'package.json');
	const { devDependencies, peerDependencies, optionalDependencies, ...kept } = readJson(manifest);
	writeJson(manifest, kept);
	writeJson(join(nodes, 'package.json'), {
		name: 'installed-nodes',
		private: true,
		dependencies: { [name]: kept.version },
	});
}

const readJson = (path: string): Record<string, any> => JSON.parse(readFileSync(path, 'utf8'));

const writeJson = (path: string, value: unknown) =>
	writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);
