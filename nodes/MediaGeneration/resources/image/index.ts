import type { INodeProperties } from 'n8n-workflow';
import { createImageDescription } from './create';

export const imageDescription: INodeProperties[] = [
	{
		displayName: 'Operation',
		name: 'operation',
		type: 'options',
		noDataExpression: true,
		displayOptions: { show: { resource: ['image'] } },
		options: [
			{
				name: 'Create',
				value: 'create',
				description: 'Generate an image from a text prompt',
				action: 'Generate an image from text',
			},
		],
		default: 'create',
	},
	...createImageDescription,
];
