import type { IDataObject, INode } from 'n8n-workflow';
import type { WorkflowFile } from '../../demo/engine.mts';

/** The name of the node in every workflow built here. */
export const NODE = 'Media Generation';

/** A workflow of a trigger and the node under test, whose id is the same each time. */
export function workflowOf(parameters: IDataObject, more: Partial<INode> = {}): WorkflowFile {
	const place = { typeVersion: 1, position: [0, 0] as [number, number] };
	const type = 'n8n-nodes-media-generation.mediaGeneration';
	const credentials = { mediaGenerationApi: { id: '1', name: 'mediaGenerationApi' } };
	return {
		name: 'Test',
		nodes: [
			{ ...place, id: '1', name: 'Start', type: 'n8n-nodes-base.manualTrigger', parameters: {} },
			{
				...place,
				id: '2',
				name: NODE,
				type,
				credentials,
				...more,
				parameters: parameters as never,
			},
		],
		connections: { Start: { main: [[{ node: NODE, type: 'main', index: 0 }]] } },
	};
}
