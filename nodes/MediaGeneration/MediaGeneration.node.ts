import '../shared/n8n/requirements';
import {
	NodeConnectionTypes,
	type IBuilderHint,
	type IDisplayOptions,
	type IExecuteFunctions,
	type INodeExecutionData,
	type INodeType,
	type INodeTypeDescription,
} from 'n8n-workflow';
import { GENERATIONS, MEDIA, PAID_OPERATIONS, SPEECH_OPERATIONS } from '../shared/contract';
import { testMediaGenerationApi } from '../shared/n8n/credentialTest';
import { searchVoices } from './listSearch/searchVoices';
import { operations, resource, subtitle } from './resources';
import { router } from './router';

/** What comes out, said here because n8n (2.41) reads output schemas to builders for its own nodes only. */
const puts = (output: string, show: IDisplayOptions['show']) => ({
	content: `@output ${output}`,
	displayOptions: { show },
});

/** For n8n's Assistant and other builders of workflows, where they would go wrong. */
const builderHint: IBuilderHint = {
	searchHint:
		'Waits by itself until the file is there: add no Wait node and no polling loop. Pass all items at once, without a loop: they are processed side by side, and the output keeps their order. For lists set onError to continueErrorOutput, so that a bad row leaves by the second output while the others go on. For what others make, use the Media Generation Trigger.',
	extraTypeDefContent: [
		puts(
			'one item per text or task: { json: { task_id: string, status: string, audio_url?: string }, binary?: { data } }',
			{
				resource: ['speech'],
				operation: [...SPEECH_OPERATIONS.map(({ operation }) => operation), 'wait', 'get'],
			},
		),
		puts('{ json: { task_id: string, deleted: true } }', { operation: ['delete'] }),
		puts('one item per file: { json: { file_url: string }, binary: { data } }', {
			resource: [...new Set(Object.values(GENERATIONS).map(({ resource }) => resource))],
		}),
		puts('one item per voice: { json: { voice_id, name } }', { resource: ['voice'] }),
		puts('one item per entry: { json: { id, prompt, file_url } }', { resource: ['history'] }),
		puts('what is known of: { json: { available_quota?, balance? } }', { resource: ['account'] }),
	],
};

const PROGRESS = "Progress is in the browser's console (F12).";
const CHARGED = 'Each run is charged; a retry is not.';

/** How long the kinds of media take, each once. */
const DURATIONS = [...new Set(Object.values(MEDIA).map(({ takes }) => takes))];

/** What the output panel says before the first run, by `resource:operation`. */
const HINTS: Array<[string[], string]> = [
	...DURATIONS.map((takes): [string[], string] => {
		const alike = PAID_OPERATIONS.filter(({ makes }) => MEDIA[makes].takes === takes);
		const names = alike.map(({ resource, operation }) => `${resource}:${operation}`);
		return [names, `Takes ${takes}. ${PROGRESS} ${CHARGED}`];
	}),
	[['speech:wait'], `Waits until the speech is ready. ${PROGRESS} Nothing is charged.`],
	[
		['voice:getAll', 'history:getAll'],
		'Returns as many as Limit says, unless Return All is on. Nothing is charged.',
	],
];

export class MediaGeneration implements INodeType {
	description: INodeTypeDescription = {
		displayName: 'Media Generation',
		name: 'mediaGeneration',
		icon: { light: 'file:../../icons/media.svg', dark: 'file:../../icons/media.dark.svg' },
		group: ['transform'],
		version: 1,
		subtitle,
		description: 'Generate speech, videos and images, and wait until the file is ready',
		defaults: { name: 'Media Generation' },
		usableAsTool: true,
		builderHint,
		inputs: [NodeConnectionTypes.Main],
		outputs: [NodeConnectionTypes.Main],
		credentials: [
			{ name: 'mediaGenerationApi', required: true, testedBy: 'testMediaGenerationApi' },
		],
		hints: HINTS.map(([operations, message]) => ({
			message,
			displayCondition: `={{ ${JSON.stringify(operations)}.includes($parameter["resource"] + ":" + $parameter["operation"]) }}`,
			whenToDisplay: 'beforeExecution',
			location: 'outputPane',
		})),
		properties: [resource, ...operations],
	};

	methods = {
		credentialTest: { testMediaGenerationApi },
		listSearch: { searchVoices },
	};

	async execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
		return await router.call(this);
	}
}
