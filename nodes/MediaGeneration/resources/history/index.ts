import type { INodeProperties } from 'n8n-workflow';
import { getAllHistoryDescription } from './getAll';

export const historyDescription: INodeProperties[] = [
	{
		displayName: 'Operation',
		name: 'operation',
		type: 'options',
		noDataExpression: true,
		displayOptions: { show: { resource: ['history'] } },
		options: [
			{
				name: 'Get Many',
				value: 'getAll',
				description: 'List the videos and images generated so far, newest first',
				action: 'Get many videos and images from the history',
			},
		],
		default: 'getAll',
	},
	...getAllHistoryDescription,
];
