import type { INode, INodeExecutionData, IRun, ITriggerResponse } from 'n8n-workflow';
import { additionalDataFor } from '../../demo/engine.mts';
import { core, n8nWorkflow, useBinaryMode } from '../../demo/n8n.mts';
import { loadPackage, nodeTypesOf } from '../../demo/package.mts';
import { canary, findToken } from '../faults/canary.mts';
import type { Hostile } from './hostile.mts';
import type { Random } from './random.mts';

/** An active trigger for some seconds, against the hostile service. */
export async function listenFor(
	hostile: Hostile,
	random: Random,
	note: (problem: string) => void,
): Promise<void> {
	const token = canary();
	hostile.open(token, random.whole(0, 2 ** 31), random.pick([0, 0.1, 0.3]));
	const loader = await loadPackage();
	await useBinaryMode('filesystem');
	const node: INode = {
		id: 'trigger',
		name: 'Trigger',
		type: 'n8n-nodes-media-generation.mediaGenerationTrigger',
		typeVersion: 1,
		position: [0, 0],
		parameters: {
			events: ['completed', 'failed', 'progress'],
			taskIds: random.pick(['', '12, 13']),
			options: { download: random.chance(0.5), progressStep: random.whole(1, 50) },
		},
		credentials: { mediaGenerationApi: { id: '1', name: 'mediaGenerationApi' } },
	};
	const nodeTypes = nodeTypesOf(loader);
	const file = { id: `soak-${token.slice(5, 15)}`, name: 'Soak', nodes: [node], connections: {} };
	const workflow = new n8nWorkflow.Workflow({ ...file, active: true, nodeTypes, staticData: {} });
	const credentials = {
		mediaGenerationApi: { apiToken: token, baseUrl: hostile.baseUrl, webSocketUrl: '' },
	};
	const additionalData = additionalDataFor(file, 'trigger', { credentials }, (name) => {
		return loader.getCredential(name).type;
	});
	const said: unknown[] = [];
	const emit = (
		data: INodeExecutionData[][],
		_response?: unknown,
		done?: { resolve(run: IRun): void },
		key?: string,
	) => {
		said.push(data, key);
		done?.resolve({} as IRun);
	};
	const fail = (error: Error) => said.push(error.message, error);
	const context = new core.TriggerContext(
		workflow,
		node,
		additionalData,
		'trigger',
		'activate',
		emit,
		fail,
	);
	const type = workflow.nodeTypes.getByNameAndVersion(node.type, 1);
	const began = Date.now();
	const response = await (type.trigger!.call(context) as Promise<ITriggerResponse>).catch(
		(error: Error) => {
			if (!error.message) note('the trigger refuses without a word');
			said.push(error.message, error);
			return undefined;
		},
	);
	if (Date.now() - began > 30_000) note('the trigger took more than 30 s to begin');
	await new Promise((resolve) => setTimeout(resolve, random.whole(10, 5000)));
	await response?.closeFunction?.();
	const found = findToken(token, {
		trigger: JSON.stringify(said, (_, value: unknown) =>
			value instanceof Error ? { ...value, message: value.message, stack: value.stack } : value,
		),
	});
	if (found) note(`the token is in the ${found}`);
	setTimeout(() => hostile.forget(token), 20_000).unref();
}
