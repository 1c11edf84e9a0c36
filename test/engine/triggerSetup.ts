import type {
	IDataObject,
	INode,
	INodeExecutionData,
	IRun,
	ITriggerResponse,
	WorkflowActivateMode,
} from 'n8n-workflow';
import { core, useBinaryMode } from '../../demo/n8n.mts';
import { findToken } from '../faults/canary.mts';
import { saved as writtenOut } from '../faults/check.mts';
import { eventually } from '../../tools/eventually.mts';
import * as service from '../service/order.mts';
import { misfits, schemaOf } from '../service/schemas.mts';
import { activateTrigger, prepareTrigger, triggerNode } from '../service/triggerNode.mts';
import { begin, credential, node, sim } from './setup';

/** Every event of tasks. */
export const onAll = { events: ['progress', 'completed', 'failed'] };

/** The workflow with the trigger, where it calls another one. */
export const CALLER = 'caller';
/** A node that calls a workflow: if none is named, that of `run` and `begin`. */
export const callOf = (id = 'workflow-under-test'): INode =>
	node(
		{ workflowId: { __rl: true, mode: 'id', value: id } },
		{ name: `Call ${id}`, type: 'n8n-nodes-base.executeWorkflow' },
	);
/** Begins an execution as one that a workflow, the one with the trigger unless given, has called. */
export async function beginCalled(
	subject: Parameters<typeof begin>[0],
	setting?: Parameters<typeof begin>[1],
	workflowId = CALLER,
) {
	const running = await begin(subject, setting);
	running.currentRun().data.parentExecution = { workflowId, executionId: '1' };
	return running;
}

/** One execution that the trigger has started. */
interface Started {
	item: INodeExecutionData;
	key: string | undefined;
	/** Ends the execution, as far as the trigger can see. */
	done(): void;
}

/** What n8n was given. */
interface Given {
	started: Started[];
	errors: Error[];
	saved(): IDataObject;
}

export interface TriggerSetting {
	parameters?: IDataObject;
	credential?: Parameters<typeof credential>[0];
	/** Those that are selected in the node, if not the one that all triggers here have. */
	credentials?: INode['credentials'];
	/** The static data that an earlier activation left. */
	staticData?: IDataObject;
	nodeId?: string;
	nodeName?: string;
	/** Executions end by themselves at once, unless this is true. */
	executionsLast?: boolean;
	/** Other than the one that all triggers here share. */
	workflowId?: string;
	/** What follows the trigger, one node after another. */
	behind?: INode[];
	/** What the last of these, an agent, may call. */
	tools?: INode[];
	/** A second trigger of the workflow, which does not run here, and what follows that one. */
	beside?: INode[];
	/** Who asks; a person who publishes unless given. */
	activationMode?: WorkflowActivateMode;
	/** Runs an execution to its end, instead of none; called for each emission with its number from 0. */
	execute?(item: INodeExecutionData, number: number): Promise<IRun | undefined>;
}

/** Where events do not fit the schema that n8n shows before. */
const wrong: string[] = [];
afterEach(() => expect(wrong.splice(0)).toEqual([]));

const open: Array<Given & { close(): Promise<void> }> = [];
/** Closes all; the token is in nothing that n8n was given. */
afterEach(async () => {
	for (const { started, errors, saved, close } of open.splice(0)) {
		await close();
		const [items, kept] = [started, saved()].map((value) => JSON.stringify(value));
		const places = { items: items!, kept: kept!, errors: writtenOut(errors) };
		expect(findToken(sim.token, places)).toBeUndefined();
	}
	expect(sim.leaks).toEqual([]);
});

/** What n8n needs of a workflow to start its trigger. */
function workflowOf(setting: TriggerSetting) {
	const { parameters = {}, nodeId, workflowId = 'workflow-with-trigger', behind = [] } = setting;
	const { tools, beside, activationMode, nodeName: name = 'Trigger' } = setting;
	const trigger = { ...triggerNode(parameters, nodeId ?? `trigger-${Math.random()}`), name };
	return {
		workflowId,
		tools,
		beside,
		activationMode,
		nodes: [{ ...trigger, credentials: setting.credentials ?? trigger.credentials }, ...behind],
		credential: credential(setting.credential),
	};
}

type Emit = Parameters<typeof activateTrigger>[1];
export type ActiveTrigger = Awaited<ReturnType<typeof activate>>;

/** Activates a workflow with the trigger, as n8n does; rejects with what n8n would show. */
export async function activate(setting: TriggerSetting = {}) {
	const staticData = structuredClone(setting.staticData ?? {});
	const asSaved = () => JSON.parse(JSON.stringify(staticData)) as IDataObject;
	const started: Started[] = [];
	const errors: Error[] = [];
	let saved = asSaved();
	const emit: Emit = (output, _response, ending, key) => {
		const item = output[0]![0]!;
		saved = asSaved();
		const schema = schemaOf('MediaGenerationTrigger')!;
		wrong.push(...misfits(item.json, schema));
		// An entry of the history has all fields that the service sends.
		const own = item.json.task_id === undefined ? [] : Object.keys(item.json);
		wrong.push(...own.filter((name) => !(name in schema.properties!)));
		const done = (run?: IRun) => ending?.resolve(run ?? ({} as IRun));
		started.push({ item, key, done });
		if (setting.execute) {
			setting.execute(item, started.length - 1).then(done, (error: Error) => ending?.reject(error));
		} else if (!setting.executionsLast) done();
	};
	await useBinaryMode('default');
	const response = await activateTrigger({ ...workflowOf(setting), staticData }, emit, (error) =>
		errors.push(error),
	);
	saved = asSaved();
	const until = async (what: string, holds: () => boolean) =>
		await eventually(what, 100_000, holds, 5);
	/** Events as `event task percentage`, in order. */
	const events = () =>
		started.map(({ item: { json } }) => {
			return `${json.event} ${json.task_id} ${json.process_percentage}`;
		});
	const active = {
		started,
		errors,
		events,
		/** What n8n has in its database of the static data: as it was at the last emission, or activation. */
		saved: () => saved,
		/** Resolves once so many executions were started. */
		async has(amount: number) {
			await until(`${amount} executions`, () => started.length >= amount);
			return started;
		},
		/** Resolves once an event has started an execution. */
		until: async (event: string) => await until(event, () => events().includes(event)),
		close: async () => await response.closeFunction?.(),
	};
	open.push(active);
	return active;
}

/** A trigger whose socket is open. */
export async function activateListening(setting: TriggerSetting = {}) {
	const trigger = await activate(setting);
	await sim.waitFor(() => sim.countOpenSockets() === 1);
	return trigger;
}

/** The tasks that a trigger has told of. */
export const told = ({ started }: ActiveTrigger) =>
	new Set(started.map(({ item }) => item.json.task_id));

/** The service has made the sound of a task, or of all. */
export const isMade = (taskId: string) => sim.tasks.get(taskId)!.audioUrl !== undefined;
export const areMade = () => [...sim.tasks.keys()].every(isMade);

/** Listens by hand, as "Execute step" does in the editor. */
export async function listenByHand(setting: TriggerSetting = {}) {
	await useBinaryMode('default');
	const { workflow, node, data } = await prepareTrigger(workflowOf(setting), 'manual');
	const contextOf = (...parts: ConstructorParameters<typeof core.TriggerContext>) =>
		new core.TriggerContext(...parts);
	const engine = new core.TriggersAndPollers();
	const response = (await engine.runTriggerFunction(
		...([workflow, node, contextOf, data, 'manual', 'manual'] as const),
	)) as ITriggerResponse;
	return {
		start: async () => await response.manualTriggerFunction?.(),
		first: response.manualTriggerResponse!.then((data) => data?.[0]?.[0]),
		close: async () => await response.closeFunction?.(),
	};
}

/** Creates a speech task with the service, as anybody could; returns its id. */
export const createTask = async (text: string) => await service.createTask(sim, text);
