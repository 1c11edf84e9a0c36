import '../shared/n8n/requirements';
import {
	NodeConnectionTypes,
	type INodeType,
	type INodeTypeDescription,
	type ITriggerFunctions,
	type ITriggerResponse,
} from 'n8n-workflow';
import { optionsField, outputField } from '../shared/n8n/descriptions';
import { testMediaGenerationApi } from '../shared/n8n/credentialTest';
import { eventsField, taskIdsField } from '../shared/n8n/triggerEvents';
import {
	checkIntervalField,
	downloadFileField,
	progressStepField,
	subtitle,
} from './activation/settings';
import { startTrigger } from './trigger';

const BUILDING_HELP =
	"<b>While building your workflow</b>, click 'Execute step', then generate speech in another workflow or outside n8n (charged). The first matching event shows up here. With 'Video or Image Created', the newest video or image shows up right away.";

/** The trigger node, as n8n loads it. */
export class MediaGenerationTrigger implements INodeType {
	description: INodeTypeDescription = {
		displayName: 'Media Generation Trigger',
		name: 'mediaGenerationTrigger',
		icon: { light: 'file:../../icons/media.svg', dark: 'file:../../icons/media.dark.svg' },
		group: ['trigger'],
		version: 1,
		subtitle,
		// n8n's nodes panel shows the action node and the trigger as one entry, with this description.
		description:
			'Generate speech, videos and images, or start a workflow when they are ready or have failed',
		defaults: { name: 'Media Generation Trigger' },
		eventTriggerDescription: "Waiting for the next event selected in 'Trigger On'",
		activationMessage: 'Now listening: every selected event starts this workflow.',
		triggerPanel: {
			header: 'Listen for speech tasks, videos and images',
			executionsHelp: {
				inactive:
					BUILDING_HELP +
					"<br /><br /><b>Once you're happy with your workflow</b>, publish it. Then every selected event starts an execution. These show up in the <a data-key='executions'>executions list</a>, but not in the editor.",
				active:
					BUILDING_HELP +
					"<br /><br /><b>Your workflow also runs automatically</b>, since it's published: every selected event starts an execution. These show up in the <a data-key='executions'>executions list</a>, but not in the editor.",
			},
			activationHint:
				"Once you've finished building your workflow, publish it to have it listen all the time (you just won't see those executions here).",
		},
		builderHint: {
			searchHint:
				"Reacts to media generated elsewhere: the event 'generated' is about videos and images, the other events are about speech. For media that this workflow itself generates, no trigger is needed: the Media Generation node waits for the files. Publishing is refused if that node follows this trigger and generates what the trigger listens for. For speech, set taskIds to allow that.",
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
			eventsField,
			taskIdsField,
			downloadFileField,
			optionsField(checkIntervalField, progressStepField, outputField),
		],
	};

	methods = { credentialTest: { testMediaGenerationApi } };

	/** n8n calls this to activate a published workflow, and for a manual test. Throws an n8n error. */
	async trigger(this: ITriggerFunctions): Promise<ITriggerResponse> {
		return await startTrigger(this);
	}
}
