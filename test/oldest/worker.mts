/*
 * The old n8n's own process: runs workflows and triggers in its engine, as the test asks for by
 * messages. It is bundled into plain JavaScript first, since old Nodes run no TypeScript.
 */
import type { INode, INodeExecutionData, ITriggerResponse } from 'n8n-workflow';
import { additionalDataFor, runWorkflow, type WorkflowFile } from '../../demo/engine.mts';
import { core, n8nWorkflow, useBinaryMode } from '../../demo/n8n.mts';
import { loadPackage, nodeTypesOf } from '../../demo/package.mts';
import type { Answer, Order } from './engine.mts';

const running = new Map<number, AbortController>();
const listening = new Map<number, ITriggerResponse>();

process.on('message', (order: Order & { id: number }) => {
	void carryOut(order).then(
		(answer) => process.send!({ id: order.id, answer }),
		(error: Error) => process.send!({ id: order.id, failed: error.stack }),
	);
});

async function carryOut(order: Order & { id: number }): Promise<unknown> {
	if (order.kind === 'load') return await load();
	if (order.kind === 'run') return await run(order.id, order);
	if (order.kind === 'cancel') return running.get(order.of)?.abort();
	if (order.kind === 'listen') return await listen(order.id, order);
	return await listening.get(order.of)?.closeFunction?.();
}

async function load() {
	const { nodeTypes, credentialTypes } = await loadPackage();
	return { nodes: Object.keys(nodeTypes), credentials: Object.keys(credentialTypes) };
}

async function run(id: number, { workflow, credential }: Order & { kind: 'run' }): Promise<Answer> {
	const canceling = new AbortController();
	running.set(id, canceling);
	const messages: string[] = [];
	const result = await runWorkflow({
		workflow,
		credentials: { mediaGenerationApi: credential },
		onMessage: (text) => messages.push(text),
		signal: canceling.signal,
	});
	const last = workflow.nodes.at(-1)!.name;
	const { message, description } = result.error ?? {};
	return {
		error: result.error && { message: String(message), description: String(description ?? '') },
		items: await Promise.all(result.items(last).map(withBytes)),
		messages,
		saved: JSON.stringify(result.run),
	};

	async function withBytes({ json, binary }: INodeExecutionData) {
		const file = binary?.data;
		if (!file) return { json };
		const bytes = (await result.bytes(file)).toString('base64');
		return { json, file: { name: file.fileName, type: file.mimeType, bytes } };
	}
}

/** Activates a workflow's trigger; its emissions are sent as they come. */
async function listen(id: number, { workflow, credential }: Order & { kind: 'listen' }) {
	await useBinaryMode('default');
	const loader = await loadPackage();
	const file: WorkflowFile & { id: string; name: string } = { ...workflow, id: 'w', name: 'W' };
	const active = new n8nWorkflow.Workflow({
		...file,
		active: true,
		nodeTypes: nodeTypesOf(loader),
		staticData: {},
	});
	const credentials = { mediaGenerationApi: credential };
	const data = additionalDataFor(file, 'trigger', { credentials }, (name) => {
		return loader.getCredential(name).type;
	});
	const emit = (items: INodeExecutionData[][]) =>
		process.send!({ id, emitted: items[0]!.map(({ json }) => json) });
	const node = workflow.nodes[0] as INode;
	const context = new core.TriggerContext(active, node, data, 'trigger', 'activate', emit);
	const { trigger } = active.nodeTypes.getByNameAndVersion(node.type, node.typeVersion);
	listening.set(id, (await trigger!.call(context)) as ITriggerResponse);
}
