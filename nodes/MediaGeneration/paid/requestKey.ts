import { createHash } from 'node:crypto';
import { jsonStringify, type IExecuteFunctions, type INodeExecutionData } from 'n8n-workflow';
import { ASPECT_RATIOS, MODEL_IDS, NUMBER_OF_VIDEOS, SPEECH_SETTINGS } from '../../shared/contract';
import {
	FIRST_RESOURCE,
	FIRST_SPEECH_OPERATION,
	INPUT_FIELD,
	useSpeakerBoost,
} from '../../shared/n8n/descriptions';
import { isRecord } from '../../shared/parsing/coerce';

/**
 * What a retry recognises a request by: what the node holds and the item it works on, never what
 * expressions make of it, since `{{ $now }}` or a resume URL is another one with each try.
 */

/**
 * The parameters that make up what is paid for, with what they are when not set. A longer timeout or
 * another output field asks for the same.
 */
const PARAMETERS: Record<string, unknown> = {
	resource: FIRST_RESOURCE,
	operation: FIRST_SPEECH_OPERATION,
	text: '',
	voiceId: '',
	modelId: MODEL_IDS[0],
	prompt: '',
	aspectRatio: ASPECT_RATIOS[0],
	numberOfVideos: NUMBER_OF_VIDEOS.default,
	binaryPropertyName: INPUT_FIELD,
};

/** The same of the options. */
const OPTIONS: Record<string, unknown> = {
	...Object.fromEntries(
		Object.entries(SPEECH_SETTINGS).map(([name, { default: byDefault }]) => [name, byDefault]),
	),
	useSpeakerBoost: useSpeakerBoost.default,
	prompt: '',
};

const valuesOf = (held: Record<string, unknown>, defaults: Record<string, unknown>) =>
	Object.entries(defaults).map(([name, byDefault]) => held[name] ?? byDefault);

/** Values of an expression that change by themselves from one try to the next. */
const PASSING =
	/\$now|\$today|\$execution|\$resume|\$runIndex|toolCallId|random|\bDate(?:Time)?\b/i;

/** The unresolved values of the parameters that make up a request, as the node holds them. */
export function requestParameters(parameters: Record<string, unknown>): unknown[] {
	const { options } = parameters;
	const chosen = isRecord(options) ? options : {};
	return [
		// Of a resource locator only the value counts: its mode and the name shown are looks.
		...valuesOf(parameters, PARAMETERS).map((value) => (isRecord(value) ? value.value : value)),
		...valuesOf(chosen, OPTIONS),
		// The options as a whole may be an expression as well.
		chosen === options ? undefined : options,
	];
}

/**
 * The same for a call of a model, whose unresolved parameters are the same each time: what tells its
 * calls apart is what expressions make of them, except of those that change by themselves.
 */
export function calledParameters(context: IExecuteFunctions, index: number): unknown[] {
	return requestParameters(context.getNode().parameters).map((value) => {
		if (typeof value !== 'string' || !value.startsWith('=')) return value;
		const lasting = value
			.slice(1)
			.replace(/\{\{[\s\S]*?\}\}/g, (expression) => (PASSING.test(expression) ? '' : expression));
		return [value, context.evaluateExpression(lasting, index)];
	});
}

/**
 * What tells an input item from another. Its files count by name, type and size: n8n renames their
 * ids at the end of an execution. The id of a model's call is another one with each call.
 */
export function itemIdentity({ json, binary = {} }: INodeExecutionData): unknown[] {
	const files = Object.entries(binary).map(
		([field, { fileName, mimeType, bytes, fileSize, data }]) => [
			field,
			fileName,
			mimeType,
			bytes ?? fileSize ?? data.length,
		],
	);
	return [{ ...json, toolCallId: undefined }, files];
}

/** A short text that is the same for the same `parts`, also once n8n has stored and read them. */
export const digestOf = (...parts: unknown[]): string =>
	createHash('sha256')
		.update(jsonStringify(parts, { replaceCircularRefs: true }))
		.digest('hex')
		.slice(0, 32);
