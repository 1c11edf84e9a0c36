import { updateDisplayOptions, type INodeProperties } from 'n8n-workflow';
import {
	concurrency,
	downloadIfAsked,
	options,
	outputField,
	returnAllAndLimit,
} from '../../../shared/n8n/descriptions';

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
				description: 'List the videos and images made so far, newest first',
				action: 'Get many videos and images of the history',
			},
		],
		default: 'getAll',
	},
	...updateDisplayOptions({ show: { resource: ['history'], operation: ['getAll'] } }, [
		...returnAllAndLimit,
		options(concurrency, downloadIfAsked, outputField),
	]),
];
