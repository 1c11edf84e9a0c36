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
				name: 'Speak',
				value: 'speak',
				description: 'Convert text to speech and wait for the audio file',
				action: 'Convert text to speech',
			},
			{
				name: 'Wait',
				value: 'wait',
				description: 'Wait for a speech task that already exists, at no extra charge',
				action: 'Wait for a speech task',
			},
			{
				name: 'Get',
				value: 'get',
				description: 'Get the current state of a speech task',
				action: 'Get a speech task',
			},
			{
				name: 'Delete',
				value: 'delete',
				description: 'Delete a speech task',
				action: 'Delete a speech task',
			},
		],
		default: FIRST_SPEECH_OPERATION,
	},
	...speakDescription,
	...waitForSpeechDescription,
	...getSpeechDescription,
	...deleteSpeechDescription,
];
