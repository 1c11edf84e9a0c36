import type { IConnections, INode } from 'n8n-workflow';
import type { Simulator } from '../../simulator/simulator.mts';
import { CREDENTIAL } from '../../tools/examples.mts';
import { eventually } from '../../tools/eventually.mts';
import { activate, executionsOf } from '../../tools/n8n/executions.mts';
import type { Rest } from '../../tools/n8n/rest.mts';

/** One execution, as n8n has it. */
export interface Execution {
	id: string;
	status: string;
	/** ISO 8601. */
	startedAt: string;
	/** Everything that n8n has stored of it, as text. */
	data: string;
}

/** What a trigger remembers of its events. */
type Kept = { events: Array<[string, { state: string }]> };

/** A workflow in a running n8n, handled as the editor does it. */
export class RemoteWorkflow {
	readonly id: string;
	private readonly rest: Rest;

	constructor(rest: Rest, id: string) {
		this.rest = rest;
		this.id = id;
	}

	static async create(rest: Rest, workflow: object): Promise<RemoteWorkflow> {
		const { id } = await rest.request('POST', '/rest/workflows', workflow);
		return new RemoteWorkflow(rest, id);
	}

	/** Resolves once its triggers are in place; throws what the editor shows when they can't be. */
	async publish(): Promise<void> {
		await activate(this.rest, this.id);
	}

	async unpublish(): Promise<void> {
		await this.rest.request('POST', `/rest/workflows/${this.id}/deactivate`, {});
	}

	async list() {
		return await executionsOf(this.rest, this.id);
	}

	/** All its executions, with what is stored of each. */
	async executions(): Promise<Execution[]> {
		const executions: Execution[] = [];
		for (const { id, status } of await this.list()) {
			const { data, startedAt } = await this.rest.request('GET', `/rest/executions/${id}`);
			executions.push({ id, status, startedAt, data: String(data) });
		}
		return executions;
	}

	/** Resolves with its executions once this many are over. */
	async ended(amount: number, timeoutMs: number): Promise<Execution[]> {
		return await eventually(`${amount} executions to be over`, timeoutMs, async () => {
			const over = (await this.list()).filter(
				({ status }) => !/^(new|running|waiting)$/.test(status),
			);
			return over.length >= amount ? await this.executions() : undefined;
		});
	}

	/** The tasks that its trigger remembers as under way, as n8n has saved it. */
	async remembered(): Promise<string[]> {
		const { staticData } = await this.rest.request('GET', `/rest/workflows/${this.id}`);
		const rooms = Object.entries<Kept>(staticData?.[`node:${TRIGGER}`] ?? {});
		const kept = rooms.find(([room]) => room.startsWith('tasks'))?.[1].events ?? [];
		return kept.filter(([, { state }]) => state === 'underWay').map(([taskId]) => taskId);
	}
}

/** Puts another credential for the service into n8n; resolves to its id. */
export async function createCredential(
	rest: Rest,
	{ baseUrl }: Pick<Simulator, 'baseUrl'>,
	apiToken: string,
): Promise<string> {
	const body = { name: apiToken, type: 'mediaGenerationApi', data: { apiToken, baseUrl } };
	return (await rest.request('POST', '/rest/credentials', body)).id;
}

const TRIGGER = 'When it happens';

/** A workflow of the trigger and one more node. */
export function triggered(
	name: string,
	parameters: INode['parameters'],
	then: Pick<INode, 'type' | 'typeVersion' | 'parameters'> = NOTHING,
	credentialId = CREDENTIAL.id,
) {
	const nodes = [
		{
			type: 'n8n-nodes-media-generation.mediaGenerationTrigger',
			typeVersion: 1,
			parameters,
			id: 'trigger',
			name: TRIGGER,
			position: [0, 0],
			credentials: { mediaGenerationApi: { id: credentialId, name: 'Any' } },
		},
		{ ...then, id: 'then', name: 'Then', position: [220, 0] },
	];
	const connections: IConnections = {
		[TRIGGER]: { main: [[{ node: 'Then', type: 'main', index: 0 }]] },
	};
	return { name, nodes, connections, settings: { executionOrder: 'v1' } };
}

/** A node that does nothing. */
export const NOTHING = { type: 'n8n-nodes-base.noOp', typeVersion: 1, parameters: {} };

/** A node that rests for a moment. */
export const resting = (seconds: number) => ({
	type: 'n8n-nodes-base.wait',
	typeVersion: 1.1,
	parameters: { amount: seconds },
});
