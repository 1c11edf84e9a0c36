import type { INodeProperties } from 'n8n-workflow';
import { NOT_FOR_TOOLS } from '../../../shared/n8n/descriptions';
import { framesToVideoDescription } from './framesToVideo';
import { ingredientsToVideoDescription } from './ingredientsToVideo';
import { textToVideoDescription } from './textToVideo';

export const videoDescription: INodeProperties[] = [
	{
		displayName: 'Operation',
		name: 'operation',
		type: 'options',
		noDataExpression: true,
		displayOptions: { show: { resource: ['video'] } },
		options: [
			{
				name: 'Text to Video',
				value: 'textToVideo',
				description: 'Generate one or more videos from a text prompt',
				action: 'Generate videos from text',
			},
			{
				name: 'Ingredients to Video',
				value: 'ingredientsToVideo',
				description: 'Generate a video that contains what your images show',
				action: 'Generate a video from reference images',
				displayOptions: NOT_FOR_TOOLS,
			},
			{
				name: 'Frames to Video',
				value: 'framesToVideo',
				description: 'Generate a video that moves through your images in order',
				action: 'Generate a video from frame images',
				displayOptions: NOT_FOR_TOOLS,
			},
		],
		default: 'textToVideo',
	},
	...textToVideoDescription,
	...ingredientsToVideoDescription,
	...framesToVideoDescription,
];
