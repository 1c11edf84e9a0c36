import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
	startSimulator,
	type Simulator,
	type SimulatorOptions,
} from '../../simulator/simulator.mts';
import { temporaryFolder } from '../../tools/cleanup.mts';
import { nodeOf, readExample, type FileNode } from '../../tools/examples.mts';
import { importExamples, readExamples } from '../../tools/n8n/examples.mts';
import { Instance } from '../../tools/n8n/instance.mts';
import { installPackage } from '../../tools/n8n/package.mts';
import { freePorts } from '../../tools/ports.mts';
import { Rest } from '../../tools/n8n/rest.mts';

/** In a text: nothing of it is ready before the test says so. */
export const HELD = '[sim:slow=36000]';
/** Long and strange enough that it is nowhere by chance. */
const TOKEN = 'sk-n8ntest-7Qw2ZrXb9LmVtYc4';

export interface Setting {
	instance: Instance;
	simulator: Simulator;
	/** As the owner, once n8n is started. */
	rest: Rest;
	/** Starts n8n, with environment variables for this time if there are any, and logs in. */
	start(environment?: NodeJS.ProcessEnv): Promise<void>;
	close(): Promise<void>;
}

/**
 * A fresh complete n8n with the packed package, the credential and the examples in it; `environment`
 * are its variables besides those of every instance. `install` puts the package there.
 */
export async function setUp(
	options: SimulatorOptions = {},
	environment: NodeJS.ProcessEnv = {},
	install: (userFolder: string) => void = installPackage,
): Promise<Setting> {
	const folder = temporaryFolder('n8n');
	const simulator = await startSimulator({ pace: 0.1, token: TOKEN, ...options });
	const [editor, broker] = (await freePorts(2)) as [number, number];
	const instance = new Instance(folder.path, { editor, broker }, environment);
	const rest = new Rest(instance.baseUrl);
	const start = async (extra?: NodeJS.ProcessEnv) => {
		await instance.start(extra);
		await rest.logIn();
	};
	const close = async () => {
		await instance.stop();
		await simulator.close();
		folder.remove();
	};
	try {
		install(folder.path);
		await importExamples(instance, { apiToken: TOKEN, baseUrl: simulator.baseUrl });
	} catch (error) {
		await close();
		throw error;
	}
	return { instance, simulator, rest, start, close };
}

export function example(name: string) {
	const found = readExamples().find((candidate) => candidate.name === name);
	if (!found) throw new Error(`There is no example ${name}`);
	return found;
}

/** Changes an example's nodes and settings. */
type Change = (node: (name: string) => FileNode, settings: Record<string, unknown>) => void;

/** A copy of an example, ready for n8n, which gives it an id. */
export function changedExample(name: string, change: Change = () => {}): { name: string } {
	const { id: _, ...workflow } = readExample(example(name).path);
	change((wanted) => nodeOf(workflow, wanted), workflow.settings);
	return workflow;
}

/** The files under a folder that contain a text, whatever kind of file they are. */
export function filesWith(text: string, folder: string): string[] {
	return readdirSync(folder, { recursive: true, withFileTypes: true })
		.filter((entry) => entry.isFile())
		.map((entry) => join(entry.parentPath, entry.name))
		.filter((path) => readFileSync(path).includes(text));
}
