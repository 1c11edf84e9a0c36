import assert from 'node:assert/strict';
import type { WorkflowResult } from '../../demo/engine.mts';
import { eventually } from '../../tools/eventually.mts';
import { hasField } from '../service/operations.mts';
import { findToken } from './canary.mts';
import type { Stage } from './stage.mts';
import { NODE } from './workflow.mts';

/* What must be true of each run, whatever the fault. */

/** Returns the JSON of a run as n8n would save it, or of any other value, with all fields of errors. */
export function saved(what: unknown): string {
	const seen = new WeakSet();
	return JSON.stringify(what, (_, value: unknown) => {
		if (typeof value !== 'object' || value === null) return value;
		if (seen.has(value)) return '[seen]';
		seen.add(value);
		if (!(value instanceof Error)) return value;
		const names = Object.getOwnPropertyNames(value);
		return Object.fromEntries(names.map((name) => [name, (value as never)[name] as unknown]));
	});
}

/** Asserts that a text is for people: it has words, and no stack, code or markup. */
function assertPlain(text: unknown, what = 'the message'): asserts text is string {
	assert.equal(typeof text, 'string', `${what} is a text`);
	assert.match(text as string, /\w+ \w+/, `${what} has words`);
	const odd = /undefined|\[object|NaN|\.[jt]s:\d+|\bfunction\b|<!doctype|<html|\n/i;
	assert.doesNotMatch(text as string, odd, `${what} is plain`);
}

/** Returns the message and the description of a failed run, or of its first item if the run went on. */
export function wordsOfFailure({ error, items }: WorkflowResult): string {
	const [item] = items(NODE);
	const message: unknown = error?.message ?? item?.json.error;
	const description: unknown = error?.description ?? item?.json.description;
	assert.ok(message, 'it failed');
	assertPlain(message);
	assert.doesNotMatch(message, /\[item|\(row/);
	assertPlain(description, 'the description');
	return `${message} ${description}`;
}

/** Asserts that a run has output everything, and that its files are identical to the service's. */
export async function assertWhole(
	{ sim, operation }: Stage,
	result: WorkflowResult,
	{ isFetched, isOwnFile = false }: { isFetched: boolean; isOwnFile?: boolean | undefined },
) {
	const { error } = result;
	assert.ok(!error, `It failed: ${error?.message} ${error?.description}`);
	const items = result.items(NODE);
	assert.ok(items.length > 0, 'something came out');
	for (const { json, binary, pairedItem } of items) {
		assert.deepEqual(pairedItem, { item: 0 });
		assert.equal(json.error, undefined);
		if (operation === 'speech:delete') assert.equal(json.deleted, true);
		if (/^speech/.test(operation)) assert.match(String(json.task_id), /\w/);
		const address = json.audio_url ?? json.file_url ?? (json.audio_urls as string[])?.[0];
		if (!isFetched || !hasField(operation, 'download')) continue;
		assert.equal(typeof address, 'string', `an address is in ${JSON.stringify(json)}`);
		assert.ok(binary?.data, 'a file is in the field "data"');
		if (isOwnFile) continue;
		const served = sim.fileBytes(String(address));
		assert.ok(served?.equals(await result.bytes(binary.data)), "the file is the service's");
	}
}

/** Asserts that all connections are closed, and that the token went only to the API. */
export async function assertClean(stage: Stage, result: WorkflowResult): Promise<void> {
	await eventually('all connections to be closed', 30_000, () => stage.countOpen() === 0, 10);
	assert.deepEqual(stage.sim.leaks, [], 'the token stays with the API');
	const places = { run: saved(result.run), messages: stage.messages.join('\n') };
	assert.equal(findToken(stage.sim.token, places), undefined);
}
