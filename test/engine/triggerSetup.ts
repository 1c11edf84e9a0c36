import type {
	IConnections,
	IDataObject,
	INode,
	INodeExecutionData,
	IRun,
	ITriggerResponse,
	Workflow,
} from 'n8n-workflow';
import { additionalDataFor, type WorkflowFile } from '../../demo/engine.mts';
import { core, n8nWorkflow, useBinaryMode } from '../../demo/n8n.mts';
import { loadPackage, nodeTypesOf } from '../../demo/package.mts';
import { begin, credential, sim } from './setup';

/** One execution that the trigger has started. */
export interface Started {
	item: INodeExecutionData;
	key: string | undefined;
	/** Ends the execution, as far as the trigger can see. */
	done(): void;
}

export interface TriggerSetting {
	parameters?: IDataObject;
	credential?: Parameters<typeof credential>[0];
	/** The static data that an earlier activation left. */
	staticData?: IDataObject;
	nodeId?: string;
	/** Executions end by themselves at once, unless this is true. */
	executionsLast?: boolean;
	/** An n8n that knows no deduplication key. */
	old?: boolean;
	/** Other than the one that all triggers here share. */
	workflowId?: string;
	/** What follows the trigger, one node after another. */
	behind?: INode[];
	/** Runs an execution to its end, instead of none; called for each emission with its number from 0. */
	execute?(item: INodeExecutionData, number: number): Promise<IRun | undefined>;
}

export interface ActiveTrigger {
	started: Started[];
	/** Events as `event task percentage`, in order. */
	events(): string[];
	/** Resolves once so many executions were started. */
	has(amount: number, withinMs?: number): Promise<Started[]>;
	/** Resolves once an event has started an execution. */
	until(event: string): Promise<void>;
	/** What n8n has in its database of the static data: as it was at the last emission, or activation. */
	saved(): IDataObject;
	errors: Error[];
	/** Resolves with the error that ended the trigger. */
	failed(): Promise<Error>;
	close(): Promise<void>;
}

/** Only timers are faked from now on, until the test ends: the service is real. */
export const fakeTime = () =>
	jest.useFakeTimers({
		doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance', 'hrtime'],
	});
afterEach(() => jest.useRealTimers());

let open: ActiveTrigger[] = [];
afterEach(async () => {
	for (const trigger of open) await trigger.close();
	open = [];
});

const triggerNode = (parameters: IDataObject, id = `trigger-${Math.random()}`): INode => ({
	id,
	name: 'Trigger',
	type: 'n8n-nodes-media-generation.mediaGenerationTrigger',
	typeVersion: 1,
	position: [0, 0],
	parameters: { ...parameters } as INode['parameters'],
	credentials: { mediaGenerationApi: { id: '1', name: 'mediaGenerationApi' } },
});

async function workflowWith(
	trigger: INode,
	staticData: IDataObject,
	{ workflowId = 'workflow-with-trigger', behind = [] }: TriggerSetting = {},
): Promise<Workflow> {
	await useBinaryMode('default');
	return new n8nWorkflow.Workflow({
		id: workflowId,
		name: 'Triggered',
		nodes: [trigger, ...behind],
		connections: inARow([trigger, ...behind]),
		active: true,
		nodeTypes: nodeTypesOf(await loadPackage()),
		staticData,
	});
}

/** The connections of nodes one after another. */
const inARow = (nodes: INode[]): IConnections =>
	Object.fromEntries(
		nodes
			.slice(1)
			.map(({ name }, index) => [
				nodes[index]!.name,
				{ main: [[{ node: name, type: 'main' as const, index: 0 }]] },
			]),
	);

/** A workflow as n8n has it when it is published: the trigger, and a node that creates more behind it. */
export function creating(
	id: string,
	parameters: IDataObject,
	creator: INode,
): WorkflowFile & { id: string } {
	const nodes = [triggerNode(parameters), creator];
	return { id, nodes, connections: inARow(nodes) };
}

/** What the trigger of a workflow starts, in this process as in n8n's regular mode. */
export function executed(workflow: WorkflowFile & { id: string }): TriggerSetting {
	const [trigger, ...behind] = workflow.nodes;
	return {
		workflowId: workflow.id,
		parameters: trigger!.parameters as IDataObject,
		behind,
		execute: async (item) => {
			const execution = await begin(workflow, { mode: 'trigger', input: [item] });
			return (await execution.finished).run;
		},
	};
}

async function dataFor(mode: 'trigger' | 'manual', setting: TriggerSetting) {
	const loader = await loadPackage();
	return additionalDataFor(
		{ id: 'workflow-with-trigger', name: 'Triggered', nodes: [], connections: {} },
		mode,
		{ credentials: { mediaGenerationApi: credential(setting.credential) } },
		(name) => loader.getCredential(name).type,
	);
}

/** Activates a workflow with the trigger, as n8n does; rejects with what n8n would show. */
export async function activate(setting: TriggerSetting = {}): Promise<ActiveTrigger> {
	const trigger = triggerNode(setting.parameters ?? {}, setting.nodeId);
	const staticData = structuredClone(setting.staticData ?? {});
	const workflow = await workflowWith(trigger, staticData, setting);
	const additionalData = await dataFor('trigger', setting);
	const started: Started[] = [];
	const errors: Error[] = [];
	let saved = structuredClone(setting.staticData ?? {});
	let wake = () => {};
	const emitNew = (
		output: INodeExecutionData[][],
		_response: unknown,
		donePromise?: { resolve(run: IRun): void; reject(error: Error): void },
		key?: string,
	) => {
		const item = output[0]![0]!;
		saved = JSON.parse(JSON.stringify(workflow.staticData)) as IDataObject;
		const done = () => donePromise?.resolve({} as IRun);
		started.push({ item, key, done });
		if (setting.execute) {
			const run = setting.execute(item, started.length - 1);
			run.then(
				(ended) => donePromise?.resolve(ended as IRun),
				(error: Error) => donePromise?.reject(error),
			);
		} else if (!setting.executionsLast) done();
		wake();
	};
	const emitOld = (data: INodeExecutionData[][], response: unknown, done?: never) =>
		emitNew(data, response, done);
	const context = new core.TriggerContext(
		workflow,
		trigger,
		additionalData,
		'trigger',
		'activate',
		setting.old ? emitOld : emitNew,
		(error: Error) => {
			errors.push(error);
			wake();
		},
	);
	const type = workflow.nodeTypes.getByNameAndVersion(trigger.type, 1);
	const response = (await type.trigger!.call(context)) as ITriggerResponse;
	saved = JSON.parse(JSON.stringify(workflow.staticData)) as IDataObject;
	const until = async (what: string, holds: () => boolean, withinMs: number) => {
		const end = Date.now() + withinMs;
		while (!holds()) {
			const rest = end - Date.now();
			if (rest <= 0) throw new Error(`${what} did not happen: ${JSON.stringify(events())}`);
			await new Promise<void>((resolve) => {
				wake = resolve;
				setTimeout(resolve, rest).unref();
			});
		}
	};
	const events = () =>
		started.map(({ item: { json } }) => {
			return `${json.event} ${json.task_id} ${json.process_percentage}`;
		});
	const active: ActiveTrigger = {
		started,
		errors,
		events,
		saved: () => saved,
		async has(amount, withinMs = 100_000) {
			await until(`${amount} executions`, () => started.length >= amount, withinMs);
			return started;
		},
		until: async (event) => await until(event, () => events().includes(event), 100_000),
		async failed() {
			await until('the end', () => errors.length > 0, 40_000);
			return errors[0]!;
		},
		close: async () => await response.closeFunction?.(),
	};
	open.push(active);
	return active;
}

/** Listens by hand, as "Execute step" does in the editor. */
export async function listenByHand(setting: TriggerSetting = {}) {
	const trigger = triggerNode(setting.parameters ?? {}, setting.nodeId);
	const workflow = await workflowWith(trigger, {});
	const additionalData = await dataFor('manual', setting);
	const engine = new core.TriggersAndPollers();
	const response = (await engine.runTriggerFunction(
		workflow,
		trigger,
		(...parts: ConstructorParameters<typeof core.TriggerContext>) =>
			new core.TriggerContext(...(parts as [never, never, never, never, never])),
		additionalData,
		'manual',
		'manual',
	)) as ITriggerResponse;
	return {
		start: async () => await response.manualTriggerFunction?.(),
		first: response.manualTriggerResponse!.then((data) => data?.[0]?.[0]),
		close: async () => await response.closeFunction?.(),
	};
}

/** Creates a speech task with the service, as anybody could; returns its id. */
export async function createTask(text: string): Promise<string> {
	const response = await fetch(`${sim.baseUrl}/v1/labs/task`, {
		method: 'POST',
		headers: { authorization: `Bearer ${sim.token}`, 'content-type': 'application/json' },
		body: JSON.stringify({
			input: text,
			voice_id: sim.voiceIds()[0],
			model_id: 'labs_multilingual_v2',
		}),
	});
	const { task_id: taskId } = (await response.json()) as { task_id: string };
	return taskId;
}

/** A message as the service pushes it. */
export const message = (taskId: string, percentage: number) => ({
	type: 'labs_status_updated',
	payload: { task_id: taskId, process_percentage: percentage },
});
