/*
 * Import this before n8n's engine, which reads its settings when it is loaded. It makes n8n log everything into a file.
 */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../../tools/eventually.mts';

const folder = mkdtempSync(join(tmpdir(), 'media-generation-log-'));
process.env.N8N_LOG_LEVEL = 'debug';
process.env.N8N_LOG_OUTPUT = 'file';
process.env.N8N_LOG_FILE_LOCATION = join(folder, 'n8n.log');

const read = () =>
	readdirSync(folder)
		.map((name) => readFileSync(join(folder, name), 'utf8'))
		.join('\n');

/** Resolves with all that n8n and the node have logged so far. */
export async function logged(): Promise<string> {
	const { n8nWorkflow } = await import('../../demo/n8n.mts');
	const last = `End of the log ${randomUUID()}`;
	n8nWorkflow.LoggerProxy.debug(last);
	return await eventually('n8n to log', 30_000, () => read().includes(last) && read(), 20);
}

/** Deletes the log. */
export const removeLog = () => rmSync(folder, { recursive: true, force: true });
