import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach } from 'node:test';
import { startSimulator, type SimulatorOptions } from '../../simulator/simulator.mts';
import { temporaryFolder } from '../../tools/cleanup.mts';
import { nodeOf, readExample, type FileNode } from '../../tools/examples.mts';
import { importExamples, readExamples } from '../../tools/n8n/examples.mts';
import { MANUAL_TRIGGER_NAME, startByWebhook } from '../../tools/n8n/executions.mts';
import { Instance } from '../../tools/n8n/instance.mts';
import { installPackage } from '../../tools/n8n/package.mts';
import { freePorts } from '../../tools/ports.mts';
import { Rest } from '../../tools/n8n/rest.mts';
import { addWorkflow } from './workflows.mts';

/** In a text: nothing of it is ready before the test says so. */
export const HELD = '[sim:slow=36000]';
/** Long and strange enough that it is nowhere by chance. */
const TOKEN = 'sk-n8ntest-7Qw2ZrXb9LmVtYc4';

/**
 * A fresh complete n8n with the packed package, the credential and the examples in it; `environment`
 * are its variables besides those of every instance. `install` puts the package there.
 */
export async function setUp(
	options: SimulatorOptions = {},
	environment: NodeJS.ProcessEnv = {},
	install: (userFolder: string) => void = installPackage,
) {
	const folder = temporaryFolder('n8n');
	const [editor, broker] = (await freePorts(2)) as [number, number];
	const instance = new Instance(folder.path, { editor, broker }, environment);
	install(folder.path);
	const begin = async () => await instance.start();
	const setting = await equip(instance, options, begin, async () => {
		await instance.stop();
		folder.remove();
	});
	let paidBefore = 0;
	beforeEach(() => void (paidBefore = setting.simulator.chargedCalls));
	/** How many create calls were accepted since the present test began. */
	const paid = () => setting.simulator.chargedCalls - paidBefore;
	return { ...setting, paid };
}

/** Puts the credential for a simulated service, and the examples, into an n8n that is yet to `begin`. */
export async function equip(
	instance: Instance,
	options: SimulatorOptions,
	begin: () => Promise<void>,
	end: () => Promise<void>,
) {
	const simulator = await startSimulator({ pace: 0.1, token: TOKEN, ...options });
	await importExamples(instance, { apiToken: TOKEN, baseUrl: simulator.baseUrl });
	const rest = new Rest(instance.baseUrl);
	const add = async (workflow: object) => await addWorkflow(rest, workflow);
	return {
		instance,
		simulator,
		/** As the owner, once n8n is started. */
		rest,
		/** Starts n8n, and logs in. */
		async start() {
			await begin();
			await rest.logIn();
		},
		/** Ends n8n and the service. */
		async close() {
			await end();
			await simulator.close();
		},
		/** Puts a workflow into the running n8n. */
		add,
		/** The same with another credential for the service; resolves to its id. */
		async addCredential(apiToken: string): Promise<string> {
			const data = { apiToken, baseUrl: simulator.baseUrl };
			const body = { name: apiToken, type: 'mediaGenerationApi', data };
			return (await rest.request('POST', '/rest/credentials', body)).id;
		},
		/**
		 * Puts a copy of an example there, published, with a webhook in place of its trigger; resolves to
		 * what calls that, with a body, and resolves to the execution's id.
		 */
		async addOnCall(name: string, change: Change, trigger = MANUAL_TRIGGER_NAME) {
			const path = randomUUID();
			const parameters = { httpMethod: 'POST', path, responseMode: 'onReceived' };
			const webhook = { type: 'n8n-nodes-base.webhook', typeVersion: 2, webhookId: path };
			const workflow = changedExample(name, (node, settings) => {
				Object.assign(node(trigger), { ...webhook, parameters });
				change(node, settings);
			});
			const remote = await add(workflow);
			await remote.publish();
			return async (body = {}) => await startByWebhook(rest, remote.id, path, body);
		},
		lastTask: () => [...simulator.tasks.values()].at(-1)!,
		/** What a workflow has written to the disk. */
		written: (name: string) => readFileSync(join(instance.filesFolder, name)),
		/** Asserts that the service serves exactly these bytes at an address. */
		assertServed(address: unknown, bytes: Buffer) {
			const served = simulator.fileBytes(String(address));
			assert.ok(served?.equals(bytes), `it is the file at ${address}`);
		},
	};
}

export const example = (wantedName: string) =>
	readExamples().find(({ name }) => name === wantedName) ?? assert.fail(`No example ${wantedName}`);

/** Changes an example's nodes and settings. */
type Change = (node: (name: string) => FileNode, settings: Record<string, unknown>) => void;

/** A copy of an example, ready for n8n, which gives it an id and has its own of its tags. */
export function changedExample(
	name: string,
	change: Change = () => {},
): { name: string; nodes: FileNode[] } {
	const { id: _, tags: __, ...workflow } = readExample(example(name).path);
	change((wantedName) => nodeOf(workflow, wantedName), workflow.settings);
	return workflow;
}

/** The files under a folder that contain a text, whatever kind of file they are. */
export function filesWith(text: string, folder: string): string[] {
	return readdirSync(folder, { recursive: true, withFileTypes: true })
		.filter((entry) => entry.isFile())
		.map((entry) => join(entry.parentPath, entry.name))
		.filter((path) => readFileSync(path).includes(text));
}
