import { createHash } from 'node:crypto';
import {
	jsonStringify,
	type IBinaryData,
	type IExecuteFunctions,
	type INode,
	type INodeExecutionData,
} from 'n8n-workflow';
import { CREDENTIAL_TYPE } from '../../shared/http/credential';
import type { NodeParameters } from '../../shared/n8n/parameters';
import { filesInJson } from '../../shared/n8n/storedFile';
import { isRecord } from '../../shared/parsing/values';

/*
 * A retry that computes the same idempotency key as an earlier attempt collects its result instead of sending the
 * request again, so nothing is charged twice.
 *
 * The key contains the text of an expression, not its value: an expression such as `{{ $now }}` has another value in
 * each attempt. In a call by a model, the key contains the values instead, because they are what the model requests.
 */

/**
 * Parameters and options that the key does not contain, because they change neither the generated files nor the charge.
 * The exception is `splitLongerThan`: it decides where a text is split, but the key of each part contains where the
 * part begins and ends.
 */
export const IGNORED_IN_KEY = new Set([
	'callbackUrl',
	'concurrency',
	'download',
	'idleTimeout',
	'joinFiles',
	'maxPaidPerExecution',
	'outputField',
	'pollInterval',
	'splitLongerThan',
	'subtitles',
	'timeout',
	'waitForCompletion',
]);

/** Returns what the key contains for a parameter: for a resource locator, its value without the shown name. */
const valueInKey = (parameter: unknown) =>
	isRecord(parameter) && '__rl' in parameter ? parameter.value : parameter;

/** Returns the parameters and options of a node that the key contains, as pairs of name and value, sorted by name. */
function parametersInKey({ options, ...others }: Record<string, unknown>): unknown[][] {
	// `options` is a text if the whole collection is one expression.
	const optionValues = isRecord(options) ? options : { options };
	return Object.entries({ ...others, ...optionValues })
		.filter(([name, value]) => !IGNORED_IN_KEY.has(name) && value !== undefined)
		.map(([name, value]) => [name, valueInKey(value)])
		.sort();
}

/**
 * Returns what `parametersInKey` returns for the parameters of a node, but with the values of expressions for one item,
 * which `readRaw` reads. Throws n8n's error if an expression cannot be resolved.
 */
export const resolvedParametersInKey = (
	{ parameters }: INode,
	{ readRaw }: NodeParameters,
): unknown[][] =>
	parametersInKey(Object.fromEntries(Object.keys(parameters).map((name) => [name, readRaw(name)])));

/** Returns what identifies an item: its JSON and its files, without their ids, which a retry changes. */
export function itemIdentity({ json = {}, binary }: INodeExecutionData): unknown[] {
	const jsonFiles = filesInJson(json);
	const _files = Object.keys(jsonFiles).length > 0 ? undefined : json._files;
	const files = Object.entries({ ...binary, ...jsonFiles }).map(([field, file]) => {
		// A Code node can put anything into a binary field.
		const { fileName, mimeType, bytes, fileSize, data }: Partial<IBinaryData> = file ?? {};
		return [field, fileName, mimeType, bytes ?? fileSize ?? data?.length];
	});
	return [{ ...json, _files }, files];
}

/** Returns a digest of `parts`. It is made from their JSON, so it stays the same when n8n has saved and loaded them. */
export const digestOf = (...parts: unknown[]): string =>
	createHash('sha256')
		.update(jsonStringify(parts, { replaceCircularRefs: true }))
		.digest('hex')
		.slice(0, 32);

/** Returns for each text how many equal texts come before it. */
export function countEqualBefore(texts: string[]): number[] {
	const counts = new Map<string, number>();
	return texts.map((text) => {
		const count = counts.get(text) ?? 0;
		counts.set(text, count + 1);
		return count;
	});
}

/**
 * Returns a function that makes the idempotency key of an input item: `<credential>/<number>:<request>`, in which
 * `credential` and `request` are digests, and `number` says how many equal items come before this one. (With the item's
 * index instead, a manual run would charge a row again after another row was deleted.) Call `keyFactory` once per run
 * of the node. Both functions throw n8n's error if an expression cannot be resolved.
 *
 * In a call by a model, the idempotency key depends on the account, and not on the JSON of the item: a model may give
 * the same values in another order, and others that no parameter uses. Otherwise it depends on the id of the credential,
 * but not on the token, so a retry still collects the result after the user has corrected the token.
 */
export function keyFactory(context: IExecuteFunctions, isToolRun: boolean) {
	const node = context.getNode();
	const { id, name } = node.credentials?.[CREDENTIAL_TYPE] ?? {};
	const runIndex: unknown = isToolRun ? 'tool' : context.evaluateExpression('{{ $runIndex }}', 0);
	const runDigest = digestOf(runIndex, isToolRun ? [] : parametersInKey(node.parameters));
	const items = context.getInputData();
	const identityOf = (item: INodeExecutionData) => {
		const [json, files] = itemIdentity(item);
		return isToolRun ? [files] : [json, files];
	};
	let equalItemsBefore: number[] | undefined;
	return (index: number, accountKey: string, parameters: NodeParameters): string => {
		// Operations that are free need no keys, so they do not read all items.
		equalItemsBefore ??= countEqualBefore(items.map((item) => digestOf(identityOf(item))));
		const callParameters = isToolRun ? resolvedParametersInKey(node, parameters) : [];
		const requestDigest = digestOf(runDigest, callParameters, identityOf(items[index]!));
		return `${digestOf(id ?? name, isToolRun ? accountKey : '')}/${equalItemsBefore[index]!}:${requestDigest}`;
	};
}
