import type { IConnections, INode } from 'n8n-workflow';

/** A node, without what does not matter here: its identifier and its place on the canvas. */
export type Step = Pick<INode, 'name' | 'type' | 'typeVersion' | 'parameters'> &
	Partial<Pick<INode, 'credentials'>>;

export interface Workflow {
	name: string;
	nodes: INode[];
	connections: IConnections;
	settings: object;
	/** The node whose output counts. */
	output: string;
}

/** Where an output of a node leads to; without a list, the steps follow each other. */
export type Lines = Array<[from: string, to: string, output?: number]>;

/**
 * A workflow that runs in production when `/webhook/NAME` is called with `{ items }`, sends each of
 * them through the steps, and answers when its execution has ended.
 */
export function workflowOf(name: string, steps: Step[], lines?: Lines): Workflow {
	const all: Step[] = [
		{
			name: 'Webhook',
			type: 'n8n-nodes-base.webhook',
			typeVersion: 2.1,
			parameters: {
				httpMethod: 'POST',
				path: name,
				responseMode: 'lastNode',
				responseData: 'noData',
				options: {},
			},
		},
		{
			name: 'Items',
			type: 'n8n-nodes-base.splitOut',
			typeVersion: 1,
			parameters: { fieldToSplitOut: 'body.items', options: {} },
		},
		...steps,
	];
	const inOrder = steps.map(({ name: to }, index): Lines[number] => [all[index + 1]!.name, to]);
	const connections: IConnections = {};
	for (const [from, to, at = 0] of [['Webhook', 'Items'], ...(lines ?? inOrder)] as Lines) {
		const { main } = (connections[from] ??= { main: [] }) as { main: object[][] };
		(main[at] ??= []).push({ node: to, type: 'main', index: 0 });
	}
	return {
		name,
		nodes: all.map((step, index) => ({
			...step,
			id: `step-${index}`,
			position: [220 * index, 0],
			// n8n gives its webhook nodes one; without it the path would have the workflow's id in front.
			...(index === 0 ? { webhookId: name } : {}),
		})),
		connections,
		settings: { executionOrder: 'v1' },
		output: steps.at(-1)!.name,
	};
}
