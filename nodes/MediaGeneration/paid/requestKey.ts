import { createHash } from 'node:crypto';
import {
	jsonStringify,
	type IDataObject,
	type IExecuteFunctions,
	type INodeExecutionData,
} from 'n8n-workflow';
import { ASPECT_RATIOS, MODEL_IDS, NUMBER_OF_VIDEOS, SPEECH_SETTINGS } from '../../shared/contract';
import {
	FIRST_RESOURCE,
	FIRST_SPEECH_OPERATION,
	INPUT_FIELD,
	useSpeakerBoost,
} from '../../shared/n8n/descriptions';
import type { Credential } from '../../shared/http/credential';
import { CREDENTIAL_TYPE } from '../../shared/http/request';
import { isRecord } from '../../shared/parsing/coerce';
import { isOfProcess } from './paidLog';

/**
 * How a retry recognises a request: by the node's parameters and the input item, never by the values
 * of expressions, since `{{ $now }}` or a resume URL changes with each attempt.
 */

/**
 * The parameters that decide what is paid for, with their defaults. A longer timeout or another
 * output field still asks for the same.
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

/** The same for the options. */
const OPTIONS: Record<string, unknown> = {
	...Object.fromEntries(
		Object.entries(SPEECH_SETTINGS).map(([name, { default: byDefault }]) => [name, byDefault]),
	),
	useSpeakerBoost: useSpeakerBoost.default,
	prompt: '',
};

const valuesOf = (held: Record<string, unknown>, defaults: Record<string, unknown>) =>
	Object.entries(defaults).map(([name, byDefault]) => held[name] ?? byDefault);

/** Parts of an expression whose value changes from one attempt to the next. */
const PASSING =
	/\$now|\$today|\$execution|\$resume|\$runIndex|toolCallId|random|\bDate(?:Time)?\b/i;

/** The unresolved values of the parameters that decide what is paid for. */
function requestParameters(parameters: Record<string, unknown>): unknown[] {
	const { options } = parameters;
	const chosen = isRecord(options) ? options : {};
	return [
		// Of a resource locator only the value counts, not its mode or the cached name.
		...valuesOf(parameters, PARAMETERS).map((value) => (isRecord(value) ? value.value : value)),
		...valuesOf(chosen, OPTIONS),
		// The whole collection may be an expression.
		chosen === options ? undefined : options,
	];
}

/**
 * The same for a model's call. Its unresolved parameters never change, so its calls are told apart by
 * what expressions resolve to, except for parts that change with each attempt.
 */
function calledParameters(context: IExecuteFunctions, index: number): unknown[] {
	return requestParameters(context.getNode().parameters).map((value) => {
		if (typeof value !== 'string' || !value.startsWith('=')) return value;
		const lasting = value
			.slice(1)
			.replace(/\{\{[\s\S]*?\}\}/g, (expression) => (PASSING.test(expression) ? '' : expression));
		return [value, context.evaluateExpression(lasting, index)];
	});
}

/**
 * What distinguishes one input item from another. Files count by name, type and size, since n8n
 * renames their ids at the end of an execution. The id of a model's call changes with each call.
 */
function itemIdentity({ json, binary = {} }: INodeExecutionData): unknown[] {
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

/** A short digest of `parts`; the same again after n8n has stored and read them. */
const digestOf = (...parts: unknown[]): string =>
	createHash('sha256')
		.update(jsonStringify(parts, { replaceCircularRefs: true }))
		.digest('hex')
		.slice(0, 32);

/**
 * The keys under which the requests of a run's items are kept in `store`, by the item's index. A loop's
 * next round is another request; a model's repeated call is the same one.
 */
export function keysIn(
	store: IDataObject,
	context: IExecuteFunctions,
	isTool: boolean,
	{ accountKey }: Credential,
): (index: number) => string {
	const { name, parameters, credentials } = context.getNode();
	const { id, name: credentialName } = credentials?.[CREDENTIAL_TYPE] ?? {};
	const account = isOfProcess(store) ? [accountKey, name] : [id ?? credentialName];
	const round = () => context.evaluateExpression('{{ $runIndex }}', 0) ?? 0;
	const common = isTool
		? (index: number) => digestOf('tool', account, calledParameters(context, index))
		: () => ofRun;
	const ofRun = isTool ? '' : digestOf(round(), account, requestParameters(parameters));
	const items = context.getInputData();
	return (index) => `${index}:${digestOf(common(index), itemIdentity(items[index]!))}`;
}
