import { setTimeout as pause } from 'node:timers/promises';
import type { IConnections, INode } from 'n8n-workflow';
import type { Simulator } from '../../simulator/simulator.mts';
import { CREDENTIAL } from '../../tools/examples.mts';
import type { Rest } from '../../tools/n8n/rest.mts';

/** How often it is looked for what n8n tells nobody. */
const LOOK_MS = 150;

/** One execution, as n8n has it. */
export interface Execution {
	id: string;
	status: string;
	/** ISO 8601. */
	startedAt: string;
	/** Everything that n8n has stored of it, as text. */
	data: string;
}

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

	/** n8n answers at once and starts the trigger in the background: see `status`. */
	async publish(): Promise<void> {
		const { versionId } = await this.rest.request('GET', `/rest/workflows/${this.id}`);
		await this.rest.request('POST', `/rest/workflows/${this.id}/activate`, { versionId });
	}

	async unpublish(): Promise<void> {
		await this.rest.request('POST', `/rest/workflows/${this.id}/deactivate`, {});
	}

	/** What the editor shows of the triggers of a published workflow. */
	async status(): Promise<{ status: string; message: string }> {
		const path = `/rest/workflows/${this.id}/publication-status`;
		const { status, triggers } = await this.rest.request('GET', path);
		const messages = triggers.map(({ errorMessage }: { errorMessage?: string }) => errorMessage);
		return { status, message: messages.filter(Boolean).join('\n') };
	}

	/** Resolves when n8n has come to an end with publishing, whichever. */
	async settled(): Promise<{ status: string; message: string }> {
		return await eventually('the publication to be settled', 30_000, async () => {
			const status = await this.status();
			return /^(published|failed)$/.test(status.status) ? status : undefined;
		});
	}

	/** Ids and states of all its executions, page by page. */
	async list(): Promise<Array<{ id: string; status: string }>> {
		const found = [];
		let cursor: string | null = null;
		do {
			const filter = JSON.stringify({ workflowId: this.id });
			const query = new URLSearchParams({ limit: '100', filter, ...(cursor && { cursor }) });
			const page = await this.rest.request('GET', `/rest/executions?${query}`);
			found.push(...page.results);
			cursor = page.nextCursor;
		} while (cursor);
		return found;
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

	/** Resolves with its executions once so many are over. */
	async ended(amount: number, timeoutMs: number): Promise<Execution[]> {
		return await eventually(`${amount} executions to be over`, timeoutMs, async () => {
			const over = (await this.list()).filter(({ status }) => !/^(new|running)$/.test(status));
			return over.length >= amount ? await this.executions() : undefined;
		});
	}

	/** The tasks that its trigger remembers as under way, as n8n has saved it. */
	async remembered(): Promise<string[]> {
		const { staticData } = await this.rest.request('GET', `/rest/workflows/${this.id}`);
		return Object.keys(staticData?.[`node:${TRIGGER}`]?.underWay ?? {});
	}
}

const TRIGGER = 'When it happens';

/** A workflow of the trigger and one more node. */
export function triggered(
	name: string,
	parameters: INode['parameters'],
	then: Pick<INode, 'type' | 'typeVersion' | 'parameters'>,
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

/** Creates a speech task with the service itself, as anybody could; returns its id. */
export async function createTask(
	{ baseUrl, token, voiceIds }: Simulator,
	text: string,
): Promise<string> {
	const response = await fetch(`${baseUrl}/v1/labs/task`, {
		method: 'POST',
		headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
		body: JSON.stringify({ input: text, voice_id: voiceIds()[0], model_id: 'labs_v3' }),
	});
	return (await response.json()).task_id;
}

/** Looks until something is there; rejects after `timeoutMs`. */
export async function eventually<T>(
	what: string,
	timeoutMs: number,
	look: () => Promise<T | undefined> | T | undefined,
): Promise<T> {
	const end = Date.now() + timeoutMs;
	for (;;) {
		const found = await look();
		if (found !== undefined) return found;
		if (Date.now() > end) throw new Error(`Waited ${timeoutMs} ms in vain for ${what}`);
		await pause(LOOK_MS);
	}
}
