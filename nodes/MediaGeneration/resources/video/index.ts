import type { INodeProperties } from 'n8n-workflow';
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
				name: 'Frames to Video',
				value: 'framesToVideo',
				description: 'Make a video that goes through given images, in their order',
				action: 'Make a video from image frames',
			},
			{
				name: 'Ingredients to Video',
				value: 'ingredientsToVideo',
				description: 'Make a video with what is to be seen on given images',
				action: 'Make a video from ingredient images',
			},
			{
				name: 'Text to Video',
				value: 'textToVideo',
				description: 'Make one or several videos of what a prompt describes',
				action: 'Make videos from a description',
			},
		],
		default: 'textToVideo',
	},
	...framesToVideoDescription,
	...ingredientsToVideoDescription,
	...textToVideoDescription,
];
