import type { WorkflowResult } from '../../demo/engine.mts';
import { HISTORY, NODE, sim } from './setup';

export { saved } from '../faults/check.mts';

/* What the node put out, and what the service saw of it. */

/** What the node put out. */
export const out = (result: WorkflowResult) => result.items(NODE);

/** The messages of the node's hints. */
export const hints = (result: WorkflowResult) => result.hints(NODE).map(({ message }) => message);

/** Output items, or the node's error thrown, so that a test fails with its words. */
export function good(result: WorkflowResult) {
	if (result.error) throw result.error;
	return out(result);
}

/** The error that ended the execution; throws when there was none. */
export function bad(result: WorkflowResult) {
	const { error } = result;
	if (!error) throw new Error(`The execution did not fail: ${JSON.stringify(out(result))}`);
	const { message, name } = error;
	const description = String(error.description ?? '');
	const { itemIndex } = error.context as { itemIndex?: number };
	return { message, description, name, itemIndex, all: `${message} ${description}` };
}

/**
 * Waits until the service has neither sockets nor running requests of the node. What stays open stays
 * for long; tests of how soon it ends say within what time.
 */
export async function allClosed(withinMs = 10_000): Promise<void> {
	await sim.waitFor(() => sim.sockets() === 0 && sim.openConnections() === 0, withinMs);
}

/** Requests to one kind of address, in order. */
export const requests = (method: string, pathPrefix: string) =>
	sim.requests.filter((record) => record.method === method && record.path.startsWith(pathPrefix));

/** Create calls, however they were answered. */
export const posts = () => sim.count('POST', '/v1/');

/** Readings of speech tasks. */
export const readings = (taskId = '') => requests('GET', `/v1/labs/task/${taskId}`);

/** How often the history was read. */
export const looks = () => sim.count('GET', HISTORY);

/** All speech tasks, in the order in which they were created. */
export const tasks = () => [...sim.tasks.values()];

/** The speech task whose text begins so. */
export const taskOf = (text: string) => tasks().find(({ input }) => input.startsWith(text))!;
