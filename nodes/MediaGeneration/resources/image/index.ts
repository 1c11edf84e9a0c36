import { updateDisplayOptions, type INodeProperties } from 'n8n-workflow';
import {
	concurrency,
	download,
	idleTimeout,
	options,
	outputField,
	prompt,
	timeout,
} from '../../../shared/n8n/descriptions';

/** Default of `Timeout` for images. */
export const IMAGE_TIMEOUT_SECONDS = 900;

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
	...updateDisplayOptions({ show: { resource: ['image'], operation: ['create'] } }, [
		prompt('e.g. A lighthouse at dawn, watercolour', 'What is to be seen in the image'),
		download,
		options(concurrency, idleTimeout, outputField, timeout(IMAGE_TIMEOUT_SECONDS)),
	]),
];
