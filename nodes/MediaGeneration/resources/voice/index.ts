import type { INodeProperties } from 'n8n-workflow';
import { getAllVoicesDescription } from './getAll';

export const voiceDescription: INodeProperties[] = [
	{
		displayName: 'Operation',
		name: 'operation',
		type: 'options',
		noDataExpression: true,
		displayOptions: { show: { resource: ['voice'] } },
		options: [
			{
				name: 'Get Many',
				value: 'getAll',
				description: 'List the available voices',
				action: 'Get many voices',
			},
		],
		default: 'getAll',
	},
	...getAllVoicesDescription,
];
