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
import { GENERATIONS, MEDIA, PAID_OPERATIONS, PAID_SPEECH_OPERATIONS } from '../shared/contract';
import { testMediaGenerationApi } from '../shared/n8n/credentialTest';
import { searchVoices } from './listSearch/searchVoices';
import { operationFields, resourceField, subtitle } from './resources';
import { router } from './router';

/** Describes an operation's output to the AI that builds workflows, such as n8n's Assistant. */
const describeOutput = (output: string, show: IDisplayOptions['show']) => ({
	content: `@output ${output}`,
	displayOptions: { show },
});

/** For the AI that builds workflows: advice against its usual mistakes, and the output of each operation. */
const builderHint: IBuilderHint = {
	searchHint:
		'Waits by itself until the file is there: add no Wait node and no polling loop. Pass all items at once, without a loop: they are processed in parallel, and the output keeps their order. For lists set onError to continueErrorOutput, so that a failed row goes to the second output while the others continue. If a loop is needed, connect both branches to a Merge node, and only this back to the loop. To react to media generated elsewhere, use the Media Generation Trigger.',
	extraTypeDefContent: [
		describeOutput(
			'one item per text or task: { json: { task_id: string, status: string, audio_url?: string }, binary?: { data } }',
			{
				resource: [...new Set(PAID_SPEECH_OPERATIONS.map(({ resource }) => resource))],
				operation: [...PAID_SPEECH_OPERATIONS.map(({ operation }) => operation), 'wait', 'get'],
			},
		),
		describeOutput('{ json: { task_id: string, deleted: true } }', {
			resource: ['speech'],
			operation: ['delete'],
		}),
		describeOutput('one item per file: { json: { file_url: string }, binary: { data } }', {
			resource: [...new Set(Object.values(GENERATIONS).map(({ resource }) => resource))],
		}),
		describeOutput('one item per voice: { json: { voice_id, name } }', { resource: ['voice'] }),
		describeOutput('one item per video or image: { json: { id, prompt, file_url } }', {
			resource: ['history'],
		}),
		describeOutput('what the service sends, such as: { json: { available_quota?, balance? } }', {
			resource: ['account'],
		}),
	],
};

const PROGRESS_HINT = 'Progress: browser console (F12).';
const CHARGE_HINT = 'Each run charges all items. If it fails: Executions → Retry.';

/** The hints in the output panel before a run: each with its operations (`resource:operation`) and its text. */
const HINTS: Array<[string[], string]> = [
	...PAID_OPERATIONS.map(({ resource, operation, kind }): [string[], string] => [
		[`${resource}:${operation}`],
		`Takes ${MEDIA[kind].usualDuration}. ${PROGRESS_HINT} ${CHARGE_HINT}`,
	]),
	[['speech:wait'], `Waits until the audio is ready. ${PROGRESS_HINT} This is free of charge.`],
	[
		['voice:getAll', 'history:getAll'],
		'Returns up to Limit results; turn on Return All for all. This is free of charge.',
	],
];

/** The action node, as n8n loads it. `resources/` has its operations, `run/` executes them. */
export class MediaGeneration implements INodeType {
	description: INodeTypeDescription = {
		displayName: 'Media Generation',
		name: 'mediaGeneration',
		icon: { light: 'file:../../icons/media.svg', dark: 'file:../../icons/media.dark.svg' },
		group: ['transform'],
		version: 1,
		subtitle,
		description: 'Generate speech, videos and images, and get the finished files',
		defaults: { name: 'Media Generation' },
		// Hints are for the output panel, which a model does not see, so a tool has none. n8n's type of `replacements`
		// does not allow `hints`, hence the cast.
		usableAsTool: { replacements: { hints: [] } as Partial<INodeTypeDescription> },
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
		properties: [resourceField, ...operationFields],
	};

	methods = {
		credentialTest: { testMediaGenerationApi },
		listSearch: { searchVoices },
	};

	/** n8n calls this for each run. Throws an n8n error if the run fails. */
	async execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
		return await router.call(this);
	}
}
