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
				description: 'Make an image of what a prompt describes',
				action: 'Create an image from a description',
			},
		],
		default: 'create',
	},
	...createImageDescription,
];
