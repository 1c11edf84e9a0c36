import { updateDisplayOptions, type INodeProperties } from 'n8n-workflow';
import { MODEL_IDS, SPEECH_SETTINGS, type SpeechRequest } from '../../../shared/contract';
import { startDeadline, whenAborted } from '../../../shared/async/deadline';
import { Failure } from '../../../shared/failure';
import { aboutTask } from '../../../shared/speech/speechTask';
import {
	concurrency,
	download,
	maxPaid,
	NOT_FOR_TOOLS,
	options,
	outputField,
	pollInterval,
	timeout,
	useSpeakerBoost,
} from '../../../shared/n8n/descriptions';
import type { NodeParameters } from '../../../shared/n8n/parameters';
import { createdBy } from '../../../shared/speech/origins';
import type { Item } from '../../item';
import type { Job } from '../../run';
import { collect, readWaitFields } from './collect';

const [MULTILINGUAL_V2, TURBO_V2_5, FLASH_V2_5, V3] = MODEL_IDS;

type Setting = keyof typeof SPEECH_SETTINGS;

const setting = (name: Setting, displayName: string, description: string): INodeProperties => {
	const { min: minValue, max: maxValue, default: byDefault } = SPEECH_SETTINGS[name];
	const typeOptions = { minValue, maxValue, numberPrecision: 2, numberStepSize: 0.05 };
	return { displayName, name, type: 'number', typeOptions, default: byDefault, description };
};

const waitForCompletion = {
	displayName: 'Wait for Completion',
	name: 'waitForCompletion',
	type: 'boolean',
	default: true,
	description:
		'Whether to wait until the speech is ready. Turn off to get only the task ID right away and collect the result later with Speech → Wait.',
} satisfies INodeProperties;

const speakFields: INodeProperties[] = [
	{
		displayName: 'Text',
		name: 'text',
		type: 'string',
		typeOptions: { rows: 4 },
		required: true,
		default: '',
		placeholder: 'e.g. Welcome to our show!',
		description: 'The text to convert',
	},
	{
		displayName: 'Voice',
		name: 'voiceId',
		type: 'resourceLocator',
		required: true,
		default: { mode: 'list', value: '' },
		description: 'The voice to use',
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
			{ name: 'Flash V2.5', value: FLASH_V2_5, description: 'Fastest' },
			{
				name: 'Multilingual V2',
				value: MULTILINGUAL_V2,
				description: 'Natural speech in many languages',
			},
			{ name: 'Turbo V2.5', value: TURBO_V2_5, description: 'Balances quality and speed' },
			{ name: 'V3', value: V3, description: 'Newest and most expressive' },
		],
		default: MULTILINGUAL_V2,
		description: 'The speech model to use',
	},
	waitForCompletion,
	{ ...download, displayOptions: { ...NOT_FOR_TOOLS, show: { waitForCompletion: [true] } } },
	options(
		{
			displayName: 'Callback URL',
			name: 'callbackUrl',
			type: 'string',
			default: '',
			placeholder: 'e.g. https://example.com/speech-done',
			description: 'A URL that the service calls when the task is completed',
		},
		concurrency,
		maxPaid,
		pollInterval,
		outputField,
		setting('similarity', 'Similarity', 'How closely to match the original voice, from 0 to 1'),
		setting(
			'speed',
			'Speed',
			`How fast to speak, from ${SPEECH_SETTINGS.speed.min} to ${SPEECH_SETTINGS.speed.max}, where 1 is the natural pace of the voice`,
		),
		setting(
			'stability',
			'Stability',
			'How steady the speech is, from 0 (lively) to 1 (monotonous)',
		),
		setting(
			'style',
			'Style Exaggeration',
			"How much to exaggerate the voice's own style, from 0 to 1",
		),
		timeout('speech'),
		useSpeakerBoost,
	),
];

export const speakDescription = updateDisplayOptions(
	{ show: { resource: ['speech'], operation: ['speak'] } },
	speakFields,
);

/** §4.1, shape A. Every setting is sent, since documents and deployments disagree on the defaults. */
function readRequest(parameters: NodeParameters): SpeechRequest {
	const number = (name: Setting, displayName: string) =>
		parameters.numberOption(name, displayName, SPEECH_SETTINGS[name]);
	const callbackUrl = parameters.callbackUrl();
	return {
		input: parameters.text('text', 'Text'),
		voice_id: parameters.locator('voiceId', 'Voice'),
		model_id: parameters.choice('modelId', 'Model', MODEL_IDS),
		stability: number('stability', 'Stability'),
		similarity: number('similarity', 'Similarity'),
		style: number('style', 'Style Exaggeration'),
		speed: number('speed', 'Speed'),
		use_speaker_boost: parameters.flagOption('useSpeakerBoost', useSpeakerBoost.default),
		...(callbackUrl === undefined ? {} : { call_back_url: callbackUrl }),
	};
}

/** Speech → Speak: creates a task (§4.1), waits for it (§6.2, §4.2) and fetches its audio. */
export function speak(item: Item): Job {
	const { parameters, run, api } = item;
	const request = readRequest(parameters);
	const waits = parameters.flag('waitForCompletion', waitForCompletion.default);
	const wanted = readWaitFields(parameters);
	item.planPaid();

	return async () => {
		const key = run.resume.requestKey(item.index);
		const remembered = run.resume.find(key);
		if (remembered?.sentAt) run.paid.maybe(item.index, 'speech');
		if (remembered?.taskId) run.paid.surely(item.index, 'task', [remembered.taskId]);
		const deadline = startDeadline(wanted.timeoutMs, run.stopped);
		// Messages can precede the create call's answer, so the socket is there before the task.
		const subscription = waits ? run.subscribe() : undefined;
		try {
			const resumed = await taskToResume();
			let taskId = resumed;
			if (taskId === undefined) {
				if (remembered?.sentAt)
					throw new Failure('unclear', { maybeAccepted: true, isSpeech: true });
				// The deadline applies here, too.
				await Promise.race([subscription?.ready, whenAborted(deadline.signal)]);
				taskId = await create();
			} else {
				item.hint('resumed', 'Collected the task of an earlier attempt, at no extra charge');
			}
			run.paid.surely(item.index, 'task', [taskId]);
			if (!waits) return [item.output({ task_id: taskId, status: 'pending' })];
			const origin = { justCreated: resumed === undefined, isKnown: true };
			return await collect(item, taskId, wanted, deadline.signal, subscription!, origin).catch(
				(error: unknown) => {
					const failed = aboutTask(error, taskId!);
					if (isGone(failed)) run.resume.save(key, { taskId, doubtful: true });
					throw failed;
				},
			);
		} finally {
			subscription?.release();
			deadline.stop();
		}

		/** A failed task is worth nothing, but it is read once more before another is paid for. */
		async function taskToResume(): Promise<string | undefined> {
			const { taskId, doubtful } = remembered ?? {};
			if (taskId === undefined || !doubtful) return taskId;
			const task = await api.getTask(taskId, deadline.signal).catch((error: unknown) => {
				if (!isGone(error)) throw aboutTask(error, taskId);
			});
			return task === undefined || task.state === 'error' ? undefined : taskId;
		}

		async function create(): Promise<string> {
			// Another item's failure does not end it: its answer says what was paid for.
			const limit = startDeadline(wanted.timeoutMs, run.canceled);
			try {
				item.report('sending the text');
				const limits = {
					signal: limit.signal,
					begin: deadline.signal,
					onSend() {
						// The next try must not pay again for what may have been accepted.
						run.resume.save(key, { sentAt: Date.now() });
						item.log.asked();
						run.paid.maybe(item.index, 'speech');
						run.spending.sent();
					},
					onRefused() {
						run.resume.remove(key);
						run.paid.not(item.index);
						run.spending.refused();
					},
				};
				const send = async () => await api.createTask(request, limits);
				const taskId = await createdBy(run.context, run.credential, send, request.input).catch(
					(error: unknown) => {
						throw error instanceof Failure ? error.with({ isSpeech: true }) : error;
					},
				);
				run.resume.save(key, { taskId });
				item.tell(`task ${taskId} created`);
				item.log.paid('speech', taskId);
				return taskId;
			} finally {
				limit.stop();
			}
		}
	};
}

/** A 404 from an edge says nothing about the task. */
const isGone = (error: unknown) =>
	error instanceof Failure &&
	(error.kind === 'taskFailed' || (error.kind === 'notFound' && !error.facts.isEdge));
