import { updateDisplayOptions, type INodeProperties } from 'n8n-workflow';
import { NUMBER_OF_VIDEOS } from '../../../shared/contract';
import {
	concurrency,
	download,
	idleTimeout,
	optionalPrompt,
	options,
	outputField,
	prompt,
	timeout,
} from '../../../shared/n8n/descriptions';
import { VIDEO_TIMEOUT_SECONDS } from './fields';

const show = (...operation: string[]) => ({ show: { resource: ['video'], operation } });

const images = (displayName: string, description: string): INodeProperties => ({
	displayName,
	name: 'binaryPropertyName',
	type: 'string',
	required: true,
	default: 'data',
	placeholder: 'e.g. data, data2',
	description,
	hint: 'The names of the input binary fields that hold the images, separated by commas',
});

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
	...updateDisplayOptions(show('textToVideo', 'ingredientsToVideo'), [
		prompt('e.g. A paper boat sails down a rainy street', 'What is to be seen in the video'),
	]),
	...updateDisplayOptions(show('textToVideo'), [
		{
			displayName: 'Aspect Ratio',
			name: 'aspectRatio',
			type: 'options',
			options: [
				{ name: 'Landscape (16:9)', value: 'VIDEO_ASPECT_RATIO_LANDSCAPE' },
				{ name: 'Portrait (9:16)', value: 'VIDEO_ASPECT_RATIO_PORTRAIT' },
			],
			default: 'VIDEO_ASPECT_RATIO_LANDSCAPE',
			description: 'The shape of the picture',
		},
		{
			displayName: 'Number of Videos',
			name: 'numberOfVideos',
			type: 'number',
			typeOptions: {
				minValue: NUMBER_OF_VIDEOS.min,
				maxValue: NUMBER_OF_VIDEOS.max,
				numberPrecision: 0,
			},
			default: 1,
			description:
				'How many videos to make from the prompt, each paid for. The node puts out one item per video.',
		},
	]),
	...updateDisplayOptions(show('ingredientsToVideo'), [
		images('Ingredients', 'The images with the persons, things or places of the video'),
	]),
	...updateDisplayOptions(show('framesToVideo'), [
		images('Frames', 'The images that the video goes through, in this order'),
	]),
	...updateDisplayOptions(show('textToVideo', 'ingredientsToVideo', 'framesToVideo'), [download]),
	...updateDisplayOptions(show('textToVideo', 'ingredientsToVideo'), [
		options(concurrency, idleTimeout, outputField, timeout(VIDEO_TIMEOUT_SECONDS)),
	]),
	...updateDisplayOptions(show('framesToVideo'), [
		options(
			concurrency,
			idleTimeout,
			optionalPrompt('e.g. Slow camera pan', 'What is to happen between the frames'),
			outputField,
			timeout(VIDEO_TIMEOUT_SECONDS),
		),
	]),
];
