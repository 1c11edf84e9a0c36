import type { IDataObject, INode, INodeExecutionData } from 'n8n-workflow';
import type { WorkflowFile } from '../../demo/engine.mts';

/** The name of the node in every workflow built here. */
export const NODE = 'Media Generation';

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex').toString('base64');

/** An item with an image, for the operations that are given one. */
export const itemWith = (json: IDataObject = {}): INodeExecutionData => ({
	json,
	binary: { data: { data: PNG, mimeType: 'image/png', fileName: 'in.png' } },
});

/** A workflow of a trigger and the node under test, whose id is the same each time. */
export function workflowOf(parameters: IDataObject, more: Partial<INode> = {}): WorkflowFile {
	const place = { typeVersion: 1, position: [0, 0] as [number, number] };
	const start = { ...place, id: '1', name: 'Start', type: 'n8n-nodes-base.manualTrigger' };
	const node: INode = {
		...place,
		id: '2',
		name: NODE,
		type: 'n8n-nodes-media-generation.mediaGeneration',
		credentials: { mediaGenerationApi: { id: '1', name: 'mediaGenerationApi' } },
		...more,
		parameters: parameters as INode['parameters'],
	};
	return {
		name: 'Test',
		nodes: [{ ...start, parameters: {} }, node],
		connections: { Start: { main: [[{ node: NODE, type: 'main', index: 0 }]] } },
	};
}
