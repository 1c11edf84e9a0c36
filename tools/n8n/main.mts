/* `npm run n8n`: the complete n8n with this package in it, beside the simulated service. */
import { join } from 'node:path';
import { startSimulator } from '../../simulator/simulator.mts';
import { fingerprint, stamp } from '../freshness.mjs';
import { freePorts, isFree } from '../ports.mts';
import { whenOrphaned } from '../process.mjs';
import { step } from '../progress.mjs';
import { claimFolder } from './claim.mts';
import { importExamples } from './examples.mts';
import { Instance } from './instance.mts';
import { installPackage, project } from './package.mts';
import { OWNER, Rest } from './rest.mts';

const EDITOR_PORT = 5678;
const SERVICE_PORT = 8787;

const folder = join(project, '.n8n-instance');
const claim = claimFolder(folder);
if (claim.holder) {
	console.log(
		`n8n is already running: ${claim.holder}. End that one first (Ctrl+C where it runs).`,
	);
	process.exit();
}

// On the usual ports, or on any others when those are taken.
const [other, broker] = (await freePorts(2)) as [number, number];
const editor = (await isFree(EDITOR_PORT)) ? EDITOR_PORT : other;
const areFree = (await isFree(SERVICE_PORT)) && (await isFree(SERVICE_PORT + 1));
const usual = { port: SERVICE_PORT, filePort: SERVICE_PORT + 1 };
const service = await startSimulator({ pace: 1, ...(areFree && usual) });
const n8n = new Instance(folder, { editor, broker });

let closing: Promise<void> | undefined;
const close = () => (closing ??= Promise.all([n8n.stop(), service.close()]).then(() => {}));
const end = () => {
	if (!closing) console.log('\nClosing …');
	void close().then(() => process.exit());
};
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, end);
whenOrphaned(end);

try {
	await prepare();
	await openEditor();
} catch (error) {
	if (!closing) {
		console.error(error instanceof Error ? error.message : error);
		process.exitCode = 1;
	}
}
await close();

async function prepare(): Promise<void> {
	await step('Putting the package into n8n', async () => installPackage(folder));
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
	claim.tell(`${n8n.baseUrl}/home/workflows`);
	console.log(`
  Open         ${n8n.baseUrl}/home/workflows
  Email        ${OWNER.email}
  Password     ${OWNER.password}

  Workflows    those named "Media Generation: …", imported from examples/
  Credential   "Media Generation (simulator)" is ready to use; for one of your own:
               API Token  ${service.token}
               Base URL   ${service.baseUrl}
  Files        workflows write to ${n8n.files}
  Log          ${n8n.logFile}

Ctrl+C ends n8n and the service; what you save stays in .n8n-instance/.`);
	await n8n.stopped();
	if (!closing) throw new Error(`n8n ended by itself; see ${n8n.logFile}`);
}
