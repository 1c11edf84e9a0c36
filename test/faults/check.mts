import assert from 'node:assert/strict';
import type { WorkflowResult } from '../../demo/engine.mts';
import { eventually } from '../../tools/eventually.mts';
import { hasField } from '../service/operations.mts';
import { findToken } from './canary.mts';
import type { Stage } from './stage.mts';
import { NODE } from './workflow.mts';

/** What holds for each run, whatever went wrong. */

/** A run as n8n would save it, or anything else, errors with all their parts. */
export function saved(what: unknown): string {
	const seen = new WeakSet();
	return JSON.stringify(what, (_, value: unknown) => {
		if (typeof value !== 'object' || value === null) return value;
		if (seen.has(value)) return '[seen]';
		seen.add(value);
		if (!(value instanceof Error)) return value;
		const own = Object.getOwnPropertyNames(value);
		return Object.fromEntries(own.map((name) => [name, (value as never)[name] as unknown]));
	});
}

/** A message in plain words: not empty, no stack, nothing that a program says to itself. */
function assertPlain(text: unknown, what = 'the message'): asserts text is string {
	assert.equal(typeof text, 'string', `${what} is a text`);
	assert.match(text as string, /\w+ \w+/, `${what} has words`);
	const odd = /undefined|\[object|NaN|\.[jt]s:\d+|\bfunction\b|<!doctype|<html|\n/i;
	assert.doesNotMatch(text as string, odd, `${what} is plain`);
}

/** The words of a failed run, or of the item that failed in a run that went on. */
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

/** What was asked for came out whole: the files are the service's to the byte. */
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

/** Nothing is left open, and the token went nowhere but to the API. */
export async function assertClean(stage: Stage, result: WorkflowResult): Promise<void> {
	await eventually('all connections to be closed', 30_000, () => stage.open() === 0, 10);
	assert.deepEqual(stage.sim.leaks, [], 'the token stays with the API');
	const places = { run: saved(result.run), messages: stage.messages.join('\n') };
	assert.equal(findToken(stage.sim.token, places), undefined);
}
