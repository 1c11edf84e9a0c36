import '../shared/n8n/requirements';
import {
	NodeConnectionTypes,
	type IExecuteFunctions,
	type INodeExecutionData,
	type INodeType,
	type INodeTypeDescription,
} from 'n8n-workflow';
import { testMediaGenerationApi } from '../shared/n8n/credentialTest';
import { searchVoices } from './listSearch/searchVoices';
import { operations, resource, subtitle } from './resources';
import { router } from './router';

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
		inputs: [NodeConnectionTypes.Main],
		outputs: [NodeConnectionTypes.Main],
		credentials: [
			{ name: 'mediaGenerationApi', required: true, testedBy: 'testMediaGenerationApi' },
		],
		hints: [
			{
				message:
					"Speech and images take seconds to minutes, a video one to two minutes, longer under load. Retry On Fail collects what was already paid for instead of creating it again. While this runs, its progress appears in the browser's console (F12).",
				displayCondition:
					'={{ ["speak", "wait", "create", "textToVideo", "ingredientsToVideo", "framesToVideo"].includes($parameter["operation"]) }}',
				whenToDisplay: 'beforeExecution',
				location: 'outputPane',
			},
		],
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
