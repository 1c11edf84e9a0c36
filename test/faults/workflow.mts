import type { IConnections, IDataObject, INode, INodeExecutionData } from 'n8n-workflow';
import type { WorkflowFile } from '../../demo/engine.mts';
import { fieldsOf } from '../service/operations.mts';
import { inARow } from '../service/triggerNode.mts';

/** The name of the node under test. */
export const NODE = 'Media Generation';
/** The name of the loop that it may be in. */
export const LOOP = 'Loop Over Items';

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex').toString('base64');

/** Returns an item with an image, which some operations need. */
export const itemWith = (json: IDataObject = {}): INodeExecutionData => ({
	json,
	binary: { data: { data: PNG, mimeType: 'image/png', fileName: 'in.png' } },
});

/** Returns the node under test. `more` are other settings of the node, such as `onError`. */
export const node = (parameters: IDataObject, more: Partial<INode> = {}): INode => ({
	id: 'node-under-test',
	name: NODE,
	type: 'n8n-nodes-media-generation.mediaGeneration',
	typeVersion: 1,
	position: [220, 0],
	parameters: parameters as INode['parameters'],
	credentials: { mediaGenerationApi: { id: '1', name: 'mediaGenerationApi' } },
	...more,
});

/**
 * Returns parameters for any operation, which ignores those that it does not have. Any other required field gets the URL
 * in its placeholder, or the text.
 */
export const parametersFor = (
	which: string,
	text: string,
	{ options, ...more }: { taskId: string; voice: string; options?: IDataObject },
) => {
	const [resource, operation] = which.split(':');
	const voiceId = { __rl: true, mode: 'id', value: more.voice };
	const required = fieldsOf(which).filter((field) => field.required);
	const examples = required.map(({ name, placeholder = '' }) => {
		const [url] = /https?:\/\/\S+/.exec(placeholder) ?? [];
		return [name, url ?? text] as const;
	});
	return {
		...Object.fromEntries(examples),
		...{ resource, operation, text, prompt: text, taskId: more.taskId, voiceId },
		...{ binaryPropertyName: 'data', download: true, options: { prompt: text, ...options } },
	};
};

/** Returns a workflow: a manual trigger, then these nodes in order. */
export function workflow(...nodes: INode[]): WorkflowFile {
	const type = 'n8n-nodes-base.manualTrigger';
	const start = node({}, { id: 'start', name: 'Start', type, credentials: {} });
	const all = [start, ...nodes];
	return { id: 'workflow-under-test', name: 'Test', nodes: all, connections: inARow(all) };
}

/** Returns a workflow with the node in a loop, which passes on `batchSize` items per round. */
export function workflowInLoop(action: INode, batchSize: number): WorkflowFile {
	const type = 'n8n-nodes-base.splitInBatches';
	const loop = node({ batchSize }, { id: 'loop', name: LOOP, type, credentials: {} });
	const { connections, ...file } = workflow(loop, action);
	const [first, next] = [connections.Start!.main![0]!, connections[LOOP]!.main![0]!];
	const ahead = { [LOOP]: { main: [[], next] }, [NODE]: { main: [first, first] } };
	return { ...file, connections: { ...connections, ...ahead } };
}

/**
 * The same, with a node after the loop. `way` is how the success output and the error output of the node in the loop
 * are connected to the loop.
 */
export function workflowBehindLoop(
	way: 'directly' | 'through Merge',
	action: INode,
	batchSize: number,
	behind: INode,
): WorkflowFile {
	const file = workflowInLoop(action, batchSize);
	const to = (name: string, index = 0) => ({ node: name, type: 'main' as const, index });
	const { main } = file.connections[LOOP]!;
	const connections: IConnections = {
		...file.connections,
		[LOOP]: { main: [[to(behind.name)], main![1]!] },
	};
	if (way === 'directly') return { ...file, nodes: [...file.nodes, behind], connections };
	const type = 'n8n-nodes-base.merge';
	const merge = node({}, { id: 'merge', name: 'Merge', type, credentials: {} });
	return {
		...file,
		nodes: [...file.nodes, merge, behind],
		connections: {
			...connections,
			[NODE]: { main: [[to('Merge')], [to('Merge', 1)]] },
			Merge: { main: [[to(LOOP)]] },
		},
	};
}
