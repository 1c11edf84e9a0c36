import type { ICredentialDataDecryptedObject, IDataObject, INode } from 'n8n-workflow';
import {
	removeEngineFolder,
	type RunningWorkflow,
	type RunOptions,
	runWorkflow,
	startWorkflow,
	type WorkflowFile,
	type WorkflowResult,
} from '../../demo/engine.mts';
import {
	type Simulator,
	type SimulatorOptions,
	startSimulator,
} from '../../simulator/simulator.mts';
import { NODE, node, workflow } from '../faults/workflow.mts';
import { misfits, schemaOf } from '../service/schemas.mts';

export { NODE, node, workflow };
export const HISTORY = '/v1/video/histories';

/** Settings of a node: "On Error" and "Retry On Fail". */
export const CONTINUE = { onError: 'continueRegularOutput' } as const;
export const ERROR_OUTPUT = { onError: 'continueErrorOutput' } as const;
export const RETRY = { retryOnFail: true, maxTries: 2, waitBetweenTries: 0 };

/** The simulator of the current test. */
export let sim: Simulator;
/** What its executions have told the browser. */
export const said: string[] = [];
const abandoned: AbortController[] = [];

beforeEach(async () => await start());

afterEach(async () => {
	for (const execution of abandoned.splice(0)) execution.abort();
	said.length = 0;
	await sim.close();
});

afterAll(() => removeEngineFolder());

/** Lasts until the test ends. */
export { fakeTime } from '../service/fakeTime.mts';
afterEach(() => jest.useRealTimers());

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
		onMessage: (text) => said.push(text),
		...rest,
	};
}

/** Every item that the node puts out fits the schema that n8n shows before. */
function expectSchema(subject: Subject, result: WorkflowResult): void {
	const { resource = 'speech', operation = 'speak' } =
		workflowOf(subject).nodes.find(({ name }) => name === NODE)?.parameters ?? {};
	const schema = schemaOf('MediaGeneration', String(resource), String(operation));
	const items = result.task(NODE)?.data?.main?.[0] ?? [];
	const wrong = items.map(({ json }) => misfits(json, schema ?? {}));
	expect(wrong.flat()).toEqual([]);
}

/** Runs it to the end of the execution. */
export async function run(subject: Subject, setting: Setting = {}): Promise<WorkflowResult> {
	const result = await runWorkflow(optionsFor(subject, setting));
	expectSchema(subject, result);
	return result;
}

/** The same, to be canceled on the way; canceled by itself when the test ends. */
export async function begin(subject: Subject, setting: Setting = {}): Promise<RunningWorkflow> {
	const abort = new AbortController();
	abandoned.push(abort);
	return await startWorkflow({ ...optionsFor(subject, setting), signal: abort.signal });
}

/** Items for the expression `={{ $json.t }}`. */
export const texts = (...all: string[]) => ({ items: all.map((t) => ({ t })) });
export const EACH = '={{ $json.t }}';

/** Parameters of Speech → Text to Speech; a `text` such as `=A [sim:unsafe]` is given as it is. */
export const speech = (text: string, options: IDataObject = {}, more: IDataObject = {}) => ({
	resource: 'speech',
	operation: 'speak',
	text,
	voiceId: { __rl: true, mode: 'id', value: sim.voiceIds()[0] },
	options: { pollInterval: 1, ...options },
	...more,
});

/** Parameters of Speech → Get, Collect or Delete. */
export const task = (operation: string, taskId: unknown, more: IDataObject = {}) => ({
	resource: 'speech',
	operation,
	taskId: taskId as string,
	options: {},
	...more,
});

const generation =
	(resource: string, operation: string) =>
	(prompt: string, options: IDataObject = {}, more: IDataObject = {}) => {
		return { resource, operation, prompt, options, ...more };
	};

/** Parameters of Video → Text to Video, and of Image → Text to Image. */
export const video = generation('video', 'textToVideo');
export const image = generation('image', 'create');

/** Parameters of Voice → Get Many, History → Get Many, and Account → Get. */
export const voices = (more: IDataObject = {}) => ({
	resource: 'voice',
	operation: 'getAll',
	...more,
});
export const history = (more: IDataObject = {}, options: IDataObject = {}) => ({
	resource: 'history',
	operation: 'getAll',
	...more,
	options,
});
export const account = { resource: 'account', operation: 'get' };
