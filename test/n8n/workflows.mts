import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { IConnections, IDataObject, INode } from 'n8n-workflow';
import type { Simulator } from '../../simulator/simulator.mts';
import { CREDENTIAL } from '../../tools/examples.mts';
import { eventually } from '../../tools/eventually.mts';
import { activate, runManually, executionsOf } from '../../tools/n8n/executions.mts';
import type { Rest } from '../../tools/n8n/rest.mts';
import { createTask } from '../service/order.mts';

/** One execution, as n8n has it. */
export interface Execution {
	id: string;
	status: string;
	/** Everything that n8n has stored of it, as text. */
	data: string;
}

/** What a trigger remembers of its events. */
type Kept = { events: Array<[string, { state: string }]> };

export type RemoteWorkflow = ReturnType<typeof remoteWorkflow>;

/** A workflow in a running n8n, handled as the editor does it. */
export function remoteWorkflow(rest: Rest, id: string) {
	const list = async () => await executionsOf(rest, id);
	/** All its executions, with what is stored of each. */
	async function executions(): Promise<Execution[]> {
		const all: Execution[] = [];
		for (const { id, status } of await list()) {
			const { data } = await rest.request('GET', `/rest/executions/${id}`);
			all.push({ id, status, data: String(data) });
		}
		return all;
	}
	/** Resolves with its executions once this many are over. */
	const ended = async (amount: number, timeoutMs = 60_000): Promise<Execution[]> =>
		await eventually(`${amount} executions to be over`, timeoutMs, async () => {
			const finished = (await list()).filter(
				({ status }) => !/^(new|running|waiting)$/.test(status),
			);
			return finished.length >= amount && (await executions());
		});
	return {
		id,
		list,
		ended,
		/** Runs it by hand, to its end; throws why unless it succeeds. */
		run: async (trigger?: string) => await runManually(rest, id, trigger),
		/** Resolves once its triggers are in place; throws what the editor shows when they can't be. */
		publish: async () => await activate(rest, id),
		async unpublish(): Promise<void> {
			await rest.request('POST', `/rest/workflows/${id}/deactivate`, {});
		},
		/** Asserts that it has been executed once for each of these ids, and not once more. */
		async startedOnceEach(ids: string[], timeoutMs = 120_000): Promise<void> {
			// When some are missing, the assertions below say more than a timeout.
			const all = await ended(ids.length, timeoutMs).catch(executions);
			const of = (id: string) => all.filter(({ data }) => data.includes(`"${id}"`)).length;
			const wrong = ids.map((id) => `${id}: ${of(id)}`).filter((amount) => !amount.endsWith(': 1'));
			assert.deepEqual(wrong, []);
			assert.equal(all.length, ids.length);
		},
		/** Whether n8n has saved that its trigger remembers all these tasks as under way. */
		async remembers(taskIds: string[]): Promise<boolean> {
			const { staticData } = await rest.request('GET', `/rest/workflows/${id}`);
			const rooms = Object.entries<string>(staticData?.[`node:${TRIGGER}`] ?? {});
			const [, text] = rooms.find(([namespace]) => namespace.startsWith('tasks')) ?? [];
			const saved = new Map((text ? (JSON.parse(text) as Kept) : undefined)?.events);
			return taskIds.every((taskId) => saved.get(taskId)?.state === 'tracking');
		},
	};
}

/** Puts a workflow into a running n8n. */
export async function addWorkflow(rest: Rest, workflow: object): Promise<RemoteWorkflow> {
	const { id } = await rest.request('POST', '/rest/workflows', workflow);
	return remoteWorkflow(rest, id);
}

/** Speech tasks that a published workflow of the trigger is to be started by. */
export function followTasks(simulator: Simulator, workflow: RemoteWorkflow) {
	const finished: string[] = [];
	/** Asserts that each task that has ended has started one execution, and nothing else has. */
	const startedOnceEach = async () => await workflow.startedOnceEach(finished);
	/** Tasks that are heard of at once, and are under way until `end`. */
	async function create(amount: number): Promise<string[]> {
		const text = '[sim:messages-first] [sim:slow=36000]';
		const all = Array.from({ length: amount }, () => createTask(simulator, text));
		return await Promise.all(all);
	}
	return {
		startedOnceEach,
		create,
		/** The same, once n8n has saved that they are under way, and everything that ended was told of. */
		async begin(amount: number): Promise<string[]> {
			const startedIds = await create(amount);
			// n8n saves what a trigger remembers whenever that starts an execution, and only then.
			finished.push(await createTask(simulator, 'Short.'));
			await startedOnceEach();
			await eventually('all to be saved', 60_000, () => workflow.remembers(startedIds));
			return startedIds;
		},
		end(taskIds: string[]): void {
			for (const id of taskIds) simulator.endTask(id);
			finished.push(...taskIds);
		},
	};
}

/** A node of this type, with a name of its own. */
export const node = (
	name: string,
	type: string,
	typeVersion: number,
	parameters: IDataObject = {},
	more: Partial<INode> = {},
): INode => ({
	...{ id: randomUUID(), name, type, typeVersion, position: [0, 0] },
	parameters: parameters as INode['parameters'],
	...more,
});

/** A workflow of nodes one after another; the last of them uses others. */
export function workflowOf(
	name: string,
	row: INode[],
	used: { ai_tool?: INode[]; ai_languageModel?: INode[] } = {},
) {
	const connections: IConnections = {};
	const connect = (from: INode, to: INode, type: 'main' | keyof typeof used) => {
		connections[from.name] = { [type]: [[{ node: to.name, type, index: 0 }]] };
	};
	for (const [at, one] of row.slice(1).entries()) connect(row[at]!, one, 'main');
	for (const type of ['ai_tool', 'ai_languageModel'] as const) {
		for (const one of used[type] ?? []) connect(one, row.at(-1)!, type);
	}
	const nodes = [...row, ...Object.values(used).flat()];
	return { name, nodes, connections, settings: { executionOrder: 'v1' } };
}

const TRIGGER = 'When it happens';

/** A workflow of the trigger, without files unless given, and one more node, which does nothing unless given. */
export function triggered(
	name: string,
	parameters: IDataObject,
	then = node('Then', 'n8n-nodes-base.noOp', 1),
	credentialId = CREDENTIAL.id,
) {
	const type = 'n8n-nodes-media-generation.mediaGenerationTrigger';
	const credentials = { mediaGenerationApi: { id: credentialId, name: 'Any' } };
	const all = { download: false, ...parameters };
	return workflowOf(name, [node(TRIGGER, type, 1, all, { credentials }), then]);
}

/** Publishes a trigger, adds this node behind it, which n8n 2.41 does not restart then, and publishes that. */
export async function publishThenAdd(rest: Rest, name: string, added: INode) {
	const published = triggered(name, {});
	const workflow = await addWorkflow(rest, published);
	await workflow.publish();
	const extended = workflowOf(name, [published.nodes[0]!, added]);
	await rest.request('PATCH', `/rest/workflows/${workflow.id}`, extended);
	await workflow.publish();
	return workflow;
}

/** A node that speaks this text. */
export function speaking(simulator: Simulator, text: string): INode {
	const type = 'n8n-nodes-media-generation.mediaGeneration';
	const credentials = { mediaGenerationApi: { id: CREDENTIAL.id, name: 'Any' } };
	const voiceId = { __rl: true, mode: 'id', value: simulator.voiceIds()[0] };
	return node('Speak', type, 1, { text, voiceId, download: false }, { credentials });
}

/** A node that rests for a moment. */
export const resting = (amount: number) => node('Then', 'n8n-nodes-base.wait', 1.1, { amount });
