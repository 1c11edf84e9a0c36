import type { ICredentialDataDecryptedObject, IDataObject, INode, IRun } from 'n8n-workflow';
import {
	removeEngineFolder,
	runWorkflow,
	startWorkflow,
	type RunningWorkflow,
	type RunOptions,
	type WorkflowFile,
	type WorkflowResult,
} from '../../demo/engine.mts';
import {
	startSimulator,
	type Simulator,
	type SimulatorOptions,
} from '../../simulator/simulator.mts';
import { inARow } from '../service/triggerNode.mts';

/** Name of the node under test in every workflow built here. */
export const NODE = 'Media Generation';

/** The simulator of the current test. */
export let sim: Simulator;
let abandoned: AbortController[] = [];

beforeEach(async () => await start());

afterEach(async () => {
	for (const execution of abandoned) execution.abort();
	abandoned = [];
	await sim.close();
});

afterAll(() => removeEngineFolder());

/** Starts a simulator with these options, instead of the one that each test begins with. */
export async function start(options: SimulatorOptions = {}): Promise<void> {
	await sim?.close();
	// A token of its own, since the node keeps some state by account.
	const token = `token-${Math.random().toString(36).slice(2, 14)}`;
	sim = await startSimulator({ pace: 0.05, token, ...options });
}

export const credential = (
	changes: ICredentialDataDecryptedObject = {},
): ICredentialDataDecryptedObject => ({
	apiToken: sim.token,
	baseUrl: sim.baseUrl,
	webSocketUrl: '',
	...changes,
});

/** The node under test; `extra` overrides or adds node settings, such as `onError`. */
export const node = (parameters: IDataObject, extra: Partial<INode> = {}): INode => ({
	id: 'node-under-test',
	name: NODE,
	type: 'n8n-nodes-media-generation.mediaGeneration',
	typeVersion: 1,
	position: [220, 0],
	parameters: parameters as INode['parameters'],
	credentials: { mediaGenerationApi: { id: '1', name: 'mediaGenerationApi' } },
	...extra,
});

/** A manual trigger, then the given nodes one after another. */
export function workflow(...nodes: INode[]): WorkflowFile {
	const trigger: INode = {
		id: 'trigger',
		name: 'Start',
		type: 'n8n-nodes-base.manualTrigger',
		typeVersion: 1,
		position: [0, 0],
		parameters: {},
	};
	const all = [trigger, ...nodes];
	return { id: 'workflow-under-test', name: 'Test', nodes: all, connections: inARow(all) };
}

export type Setting = Partial<RunOptions> & {
	/** Shorthand for the credential's fields that differ. */
	credential?: ICredentialDataDecryptedObject;
	/** Shorthand for `input`: the json of each item. */
	items?: IDataObject[];
};

/** Parameters of the node under test, a node, or a whole workflow. */
type Subject = IDataObject | INode | WorkflowFile;

function workflowOf(subject: Subject): WorkflowFile {
	if ('nodes' in subject) return subject as WorkflowFile;
	return workflow('parameters' in subject ? (subject as INode) : node(subject as IDataObject));
}

function optionsFor(subject: Subject, setting: Setting): RunOptions {
	const { credential: changes, items, ...rest } = setting;
	return {
		workflow: workflowOf(subject),
		credentials: { mediaGenerationApi: credential(changes) },
		...(items ? { input: items.map((json) => ({ json })) } : {}),
		...rest,
	};
}

/** Runs it to the end of the execution. */
export async function run(subject: Subject, setting: Setting = {}): Promise<WorkflowResult> {
	return await runWorkflow(optionsFor(subject, setting));
}

/** The same, to be canceled on the way; canceled by itself when the test ends. */
export async function begin(subject: Subject, setting: Setting = {}): Promise<RunningWorkflow> {
	const abort = new AbortController();
	abandoned.push(abort);
	return await startWorkflow({ ...optionsFor(subject, setting), signal: abort.signal });
}

/** Parameters of Speech → Speak; a `text` such as `=A [sim:unsafe]` is given as it is. */
export const speech = (text: string, options: IDataObject = {}, more: IDataObject = {}) => ({
	resource: 'speech',
	operation: 'speak',
	text,
	voiceId: { __rl: true, mode: 'id', value: sim.voiceIds()[0] },
	options: { pollInterval: 1, ...options },
	...more,
});

/** What the node put out. */
export const out = (result: WorkflowResult) => result.items(NODE);

/** Output items, or the node's error thrown, so that a test fails with its words. */
export function good(result: WorkflowResult) {
	if (result.error) throw result.error;
	return out(result);
}

/** The error that ended the execution; throws when there was none. */
export function bad(result: WorkflowResult): {
	message: string;
	description: string;
	name: string;
	itemIndex: number | undefined;
	all: string;
} {
	const { error } = result;
	if (!error) throw new Error(`The execution did not fail: ${JSON.stringify(out(result))}`);
	const { message, description, name } = error;
	const { itemIndex } = error.context as { itemIndex?: number };
	return {
		message,
		description: String(description ?? ''),
		name,
		itemIndex,
		all: `${message} ${description ?? ''}`,
	};
}

/** Everything that n8n would save of a run, as text. */
export function saved(run: IRun): string {
	const seen = new WeakSet();
	return JSON.stringify(run, (_, value: unknown) => {
		if (value instanceof Error) {
			const own = Object.getOwnPropertyNames(value).map((name) => [
				name,
				(value as unknown as Record<string, unknown>)[name],
			]);
			if (seen.has(value)) return '[seen]';
			seen.add(value);
			return Object.fromEntries(own) as unknown;
		}
		if (typeof value === 'object' && value !== null) {
			if (seen.has(value)) return '[seen]';
			seen.add(value);
		}
		return value;
	});
}

/**
 * Waits until the service has neither sockets nor running requests of the node. What stays open stays
 * for long; tests of how soon it ends say within what time.
 */
export async function allClosed(withinMs = 10_000): Promise<void> {
	await sim.waitFor(() => sim.sockets() === 0 && sim.openConnections() === 0, withinMs);
}

/** Requests to one kind of address, in order. */
export const requests = (method: string, pathPrefix: string) =>
	sim.requests.filter((record) => record.method === method && record.path.startsWith(pathPrefix));

export const posts = () => sim.count('POST', '/v1/labs/task');
