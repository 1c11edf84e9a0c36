import '../shared/n8n/requirements';
import {
	NodeConnectionTypes,
	type INodeType,
	type INodeTypeDescription,
	type ITriggerFunctions,
	type ITriggerResponse,
} from 'n8n-workflow';
import { downloadOffByDefault, options, outputField } from '../shared/n8n/descriptions';
import { testMediaGenerationApi } from '../shared/n8n/credentialTest';
import { checkInterval, progressStep, subtitle, taskIds, triggerOn } from './activation/settings';
import { startTrigger } from './trigger';

const WHILE_BUILDING =
	"<b>While building your workflow</b>, click 'Execute step', then create a speech task, with this package or anywhere else. The first selected event will show up in this editor; of videos and images, the newest one shows up at once.";

export class MediaGenerationTrigger implements INodeType {
	description: INodeTypeDescription = {
		displayName: 'Media Generation Trigger',
		name: 'mediaGenerationTrigger',
		icon: { light: 'file:../../icons/media.svg', dark: 'file:../../icons/media.dark.svg' },
		group: ['trigger'],
		version: 1,
		subtitle,
		// The nodes panel shows this for the action node as well.
		description:
			'Generate speech, videos and images, or start the workflow when a speech task completes or fails, or a video or image is made',
		defaults: { name: 'Media Generation Trigger' },
		eventTriggerDescription: 'Waiting for the next event of a speech task, or for a video or image',
		activationMessage: 'Now listening: every selected event starts this workflow.',
		triggerPanel: {
			header: 'Listen for speech tasks, videos and images',
			executionsHelp: {
				inactive:
					WHILE_BUILDING +
					"<br /><br /><b>Once you're happy with your workflow</b>, publish it. Then every selected event starts an execution. These show up in the <a data-key='executions'>executions list</a>, but not in the editor.",
				active:
					WHILE_BUILDING +
					"<br /><br /><b>Your workflow also runs automatically</b>, since it's published: every selected event starts an execution. These show up in the <a data-key='executions'>executions list</a>, but not in the editor.",
			},
			activationHint:
				"Once you've finished building your workflow, publish it to have it listen all the time (you just won't see those executions here).",
		},
		builderHint: {
			searchHint:
				'For what others make: generated is of videos and images, the other events are of speech. What this workflow makes itself, the Media Generation node waits for: publishing is refused where that node follows this trigger, unless taskIds is set.',
			extraTypeDefContent: [
				{ content: '@output { json: { event, task_id?, audio_url?, file_url?, error? } }' },
			],
		},
		inputs: [],
		outputs: [NodeConnectionTypes.Main],
		credentials: [
			{ name: 'mediaGenerationApi', required: true, testedBy: 'testMediaGenerationApi' },
		],
		properties: [
			triggerOn,
			taskIds,
			options(
				checkInterval,
				{
					...downloadOffByDefault,
					description:
						'Whether to put the file itself into the output when a task is completed, or a video or image is made',
				},
				progressStep,
				outputField,
			),
		],
	};

	methods = { credentialTest: { testMediaGenerationApi } };

	async trigger(this: ITriggerFunctions): Promise<ITriggerResponse> {
		return await startTrigger(this);
	}
}
