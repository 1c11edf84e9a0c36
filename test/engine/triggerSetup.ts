import type { IDataObject, INode, INodeExecutionData, IRun, ITriggerResponse } from 'n8n-workflow';
import type { WorkflowFile } from '../../demo/engine.mts';
import { core, useBinaryMode } from '../../demo/n8n.mts';
import { activateTrigger, inARow, prepareTrigger, triggerNode } from '../service/triggerNode.mts';
import { begin, credential, sim } from './setup';

/** Every event of tasks. */
export const onAll = { events: ['progress', 'completed', 'failed'] };

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

let open: ActiveTrigger[] = [];
afterEach(async () => {
	for (const trigger of open) await trigger.close();
	open = [];
});

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

/** What n8n needs of a workflow to start its trigger. */
function workflowOf(setting: TriggerSetting) {
	const { parameters = {}, nodeId, workflowId = 'workflow-with-trigger', behind = [] } = setting;
	return {
		workflowId,
		nodes: [triggerNode(parameters, nodeId ?? `trigger-${Math.random()}`), ...behind],
		credential: credential(setting.credential),
	};
}

/** Activates a workflow with the trigger, as n8n does; rejects with what n8n would show. */
export async function activate(setting: TriggerSetting = {}): Promise<ActiveTrigger> {
	const staticData = structuredClone(setting.staticData ?? {});
	const asSaved = () => JSON.parse(JSON.stringify(staticData)) as IDataObject;
	const started: Started[] = [];
	const errors: Error[] = [];
	let saved = asSaved();
	let wake = () => {};
	const emitNew = (
		output: INodeExecutionData[][],
		_response: unknown,
		donePromise?: { resolve(run: IRun): void; reject(error: Error): void },
		key?: string,
	) => {
		const item = output[0]![0]!;
		saved = asSaved();
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
	const fail = (error: Error) => {
		errors.push(error);
		wake();
	};
	await useBinaryMode('default');
	const response = await activateTrigger(
		{ ...workflowOf(setting), staticData },
		setting.old ? emitOld : emitNew,
		fail,
	);
	saved = asSaved();
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

/** A trigger whose socket is open. */
export async function activateListening(setting: TriggerSetting = {}): Promise<ActiveTrigger> {
	const trigger = await activate(setting);
	await sim.waitFor(() => sim.sockets() === 1);
	return trigger;
}

/** The tasks that a trigger has told of. */
export const told = ({ started }: ActiveTrigger) =>
	new Set(started.map(({ item }) => item.json.task_id));

/** The service has made the sound of a task, or of all. */
export const isMade = (taskId: string) => sim.tasks.get(taskId)!.audioUrl !== undefined;
export const areMade = () => [...sim.tasks.keys()].every(isMade);

/** Gives what is under way the time to go on: some rounds of the event loop. */
async function settle(): Promise<void> {
	const rounds = sim.openConnections() > 0 ? 60 : 10;
	for (let round = 0; round < rounds; round++) await new Promise((next) => setImmediate(next));
}

/** Lets so many seconds of faked time pass; after each step what is under way goes on. */
export async function pass(seconds: number, step = 1): Promise<void> {
	for (let passed = 0; passed < seconds; passed += step) {
		await jest.advanceTimersByTimeAsync(step * 1000);
		await settle();
	}
}

/** Lets faked time pass until `holds`, and returns how many seconds that took; throws after `most`. */
export async function passUntil(holds: () => boolean, most = 60): Promise<number> {
	for (let seconds = 0; seconds <= most; seconds++) {
		await settle();
		if (holds()) return seconds;
		await jest.advanceTimersByTimeAsync(1000);
	}
	throw new Error(`It did not happen within ${most} s`);
}

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
