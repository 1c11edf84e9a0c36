/*
 * `npm run n8n`: the complete n8n with this package in it, beside the simulated service.
 * `npm run n8n -- --run speak`: runs one example without the editor and prints what came out.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startSimulator, type Simulator } from '../../simulator/simulator.mts';
import { claimFolder } from './claim.mts';
import { fingerprint, stamp } from '../freshness.mjs';
import { whenOrphaned } from '../process.mjs';
import { step } from '../progress.mjs';
import { importExamples, readExamples, type Example } from './examples.mts';
import { execute } from './executions.mts';
import { Instance } from './instance.mts';
import { installPackage, project } from './package.mts';
import { freePorts, isFree } from './ports.mts';
import { OWNER, Rest } from './rest.mts';
import { copyFiles, itemsOf } from './results.mts';

const { values } = parseArgs({
	options: {
		run: { type: 'string' },
	},
});
const EDITOR_PORT = 5678;
const SERVICE_PORT = 8787;

const examples = readExamples();
const chosen = examples.find(({ name }) => name === values.run);
if (values.run !== undefined && !chosen?.runsAlone) {
	const names = examples.filter(({ runsAlone }) => runsAlone).map(({ name }) => name);
	console.error(`No example "${values.run}" runs by itself; these do: ${names.join(', ')}.`);
	process.exit(2);
}

const folder = join(project, '.n8n-instance');
const claim = claimFolder(folder);
if (claim.holder) {
	console.log(
		`n8n is already running: ${claim.holder}. End that one first (Ctrl+C where it runs).`,
	);
	process.exit(chosen ? 1 : 0);
}
let closing: Promise<void> | undefined;
let simulator: Simulator | undefined;
let instance: Instance | undefined;

const close = () =>
	(closing ??= (async () => {
		await instance?.stop();
		await simulator?.close();
	})());

const end = () => {
	if (!closing) console.log('\nClosing …');
	void close().then(() => process.exit(chosen ? 130 : 0));
};
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, end);
whenOrphaned(end);

try {
	simulator = await startService();
	const [other, broker] = (await freePorts(2)) as [number, number];
	const editor = (await isFree(EDITOR_PORT)) ? EDITOR_PORT : other;
	instance = new Instance(folder, { editor, broker });
	await prepare(instance, simulator);
	if (chosen) await runExample(instance, chosen);
	else await openEditor(instance, simulator);
} catch (error) {
	if (!closing) {
		console.error(error instanceof Error ? error.message : error);
		process.exitCode = 1;
	}
}
await close();

/** On its usual ports, or on any others when those are taken. */
async function startService(): Promise<Simulator> {
	const usual = { port: SERVICE_PORT, filePort: SERVICE_PORT + 1 };
	const areFree = (await isFree(usual.port)) && (await isFree(usual.filePort));
	return await startSimulator({ pace: 1, ...(areFree && usual) });
}

async function prepare(n8n: Instance, service: Simulator): Promise<void> {
	await step('Putting the package into n8n', async () => installPackage(folder));
	const imported = stamp(join(folder, 'imported'));
	const state = fingerprint([join(project, 'examples')]) + service.baseUrl;
	if (imported.holds(state)) return;
	await step('Importing the credential and the example workflows', async () => {
		await importExamples(n8n, { apiToken: service.token, baseUrl: service.baseUrl });
	});
	imported.put(state);
}

async function runExample(n8n: Instance, example: Example): Promise<void> {
	console.log(`\n${example.title}  (examples/${example.name}.json)`);
	const rest = await startServer(n8n);
	const run = await step('Running the workflow in n8n', () => execute(rest, example.id));
	const items = itemsOf(run, example.nodeName);
	console.log(`\n"${example.nodeName}" put out ${items.length} item(s):\n`);
	for (const { json } of items) console.log(JSON.stringify(json, null, 2));
	for (const path of copyFiles(n8n, items, join(project, 'out', 'n8n'))) console.log(`→ ${path}`);
}

async function startServer(n8n: Instance): Promise<Rest> {
	await step('Starting n8n', () => n8n.start());
	return await Rest.of(n8n);
}

async function openEditor(n8n: Instance, service: Simulator): Promise<void> {
	await startServer(n8n);
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
