import { createHash } from 'node:crypto';
import { jsonStringify, type IExecuteFunctions, type INodeExecutionData } from 'n8n-workflow';
import { CREDENTIAL_TYPE } from '../../shared/http/request';
import { isRecord } from '../../shared/parsing/values';

/*
 * How a retry recognises a request: by the node's parameters and the input item, not by the values
 * of expressions, since `{{ $now }}` or a resume URL changes with each attempt.
 */

/** Parameters and options that don't change what is paid for: with others, a retry still collects it. */
const IGNORED_IN_KEY = new Set([
	...[
		'callbackUrl',
		'concurrency',
		'download',
		'idleTimeout',
		'maxPaidPerExecution',
		'outputField',
	],
	...['pollInterval', 'splitLongerThan', 'subtitles', 'timeout', 'waitForCompletion'],
]);

/** Of a resource locator only the value counts, not its mode or the cached name. */
const valueOf = (held: unknown) => (isRecord(held) && '__rl' in held ? held.value : held);

/** The unresolved parameters that decide what is paid for, each as its name and value. */
function paidParameters({ options, ...others }: Record<string, unknown>): unknown[][] {
	// The whole collection may be an expression.
	const chosen = isRecord(options) ? options : { options };
	return Object.entries({ ...others, ...chosen })
		.filter(([name, value]) => !IGNORED_IN_KEY.has(name) && value !== undefined)
		.map(([name, value]) => [name, valueOf(value)])
		.sort();
}

/**
 * The same for a model's call. Its unresolved parameters never change, so its calls are told apart by
 * what expressions resolve to.
 */
const calledParameters = (context: IExecuteFunctions, index: number): unknown[] =>
	paidParameters(context.getNode().parameters).map(([name, value]) => {
		const isExpression = typeof value === 'string' && value.startsWith('=');
		return [name, isExpression ? context.evaluateExpression(value.slice(1), index) : value];
	});

/**
 * What distinguishes one input item from another. Files count by name, type and size, since n8n
 * renames their ids at the end of an execution. The id of a model's call changes with each call.
 */
function itemIdentity({ json: { _files, ...json }, binary }: INodeExecutionData): unknown[] {
	// n8n's combined binary mode keeps files in the json.
	const all = { ...binary, ...(_files as typeof binary) };
	const files = Object.entries(all).map(
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
 * The keys under which the requests of a run's items are kept, by the item's index: the account, and what
 * it asks for. `account`: '' where all have that of the node's credential, also with a new token. A loop's
 * next round is another request; a model's repeated call is the same one.
 */
export function keyFactory(context: IExecuteFunctions, isTool: boolean) {
	const { parameters, credentials } = context.getNode();
	const { id, name } = credentials?.[CREDENTIAL_TYPE] ?? {};
	const round: unknown = isTool ? 'tool' : context.evaluateExpression('{{ $runIndex }}', 0);
	const ofRun = digestOf(round ?? 0, isTool ? [] : paidParameters(parameters));
	const items = context.getInputData();
	return (index: number, account: string): string => {
		const callParameters = isTool ? calledParameters(context, index) : [];
		const request = digestOf(ofRun, callParameters, itemIdentity(items[index]!));
		return `${digestOf(id ?? name, account)}/${index}:${request}`;
	};
}
