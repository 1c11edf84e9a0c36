import type { INodeProperties } from 'n8n-workflow';
import { FIRST_SPEECH_OPERATION } from '../../../shared/n8n/descriptions';
import { deleteSpeechDescription } from './delete';
import { getSpeechDescription } from './get';
import { speakDescription } from './speak';
import { waitForSpeechDescription } from './wait';

export const speechDescription: INodeProperties[] = [
	{
		displayName: 'Operation',
		name: 'operation',
		type: 'options',
		noDataExpression: true,
		displayOptions: { show: { resource: ['speech'] } },
		options: [
			{
				name: 'Delete',
				value: 'delete',
				description: 'Delete a speech task',
				action: 'Delete a speech task',
			},
			{
				name: 'Get',
				value: 'get',
				description: 'Look up a speech task once, whatever its state',
				action: 'Get a speech task',
			},
			{
				name: 'Speak',
				value: 'speak',
				description: 'Have a voice speak a text, and wait for the audio',
				action: 'Turn a text into speech',
			},
			{
				name: 'Wait',
				value: 'wait',
				description: 'Wait for a speech task that was created before; not paid again',
				action: 'Wait for a speech task',
			},
		],
		default: FIRST_SPEECH_OPERATION,
	},
	...deleteSpeechDescription,
	...getSpeechDescription,
	...speakDescription,
	...waitForSpeechDescription,
];
