import { createHash } from 'node:crypto';
import { jsonStringify, type IExecuteFunctions, type INodeExecutionData } from 'n8n-workflow';
import { CREDENTIAL_TYPE } from '../../shared/http/request';
import { isRecord } from '../../shared/parsing/values';

/*
 * A retry that computes the same idempotency key collects the result, and is not charged again. The key contains the
 * text of an expression, not its value, because the value of `{{ $now }}` changes with each attempt. Only in calls by a
 * model it contains the values.
 */

/**
 * Parameters and options that the key does not contain, because they change neither the generated files nor the charge.
 * The exception is `splitLongerThan`, whose effect is in the key of each part.
 */
export const IGNORED_IN_KEY = new Set([
	...[
		'callbackUrl',
		'concurrency',
		'download',
		'idleTimeout',
		'joinFiles',
		'maxPaidPerExecution',
		'outputField',
	],
	...['pollInterval', 'splitLongerThan', 'subtitles', 'timeout', 'waitForCompletion'],
]);

/** Returns the part of a parameter that the key contains. Of a resource locator, that is only its value. */
const keyValueOf = (parameter: unknown) =>
	isRecord(parameter) && '__rl' in parameter ? parameter.value : parameter;

/** Returns the parameters and options of a node that the key contains, as sorted pairs of name and value. */
export function keyParameters({ options, ...others }: Record<string, unknown>): unknown[][] {
	// `options` is a text if the whole collection is one expression.
	const optionValues = isRecord(options) ? options : { options };
	return Object.entries({ ...others, ...optionValues })
		.filter(([name, value]) => !IGNORED_IN_KEY.has(name) && value !== undefined)
		.map(([name, value]) => [name, keyValueOf(value)])
		.sort();
}

/**
 * Returns the parameters that the key of a call by a model contains. Expressions are resolved, because their values
 * contain what the model requests.
 */
const resolvedParameters = (context: IExecuteFunctions, index: number): unknown[] =>
	keyParameters(context.getNode().parameters).map(([name, value]) => {
		const isExpression = typeof value === 'string' && value.startsWith('=');
		return [name, isExpression ? context.evaluateExpression(value.slice(1), index) : value];
	});

/**
 * Returns the values by which a retry recognizes an input item. The ids of files and `toolCallId` are left out, because
 * they change between attempts.
 */
function itemIdentity({ json: { _files, ...json }, binary }: INodeExecutionData): unknown[] {
	// In n8n's combined binary mode, the files of an item are in its json.
	const allFiles = { ...binary, ...(_files as typeof binary) };
	const files = Object.entries(allFiles).map(
		([field, { fileName, mimeType, bytes, fileSize, data }]) => [
			field,
			fileName,
			mimeType,
			bytes ?? fileSize ?? data.length,
		],
	);
	return [{ ...json, toolCallId: undefined }, files];
}

/** Returns a digest of the JSON of `parts`, which does not change when n8n saves and loads them. */
export const digestOf = (...parts: unknown[]): string =>
	createHash('sha256')
		.update(jsonStringify(parts, { replaceCircularRefs: true }))
		.digest('hex')
		.slice(0, 32);

/**
 * Returns a function that makes the idempotency key of an item, `<account>/<index>:<request>`. Call `keyFactory` once
 * per run of the node.
 *
 * The argument `account` of that function is the account's key for a call by a model. For an item it is '': the key
 * then contains only the id of the credential, so a retry after the user has corrected the token still collects the
 * result.
 */
export function keyFactory(context: IExecuteFunctions, isTool: boolean) {
	const { parameters, credentials } = context.getNode();
	const { id, name } = credentials?.[CREDENTIAL_TYPE] ?? {};
	const round: unknown = isTool ? 'tool' : context.evaluateExpression('{{ $runIndex }}', 0);
	const runDigest = digestOf(round ?? 0, isTool ? [] : keyParameters(parameters));
	const items = context.getInputData();
	return (index: number, account: string): string => {
		const callParameters = isTool ? resolvedParameters(context, index) : [];
		const requestDigest = digestOf(runDigest, callParameters, itemIdentity(items[index]!));
		return `${digestOf(id ?? name, account)}/${index}:${requestDigest}`;
	};
}
