import type { INode, INodeExecutionData, IRun } from 'n8n-workflow';
import type { RunningWorkflow, WorkflowResult } from '../../demo/engine.mts';
import { NODE, sim } from './setup';

export { saved } from '../faults/check.mts';

/* What came of a run. */

/** What the node put out. */
export const out = (result: WorkflowResult) => result.items(NODE);

/** The run as n8n stores it: nothing that a retry does changes it. */
export const stored = ({ run }: WorkflowResult): IRun => JSON.parse(JSON.stringify(run)) as IRun;

/** The run as n8n has stored it, about to be retried with the node as it is now. */
export function storedWith(failed: WorkflowResult, subject: INode): IRun {
	const retryOf = stored(failed);
	retryOf.data.executionData!.nodeExecutionStack[0]!.node = subject;
	return retryOf;
}

/** The messages of the node's hints. */
export const hints = (result: WorkflowResult) => result.hints(NODE).map(({ message }) => message);

/** Output items, or the node's error thrown, so that a test fails with its words. */
export function good(result: WorkflowResult) {
	if (result.error) throw result.error;
	return out(result);
}

/** The only item that the node put out. */
export function only(result: WorkflowResult) {
	const items = good(result);
	expect(items).toHaveLength(1);
	return items[0]!;
}

/** The number of the input item that each of these came from. */
export const origins = (items: INodeExecutionData[]) =>
	items.map(({ pairedItem }) => (pairedItem as { item: number }).item);

/** The file of an item is the service's, byte for byte. */
export async function expectServed(
	result: WorkflowResult,
	{ binary, json }: INodeExecutionData = only(result),
	field = 'data',
) {
	const served = sim.fileBytes(String(json.audio_url ?? json.file_url))!;
	// Jest takes minutes to show how large buffers differ.
	expect((await result.bytes(binary![field]!)).equals(served)).toBe(true);
}

/** The error that ended the execution; throws when there was none. */
export function bad(result: WorkflowResult) {
	const { error } = result;
	if (!error) {
		const output = JSON.stringify(out(result).map(({ json }) => json));
		throw new Error(`The execution did not fail: ${output}`);
	}
	const { message, name } = error;
	const description = String(error.description ?? '');
	const { itemIndex } = error.context as { itemIndex?: number };
	return { message, description, name, itemIndex, all: `${message} ${description}` };
}

/**
 * Waits until the service has neither sockets nor running requests of the node. What stays open stays
 * open for long; tests of how soon it closes say within what time.
 */
export async function allClosed(withinMs = 10_000): Promise<void> {
	await sim.waitFor(
		() => sim.countOpenSockets() === 0 && sim.countOpenConnections() === 0,
		withinMs,
	);
}

/** Cancels an execution, which closes everything within a second. */
export async function stop(execution: RunningWorkflow): Promise<WorkflowResult> {
	execution.cancel();
	const result = await execution.finished;
	expect(result.run.status).toBe('canceled');
	await allClosed(1000);
	return result;
}
