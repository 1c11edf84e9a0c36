/* `npm run n8n`: starts the complete n8n with this package, and the simulated service. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startSimulator } from '../../simulator/simulator.mts';
import { fingerprint, stamp } from '../freshness.mjs';
import { freePort, isFree } from '../ports.mts';
import { step } from '../progress.mjs';
import { importExamples } from './examples.mts';
import { Instance } from './instance.mts';
import { installPackage, project } from './package.mts';
import { OWNER, Rest } from './rest.mts';

const EDITOR_PORT = 5678;
const SERVICE_PORT = 8787;

const folder = join(project, '.n8n-instance');
/** This file contains the editor's port while n8n runs. It prevents a second n8n, which would use the same database. */
const portFile = join(folder, 'port');
const runningPort = existsSync(portFile) ? Number(readFileSync(portFile, 'utf8')) : undefined;
if (runningPort !== undefined && !(await isFree(runningPort))) {
	console.error(
		`n8n is already running at http://127.0.0.1:${runningPort}. Stop it first. (If another program uses this port, delete ${portFile}.)`,
	);
	process.exit(1);
}
// The usual ports are used if they are free, otherwise any free ports.
const editor = (await isFree(EDITOR_PORT)) ? EDITOR_PORT : await freePort();
const areFree = (await isFree(SERVICE_PORT)) && (await isFree(SERVICE_PORT + 1));
const usualPorts = { port: SERVICE_PORT, filePort: SERVICE_PORT + 1 };
const service = await startSimulator({ pace: 1, media: 'rendered', ...(areFree && usualPorts) });
const n8n = new Instance(folder, { editor, broker: await freePort() });
writeFileSync(portFile, String(editor));

let closePromise: Promise<void> | undefined;
const close = () =>
	(closePromise ??= Promise.all([n8n.stop(), service.close()]).then(() =>
		rmSync(portFile, { force: true }),
	));
const end = () => {
	if (!closePromise) console.log('\nClosing …');
	void close().then(() => process.exit());
};
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, end);

try {
	await prepare();
	await openEditor();
} catch (error) {
	if (!closePromise) {
		console.error(error instanceof Error ? error.message : error);
		process.exitCode = 1;
	}
}
await close();

async function prepare(): Promise<void> {
	await step('Installing the package in n8n', async () => installPackage(folder));
	const imported = stamp(join(folder, 'imported'));
	const state = fingerprint([join(project, 'examples')]) + service.baseUrl;
	if (imported.holds(state)) return;
	await step('Importing the credential and the example workflows', async () => {
		await importExamples(n8n, { apiToken: service.token, baseUrl: service.baseUrl });
	});
	imported.put(state);
}

async function openEditor(): Promise<void> {
	await step('Starting n8n', () => n8n.start());
	await new Rest(n8n.baseUrl).logIn();
	if (editor !== EDITOR_PORT)
		console.log(`Port ${EDITOR_PORT} is in use, so n8n runs on ${editor}.`);
	console.log(`
  Open         ${n8n.baseUrl}/home/workflows
  Email        ${OWNER.email}
  Password     ${OWNER.password}

  Workflows    those with the tag "Media Generation example", imported from examples/
  Credential   "Media Generation (simulator)" is ready to use; for one of your own:
               API Token  ${service.token}
               Base URL   ${service.baseUrl}
  Files        workflows write to ${n8n.filesFolder}
  Log          ${n8n.logFile}

Next: open ${n8n.baseUrl}/workflow/exampleSpeak, click Execute workflow, double-click "Text to Speech" and play its file.
Ctrl+C stops n8n and the simulated service. What you save in n8n stays in .n8n-instance/; the simulated service forgets everything.`);
	await n8n.whenStopped();
	if (!closePromise) throw new Error(`n8n stopped unexpectedly; see ${n8n.logFile}`);
}
