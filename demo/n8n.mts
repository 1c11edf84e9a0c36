/*
 * Loads n8n-core and n8n-workflow and sets them up to run in this process, without a complete n8n.
 *
 * Both are loaded with `require`. n8n-workflow has an ESM and a CommonJS build, each with its own classes. n8n-core and
 * the built package use the CommonJS build.
 */
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// Tests of another n8n set MEDIA_GENERATION_ENGINE to the path of a file beside its node_modules. By default, n8n is
// loaded from the node_modules of this project.
const require = createRequire(process.env.MEDIA_GENERATION_ENGINE ?? import.meta.url);

// n8n-core saves an encryption key and binary data in this folder; by default, that is the home folder. The key is
// written here, because n8n-core would create one and print a message about it.
const userFolder = mkdtempSync(join(tmpdir(), 'media-generation-engine-'));
const settings = { encryptionKey: randomBytes(24).toString('hex') };
mkdirSync(join(userFolder, '.n8n'));
writeFileSync(join(userFolder, '.n8n', 'config'), JSON.stringify(settings), { mode: 0o600 });
process.env.N8N_USER_FOLDER = userFolder;
// The caller gets the error of a failed run. Without this setting, n8n would print it, too.
process.env.N8N_LOG_LEVEL ??= 'silent';

/** Deletes what the engine has stored. A test must call it in `afterAll`, because Jest never emits `exit`. */
export function removeEngineFolder(): void {
	rmSync(userFolder, { recursive: true, force: true });
}
process.once('exit', removeEngineFolder);

require('reflect-metadata');

type Core = typeof import('n8n-core');
type N8nWorkflow = typeof import('n8n-workflow');

export const core = require('n8n-core') as Core;
export const n8nWorkflow = require('n8n-workflow') as N8nWorkflow;

export type BinaryMode = 'default' | 'filesystem';

/** Loads a package as n8n-core would load it. */
export const requireFromCore = createRequire(require.resolve('n8n-core'));

const { Container } = requireFromCore('@n8n/di') as {
	Container: { get<T>(type: abstract new (...args: never[]) => T): T };
};

let initialization: Promise<void> | undefined;

/**
 * Sets where the engine stores binary data: in the items (`default`) or in files (`filesystem`). As in n8n, the setting
 * is for the whole process, so runs with different modes must not overlap.
 */
export async function useBinaryMode(mode: BinaryMode): Promise<void> {
	const service = Container.get(core.BinaryDataService);
	await (initialization ??= service.init());
	Object.assign(service, { mode: mode === 'filesystem' ? 'filesystem-v2' : mode });
}

export const binaryData = () => Container.get(core.BinaryDataService);
