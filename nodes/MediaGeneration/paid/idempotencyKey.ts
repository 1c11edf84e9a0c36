import { createHash } from 'node:crypto';
import { jsonStringify, type IExecuteFunctions, type INodeExecutionData } from 'n8n-workflow';
import { CREDENTIAL_TYPE } from '../../shared/http/request';
import { isRecord } from '../../shared/parsing/values';

/*
 * The idempotency key of a request: a retry that computes the same key collects the result instead of paying again. The
 * key depends above all on the node's parameters and the input item (see `keyFactory`). Expressions count unresolved,
 * since the value of `{{ $now }}` or of a resume URL changes with each attempt. Only in a call by a model do they count
 * resolved.
 */

/**
 * Parameters and options that do not count in the key, because they change neither what is generated nor what is
 * charged. A retry with other values for them still collects. `splitLongerThan` does change what is charged, but the key
 * of each part already says how the text is split.
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

/** A resource locator counts by its value alone. Its mode and its cached name do not matter. */
const keyValueOf = (parameter: unknown) =>
	isRecord(parameter) && '__rl' in parameter ? parameter.value : parameter;

/**
 * Returns those of a node's parameters that decide what is charged, as sorted pairs of name and value. The
 * options in `options` count like parameters.
 */
export function paidParameters({ options, ...others }: Record<string, unknown>): unknown[][] {
	// `options` is a text if the whole collection is one expression.
	const optionValues = isRecord(options) ? options : { options };
	return Object.entries({ ...others, ...optionValues })
		.filter(([name, value]) => !IGNORED_IN_KEY.has(name) && value !== undefined)
		.map(([name, value]) => [name, keyValueOf(value)])
		.sort();
}

/**
 * Returns the parameters that decide what is charged, for a call by a model. What the model requests is in the values
 * of the expressions, so expressions count resolved. Unresolved, they would be the same in all calls.
 */
const resolvedParameters = (context: IExecuteFunctions, index: number): unknown[] =>
	paidParameters(context.getNode().parameters).map(([name, value]) => {
		const isExpression = typeof value === 'string' && value.startsWith('=');
		return [name, isExpression ? context.evaluateExpression(value.slice(1), index) : value];
	});

/**
 * Returns what distinguishes an input item from others. Files count by name, type and size: n8n changes their
 * ids at the end of an execution. `toolCallId` does not count: each call by a model has a new one.
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

/**
 * Returns a digest of `parts`, 32 hexadecimal digits long. It is the same after n8n has saved them as JSON and loaded
 * them again.
 */
export const digestOf = (...parts: unknown[]): string =>
	createHash('sha256')
		.update(jsonStringify(parts, { replaceCircularRefs: true }))
		.digest('hex')
		.slice(0, 32);

/**
 * Returns a function that makes the idempotency key of an item. Call `keyFactory` once per run of the node. A key is
 * `<account>/<index>:<request>`. The next round of a loop gets other keys; a model that repeats a call gets the same
 * key. If a text is split, the journal appends the range of each part to the key, such as `/0-2500`.
 *
 * The argument `account` of that function is the account's key if the run has several accounts, or if a model calls the
 * node. Otherwise it is '': then only the node's credential counts, so a retry with a new token in it still collects.
 */
export function keyFactory(context: IExecuteFunctions, isTool: boolean) {
	const { parameters, credentials } = context.getNode();
	const { id, name } = credentials?.[CREDENTIAL_TYPE] ?? {};
	const round: unknown = isTool ? 'tool' : context.evaluateExpression('{{ $runIndex }}', 0);
	const runDigest = digestOf(round ?? 0, isTool ? [] : paidParameters(parameters));
	const items = context.getInputData();
	return (index: number, account: string): string => {
		const callParameters = isTool ? resolvedParameters(context, index) : [];
		const request = digestOf(runDigest, callParameters, itemIdentity(items[index]!));
		return `${digestOf(id ?? name, account)}/${index}:${request}`;
	};
}
