import { updateDisplayOptions, type INodeProperties } from 'n8n-workflow';
import { SPEECH_SETTINGS } from '../../../shared/contract';
import {
	concurrency,
	download,
	downloadIfAsked,
	options,
	outputField,
	pollInterval,
	taskId,
	timeout,
} from '../../../shared/n8n/descriptions';

const TIMEOUT_SECONDS = 3600;

const show = (operation: string[]) => ({ show: { resource: ['speech'], operation } });

const setting = (
	name: keyof typeof SPEECH_SETTINGS,
	displayName: string,
	description: string,
): INodeProperties => {
	const { min, max, default: byDefault } = SPEECH_SETTINGS[name];
	return {
		displayName,
		name,
		type: 'number',
		typeOptions: { minValue: min, maxValue: max, numberPrecision: 2, numberStepSize: 0.05 },
		default: byDefault,
		description,
	};
};

const speakFields: INodeProperties[] = [
	{
		displayName: 'Text',
		name: 'text',
		type: 'string',
		typeOptions: { rows: 4 },
		required: true,
		default: '',
		placeholder: 'e.g. Welcome to our show!',
		description: 'What is to be spoken',
	},
	{
		displayName: 'Voice',
		name: 'voiceId',
		type: 'resourceLocator',
		required: true,
		default: { mode: 'list', value: '' },
		description: 'Who is to speak',
		modes: [
			{
				displayName: 'From List',
				name: 'list',
				type: 'list',
				placeholder: 'Select a voice...',
				typeOptions: { searchListMethod: 'searchVoices', searchable: true },
			},
			{
				displayName: 'By ID',
				name: 'id',
				type: 'string',
				placeholder: 'e.g. 21m00Tcm4TlvDq8ikWAM',
			},
		],
	},
	{
		displayName: 'Model',
		name: 'modelId',
		type: 'options',
		options: [
			{
				name: 'Flash V2.5',
				value: 'labs_flash_v2_5',
				description: 'The fastest',
			},
			{
				name: 'Multilingual V2',
				value: 'labs_multilingual_v2',
				description: 'Natural speech in many languages',
			},
			{
				name: 'Turbo V2.5',
				value: 'labs_turbo_v2_5',
				description: 'A balance of quality and speed',
			},
			{
				name: 'V3',
				value: 'labs_v3',
				description: 'The newest, and the most expressive',
			},
		],
		default: 'labs_multilingual_v2',
		description: 'The model that speaks',
	},
	{
		displayName: 'Wait for Completion',
		name: 'waitForCompletion',
		type: 'boolean',
		default: true,
		description:
			'Whether to wait until the speech is there. Turn off to get the task ID at once and collect the result later with Speech → Wait.',
	},
	{ ...download, displayOptions: { show: { waitForCompletion: [true] } } },
	options(
		{
			displayName: 'Callback URL',
			name: 'callbackUrl',
			type: 'string',
			default: '',
			placeholder: 'e.g. https://example.com/speech-done',
			description: 'An address that the service calls when the task completes',
		},
		concurrency,
		pollInterval,
		outputField,
		setting(
			'similarity',
			'Similarity',
			'How closely the speech keeps to the original voice, from 0 to 1',
		),
		setting(
			'speed',
			'Speed',
			'How fast the voice speaks, from 0.7 to 1.2, where 1 is its natural pace',
		),
		setting('stability', 'Stability', 'How even the speech is, from 0 (lively) to 1 (monotonous)'),
		setting(
			'style',
			'Style Exaggeration',
			"How much the voice's own style is exaggerated, from 0 to 1",
		),
		timeout(TIMEOUT_SECONDS),
		{
			displayName: 'Use Speaker Boost',
			name: 'useSpeakerBoost',
			type: 'boolean',
			default: true,
			description: 'Whether to strengthen the likeness to the original speaker',
		},
	),
];

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
		default: 'speak',
	},
	...updateDisplayOptions(show(['speak']), speakFields),
	...updateDisplayOptions(show(['get', 'wait', 'delete']), [taskId]),
	...updateDisplayOptions(show(['get']), [downloadIfAsked]),
	...updateDisplayOptions(show(['wait']), [
		download,
		options(concurrency, pollInterval, outputField, timeout(TIMEOUT_SECONDS)),
	]),
];
