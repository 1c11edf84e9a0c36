import { randomUUID } from 'node:crypto';
import type {
	IBinaryData,
	IDataObject,
	INode,
	INodeExecutionData,
	IConnections,
	IRun,
	IRunExecutionData,
	ITaskData,
	IWorkflowBase,
	IWorkflowExecuteAdditionalData,
	IWorkflowSettings,
	NodeExecutionHint,
	Workflow,
	WorkflowExecuteMode,
} from 'n8n-workflow';
import { credentialsHelperFor, type Credentials } from './credentials.mts';
import { binaryData, core, n8nWorkflow, useBinaryMode, type BinaryMode } from './n8n.mts';
import { loadPackage, nodeTypesOf, type Loader } from './package.mts';

export { removeEngineFolder } from './n8n.mts';
export { loadPackage } from './package.mts';

/** The parts of an exported workflow that the engine reads. */
export interface WorkflowFile {
	id?: string;
	name?: string;
	nodes: INode[];
	connections: IConnections;
	settings?: IWorkflowSettings;
}

export interface RunOptions {
	workflow: WorkflowFile;
	credentials: Credentials;
	/**
	 * The way in which the execution is started; the default is `manual`, when a person presses the button. Only then
	 * do nodes send messages to the browser.
	 */
	mode?: WorkflowExecuteMode;
	/** The name of the node that a person runs with Execute step. By default, the whole workflow is run. */
	destinationName?: string;
	/** The items that the workflow's trigger outputs; by default one empty item. */
	input?: INodeExecutionData[];
	/** Is called with each message that a node sends to the browser with `sendMessageToUI`. */
	onMessage?: (text: string, nodeName: string) => void;
	/** Cancels the execution when it aborts, as n8n's Stop button does. */
	signal?: AbortSignal;
	binaryMode?: BinaryMode;
	/** An earlier run that has failed. It is run again, as n8n's "Retry execution" does. */
	retryOf?: IRun;
	/** Loads the nodes and credentials; by default those of this package, as built in `dist`. */
	loader?: Loader;
}

export interface WorkflowResult {
	run: IRun;
	/** The error that ended the execution; undefined if it has succeeded. */
	error: IRunExecutionData['resultData']['error'];
	/** Returns the last run of a node; undefined if it has not run. */
	task(nodeName: string): ITaskData | undefined;
	/** Returns the items of the first output of a node in its last run. */
	items(nodeName: string): INodeExecutionData[];
	hints(nodeName: string): NodeExecutionHint[];
	/** Resolves with the bytes of a file, in any binary mode. */
	bytes(file: IBinaryData): Promise<Buffer>;
}

export interface RunningWorkflow {
	/** Settles once the execution is over. A canceled execution is over before its nodes have ended. */
	finished: Promise<WorkflowResult>;
	/** Returns what n8n would save of the execution at this moment. */
	currentRun(): IRun;
	cancel(): void;
}

/** Runs a workflow to its end in n8n's own engine. Also resolves if the workflow fails: see `error` of the result. */
export async function runWorkflow(options: RunOptions): Promise<WorkflowResult> {
	return await (
		await startWorkflow(options)
	).finished;
}

/** Starts a workflow in n8n's own engine. Resolves once it runs, so that the caller can cancel it. */
export async function startWorkflow(options: RunOptions): Promise<RunningWorkflow> {
	await useBinaryMode(options.binaryMode ?? 'default');
	const loader = options.loader ?? (await loadPackage());
	const mode = options.retryOf ? 'retry' : (options.mode ?? 'manual');
	const file = { id: randomUUID(), name: 'Workflow', ...structuredClone(options.workflow) };
	const workflow = new n8nWorkflow.Workflow({
		...file,
		active: false,
		nodeTypes: nodeTypesOf(loader),
	});
	const additionalData = additionalDataFor(file, mode, options, (name) => {
		return loader.getCredential(name).type;
	});
	const engine = new core.WorkflowExecute(
		additionalData,
		mode,
		options.retryOf && dataForRetry(options.retryOf, workflow),
	);
	// n8n evaluates the expressions of an execution in a V8 isolate, which has to be acquired before.
	await workflow.expression.acquireIsolate?.();
	const input = { data: { main: [options.input ?? [{ json: {} }]] } } as unknown as ITaskData;
	const execution = options.retryOf
		? engine.processRunExecutionData(workflow)
		: startEngine(engine, workflow, { name: '', data: input }, options.destinationName);
	const cancel = () => execution.cancel();
	options.signal?.addEventListener('abort', cancel, { once: true });
	if (options.signal?.aborted) cancel();
	const finished = (async () => {
		try {
			return resultOf(await execution);
		} finally {
			options.signal?.removeEventListener('abort', cancel);
			await workflow.expression.releaseIsolate?.();
		}
	})();
	const startedAt = new Date();
	return { finished, cancel, currentRun: () => engine.getFullRunData(startedAt) };
}

type Engine = InstanceType<typeof core.WorkflowExecute>;
type StartOptions = Parameters<Engine['run']>[0];

/** Starts a workflow at its trigger. The parameters of n8n's `run` depend on its version. */
function startEngine(
	engine: Engine,
	workflow: StartOptions['workflow'],
	triggerToStartFrom: StartOptions['triggerToStartFrom'],
	destination?: string,
): ReturnType<Engine['run']> {
	if (engine.run.length <= 1) {
		const destinationNode = destination && { nodeName: destination, mode: 'inclusive' as const };
		return engine.run({
			workflow,
			triggerToStartFrom,
			...(destinationNode && { destinationNode }),
		});
	}
	// In n8n 1.x: run(workflow, startNode, destinationNode, pinData, triggerToStartFrom).
	const run = engine.run.bind(engine) as (...args: unknown[]) => ReturnType<Engine['run']>;
	return run(workflow, undefined, destination, undefined, triggerToStartFrom);
}

function resultOf(run: IRun): WorkflowResult {
	const { runData, error } = run.data.resultData;
	const task = (nodeName: string) => runData[nodeName]?.at(-1);
	return {
		run,
		error,
		task,
		items: (nodeName) => task(nodeName)?.data?.main?.[0] ?? [],
		hints: (nodeName) => task(nodeName)?.hints ?? [],
		bytes: async (file) => await binaryData().getAsBuffer(file),
	};
}

/**
 * Returns the data with which a failed run goes on, as after n8n's "Retry with currently saved workflow": the data of
 * that run without its failure, and with the present nodes of the workflow.
 */
function dataForRetry(failed: IRun, { nodes }: Workflow): IRunExecutionData {
	const data = structuredClone(failed.data);
	for (const waiting of data.executionData?.nodeExecutionStack ?? []) {
		waiting.node = nodes[waiting.node.name] ?? waiting.node;
	}
	const { lastNodeExecuted, runData } = data.resultData;
	delete data.resultData.error;
	const tasks = lastNodeExecuted === undefined ? undefined : runData[lastNodeExecuted];
	if (tasks?.at(-1)?.error) tasks.pop();
	return data;
}

/** Returns the `additionalData` that n8n passes to an execution or to an active trigger. */
export function additionalDataFor(
	file: WorkflowFile & { id: string; name: string },
	mode: WorkflowExecuteMode,
	{ credentials, onMessage }: Pick<RunOptions, 'credentials' | 'onMessage'>,
	credentialType: Parameters<typeof credentialsHelperFor>[0],
): IWorkflowExecuteAdditionalData {
	const executionId = randomUUID();
	const baseUrl = 'http://localhost:5678/';
	const hooks = new core.ExecutionLifecycleHooks(
		mode,
		executionId,
		file as unknown as IWorkflowBase,
	);
	return {
		credentialsHelper: credentialsHelperFor(credentialType, credentials),
		hooks,
		executionId,
		workflowId: file.id,
		currentNodeExecutionIndex: 0,
		variables: {},
		instanceBaseUrl: baseUrl,
		formWaitingBaseUrl: `${baseUrl}form-waiting`,
		webhookWaitingBaseUrl: `${baseUrl}webhook-waiting`,
		setExecutionStatus() {},
		sendDataToUI: (_: string, data: IDataObject) => forwardMessages(data, onMessage),
		logAiEvent() {},
		executeWorkflow: throwUnavailable,
		getRunExecutionData: throwUnavailable,
		getRuntimeCredential: throwUnavailable,
		startRunnerTask: throwUnavailable,
	} as unknown as IWorkflowExecuteAdditionalData;
}

/** Passes the messages of a node to `onMessage`. The source of the messages reads `[Node: "Name"]`. */
function forwardMessages(
	{ source, messages }: IDataObject,
	onMessage: RunOptions['onMessage'],
): void {
	const nodeName = /^\[Node: "(.*)"\]$/s.exec(String(source))?.[1] ?? '';
	for (const message of messages as unknown[]) onMessage?.(String(message), nodeName);
}

async function throwUnavailable(): Promise<never> {
	throw new Error('The embedded engine does not offer this');
}
