/*
 * n8n-core and n8n-workflow, set up to run inside this process without an n8n around them.
 *
 * Both are taken with require: n8n-workflow has an ESM and a CommonJS build, and only with the
 * CommonJS one are its classes the same as those that n8n-core and the built package use.
 */
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// The project's own n8n, or another to test with: MEDIA_GENERATION_ENGINE is a file beside its node_modules.
const require = createRequire(process.env.MEDIA_GENERATION_ENGINE ?? import.meta.url);

// n8n-core keeps an encryption key and binary data under this folder, by default in the home. It
// finds the key there instead of announcing a new one.
const userFolder = mkdtempSync(join(tmpdir(), 'media-generation-engine-'));
const settings = { encryptionKey: randomBytes(24).toString('hex') };
mkdirSync(join(userFolder, '.n8n'));
writeFileSync(join(userFolder, '.n8n', 'config'), JSON.stringify(settings), { mode: 0o600 });
process.env.N8N_USER_FOLDER = userFolder;
// A failed run is reported to the caller; n8n would print it as well.
process.env.N8N_LOG_LEVEL ??= 'silent';

/** Deletes what the engine has stored. Jest never emits `exit`: there, call it in `afterAll`. */
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

/** Requires what n8n-core itself uses. */
export const nearCore = createRequire(require.resolve('n8n-core'));

const { Container } = nearCore('@n8n/di') as {
	Container: { get<T>(type: abstract new (...args: never[]) => T): T };
};

let initialized: Promise<void> | undefined;

/**
 * Sets where binary data goes: into the items (`default`) or into files. One setting for the whole
 * process, as in n8n, so runs in different modes must not overlap.
 */
export async function useBinaryMode(mode: BinaryMode): Promise<void> {
	const service = Container.get(core.BinaryDataService);
	await (initialized ??= service.init());
	Object.assign(service, { mode: mode === 'filesystem' ? 'filesystem-v2' : mode });
}

export const binaryData = () => Container.get(core.BinaryDataService);
