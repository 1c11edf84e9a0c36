import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packInto } from '../pack.mts';

export const project = join(dirname(fileURLToPath(import.meta.url)), '../..');

/**
 * Puts the packed package where n8n's own installer puts one, in the way it does: unpacked, without
 * the dependencies that a user does not get, and listed in `nodes/package.json`.
 */
export function installPackage(userFolder: string): void {
	const temporary = mkdtempSync(join(tmpdir(), 'media-generation-pack-'));
	try {
		const nodes = join(userFolder, '.n8n', 'nodes');
		const { name } = readJson(join(project, 'package.json'));
		const target = join(nodes, 'node_modules', String(name));
		rmSync(target, { recursive: true, force: true });
		mkdirSync(target, { recursive: true });
		packInto(project, target, temporary);
		const { devDependencies, peerDependencies, optionalDependencies, ...kept } = readJson(
			join(target, 'package.json'),
		);
		writeJson(join(target, 'package.json'), kept);
		writeJson(join(nodes, 'package.json'), {
			name: 'installed-nodes',
			private: true,
			dependencies: { [String(name)]: kept.version },
		});
	} finally {
		rmSync(temporary, { recursive: true, force: true });
	}
}

const readJson = (path: string): Record<string, unknown> => JSON.parse(readFileSync(path, 'utf8'));

const writeJson = (path: string, value: unknown) =>
	writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);
