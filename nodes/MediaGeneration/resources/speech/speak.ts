import type { INodeExecutionData, INodeProperties } from 'n8n-workflow';
import { MODEL_IDS, SPEAK, SPEECH_SETTINGS } from '../../../shared/contract';
import { splitText } from './splitText';
import { Failure, invalidInput } from '../../../shared/failure';
import {
	downloadField,
	maxPaidField,
	NOT_FOR_TOOLS,
	optionsField,
	type NumberField,
} from '../../../shared/n8n/descriptions';
import { isBlank } from '../../../shared/parsing/values';
import type { NodeParameters } from '../../../shared/n8n/parameters';
import { collectableTasks, type JournalEntry } from '../../paid/journal';
import { countEqualBefore, digestOf } from '../../paid/idempotencyKey';
import type { BillableTask, ItemContext, Operation } from '../../run/operation';
import { collectOptionFields, readCollectOptions } from './collectTask';
import { collectAsOne, MAX_PARTS, runParts } from './parts';
import { submit, type SpeechOrder } from './submit';

const [MULTILINGUAL_V2, TURBO_V2_5, FLASH_V2_5, V3] = MODEL_IDS;

const { min: SLOWEST, max: FASTEST } = SPEECH_SETTINGS.speed;

/** The display name and the description of each voice setting. */
const SETTING_TEXTS: Record<keyof typeof SPEECH_SETTINGS, [string, string]> = {
	similarity: [
		'Voice: Similarity',
		'How closely to match the original voice, from 0 (loosely) to 1 (exactly)',
	],
	speed: [
		'Voice: Speed',
		`How fast the voice speaks, from ${SLOWEST} to ${FASTEST}, where 1 is its natural pace`,
	],
	stability: ['Voice: Stability', 'How steady the speech is, from 0 (lively) to 1 (monotonous)'],
	style: [
		'Voice: Style Exaggeration',
		'How much to exaggerate the style of the voice, from 0 to 1',
	],
};

/** The fields of the voice settings. Their names are also those in the request. */
const settingFields = Object.entries(SETTING_TEXTS).map(
	([name, [displayName, description]]): NumberField => {
		const range = SPEECH_SETTINGS[name as keyof typeof SPEECH_SETTINGS];
		const { min: minValue, max: maxValue, default: defaultValue } = range;
		const typeOptions = { minValue, maxValue, numberPrecision: 2, numberStepSize: 0.05 };
		return { displayName, name, type: 'number', typeOptions, default: defaultValue, description };
	},
);

const speakerBoostField = {
	displayName: 'Voice: Speaker Boost',
	name: 'useSpeakerBoost',
	type: 'boolean',
	default: true,
	description:
		'Whether the speech should sound even more like the original speaker, on top of Voice: Similarity',
} satisfies INodeProperties;

const splitLongerThanField: NumberField = {
	displayName: 'Split Text Longer Than',
	name: 'splitLongerThan',
	type: 'number',
	typeOptions: { minValue: 0, numberPrecision: 0 },
	default: 0,
	description:
		'The longest text, in characters, that your service accepts, such as 2500. A longer text is split between paragraphs or sentences, and WAV or MP3 parts are joined into one file. Each part is a separate, charged task. 0 never splits.',
};

const waitForCompletionField = {
	displayName: 'Wait for Completion',
	name: 'waitForCompletion',
	type: 'boolean',
	default: true,
	description:
		'Whether to wait until the audio is ready. Turn off to get just the task ID right away, and get the audio later with Speech → Collect, at no extra charge.',
} satisfies INodeProperties;

const textField: INodeProperties = {
	displayName: 'Text',
	name: 'text',
	type: 'string',
	typeOptions: { rows: 4 },
	required: true,
	default: '',
	placeholder: 'e.g. Welcome to our show!',
	description:
		'The text to convert to speech. If it is longer than your service allows, add the option Split Text Longer Than.',
};

const voiceField: INodeProperties = {
	displayName: 'Voice',
	name: 'voiceId',
	type: 'resourceLocator',
	required: true,
	default: { mode: 'list', value: '' },
	description:
		'The voice that reads the text. Search by name, language, gender, age or use. The arrow (↗) beside a voice plays a preview.',
	builderHint: { propertyHint: 'Required. By ID: a voice_id from Voice → Get Many' },
	modes: [
		{
			displayName: 'From List',
			name: 'list',
			type: 'list',
			placeholder: 'Select a voice...',
			typeOptions: { searchListMethod: 'searchVoices', searchable: true },
			hint: 'To hear a preview of a voice, point at it in the list and click the arrow (↗)',
		},
		{
			displayName: 'By ID',
			name: 'id',
			type: 'string',
			placeholder: 'e.g. 21m00Tcm4TlvDq8ikWAM',
			hint: 'Enter a voice ID, not a name. To search by name, switch to From list.',
		},
	],
};

const modelField: INodeProperties = {
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
		{ name: 'Turbo V2.5', value: TURBO_V2_5, description: 'Good quality at high speed' },
		{ name: 'V3', value: V3, description: 'Newest and most expressive' },
	],
	default: MULTILINGUAL_V2,
	description: 'The speech model to use',
};

const callbackUrlField: INodeProperties = {
	displayName: 'Callback URL',
	name: 'callbackUrl',
	type: 'string',
	default: '',
	placeholder: 'e.g. https://example.com/speech-done',
	description: 'A URL that the service calls when the task is completed',
};

const fields: INodeProperties[] = [
	textField,
	voiceField,
	modelField,
	waitForCompletionField,
	{
		...downloadField,
		displayOptions: { ...NOT_FOR_TOOLS, show: { waitForCompletion: [true] } },
	},
	optionsField(
		...collectOptionFields,
		callbackUrlField,
		maxPaidField,
		splitLongerThanField,
		speakerBoostField,
		...settingFields,
	),
];

/** Builds the request body (§4.1). It contains every setting, because the defaults of services differ. */
function buildRequestBody(parameters: NodeParameters) {
	const settings = settingFields.map((field) => [field.name, parameters.number(field)]);
	return {
		input: parameters.text(textField),
		voice_id: parameters.locator(voiceField),
		model_id: parameters.choice(modelField, MODEL_IDS),
		...Object.fromEntries(settings),
		use_speaker_boost: parameters.flag(speakerBoostField),
		// JSON leaves out an undefined value.
		call_back_url: parameters.urlOption(callbackUrlField),
	};
}

/** Splits a long text into parts, each charged. Throws a Failure if it cannot be split, or has too many parts. */
function splitIntoParts(parameters: NodeParameters, text: string): string[] {
	const { displayName } = splitLongerThanField;
	const maxLength = parameters.number(splitLongerThanField);
	if (maxLength === 0 || text.length <= maxLength) return [text];
	const parts: string[] = [];
	try {
		for (const part of splitText(text, maxLength)) {
			if (!isBlank(part)) parts.push(part);
			if (parts.length > MAX_PARTS) break;
		}
	} catch {
		throw invalidInput(
			displayName,
			'is too small: a single character or tag of the text is longer than that',
			'Enter a higher number',
		);
	}
	if (parts.length <= MAX_PARTS) return parts;
	throw invalidInput(
		displayName,
		`would split the text (${text.length} characters) into more than ${MAX_PARTS} parts (the maximum)`,
		'Enter a higher number if your service accepts longer texts, shorten the text, or pass it as several items',
	);
}

/** Reads the fields, and returns a task with one create call per part of the text (see `Operation.prepare`). */
function prepare(item: ItemContext): BillableTask {
	const { parameters, output } = item;
	const requestBody = buildRequestBody(parameters);
	const parts = splitIntoParts(parameters, requestBody.input);
	const waitsForCompletion = parameters.flag(waitForCompletionField);
	const collectOptions = readCollectOptions(parameters);
	// A part is recognized by its text, and by how many earlier parts have the same text. If it were recognized by its
	// position, a retry of a text that has changed could join parts that overlap.
	const equalPartsBefore = countEqualBefore(parts);
	const partKeys = parts.map((part, index) => `/${digestOf(part)}-${equalPartsBefore[index]!}`);
	return { callKeys: parts.length === 1 ? [''] : partKeys, run };

	async function run(entries: JournalEntry[]): Promise<INodeExecutionData[]> {
		const orders = entries.map((entry, index): SpeechOrder => {
			return { operation: SPEAK, requestBody: { ...requestBody, input: parts[index]! }, entry };
		});
		try {
			if (waitsForCompletion) return await collectAsOne(item, collectOptions, orders);
			const { timeoutMs } = collectOptions;
			const tasks = await runParts(item, orders, timeoutMs, async (part, order) => {
				return await submit(part, order, timeoutMs);
			});
			const taskIds = tasks.map(({ taskId }) => taskId);
			const status = 'pending';
			if (taskIds.length === 1) return [output({ task_id: taskIds[0], status })];
			return [output({ task_ids: taskIds, parts: taskIds.length, status })];
		} catch (error) {
			throw withTasks(error, entries);
		}
	}
}

/**
 * If one of several parts has failed, adds to its Failure the ids of the tasks that can be collected, and the numbers
 * of the other parts that may have been charged. Returns any other error as it is.
 */
function withTasks(error: unknown, entries: JournalEntry[]): unknown {
	if (entries.length === 1 || !(error instanceof Failure)) return error;
	const failedPart = Number.parseInt(error.facts.part ?? '');
	const indeterminateParts = entries.flatMap(({ value }, index) =>
		value?.state === 'sent' && index + 1 !== failedPart ? [index + 1] : [],
	);
	return error.withDefaults({ ...collectableTasks(entries), indeterminateParts });
}

/** Speech → Text to Speech: creates tasks (§4.1), waits for them (§6.2, §4.2), and fetches their audio. */
export const speak: Operation = {
	option: {
		name: 'Text to Speech',
		value: 'speak',
		description: 'Convert text to speech and get the audio file',
		action: 'Convert text to speech',
	},
	fields,
	prepare,
};
