import {
	NodeConnectionTypes,
	type IExecuteFunctions,
	type INodeExecutionData,
	type INodeType,
	type INodeTypeDescription,
} from 'n8n-workflow';
import { testMediaGenerationApi } from '../shared/n8n/credentialTest';
import { FIRST_RESOURCE } from '../shared/n8n/descriptions';
import { accountDescription } from './resources/account';
import { historyDescription } from './resources/history';
import { imageDescription } from './resources/image';
import { speechDescription } from './resources/speech';
import { videoDescription } from './resources/video';
import { voiceDescription } from './resources/voice';
import { router } from './router';
import { searchVoices } from './listSearch/searchVoices';

export class MediaGeneration implements INodeType {
	description: INodeTypeDescription = {
		displayName: 'Media Generation',
		name: 'mediaGeneration',
		icon: { light: 'file:../../icons/media.svg', dark: 'file:../../icons/media.dark.svg' },
		group: ['transform'],
		version: 1,
		subtitle: '={{ $parameter["operation"] + ": " + $parameter["resource"] }}',
		description: 'Make speech, videos and images, and wait until the file is there',
		defaults: { name: 'Media Generation' },
		usableAsTool: true,
		inputs: [NodeConnectionTypes.Main],
		outputs: [NodeConnectionTypes.Main],
		credentials: [
			{ name: 'mediaGenerationApi', required: true, testedBy: 'testMediaGenerationApi' },
		],
		waitingNodeTooltip: 'Waiting for the media generation service',
		hints: [
			{
				message:
					"Progress appears in the browser's console while this runs. Retry On Fail collects what was already paid for instead of creating it again.",
				displayCondition:
					'={{ ["speech", "video", "image"].includes($parameter["resource"]) && !["get", "delete"].includes($parameter["operation"]) }}',
				whenToDisplay: 'beforeExecution',
				location: 'outputPane',
			},
		],
		properties: [
			{
				displayName: 'Resource',
				name: 'resource',
				type: 'options',
				noDataExpression: true,
				options: [
					{ name: 'Account', value: 'account' },
					{ name: 'History', value: 'history' },
					{ name: 'Image', value: 'image' },
					{ name: 'Speech', value: 'speech' },
					{ name: 'Video', value: 'video' },
					{ name: 'Voice', value: 'voice' },
				],
				default: FIRST_RESOURCE,
			},
			...accountDescription,
			...historyDescription,
			...imageDescription,
			...speechDescription,
			...videoDescription,
			...voiceDescription,
		],
	};

	methods = {
		credentialTest: { testMediaGenerationApi },
		listSearch: { searchVoices },
	};

	async execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
		return await router.call(this);
	}
}
