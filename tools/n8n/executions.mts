import type { Rest } from './rest.mts';

const POLL_MS = 200;

/** Runs a workflow as the editor's button does; returns the execution's id. */
export async function runByHand(rest: Rest, workflowId: string, trigger: string): Promise<string> {
	const body = { triggerToStartFrom: { name: trigger } };
	return (await rest.request('POST', `/rest/workflows/${workflowId}/run`, body)).executionId;
}

/** Where an execution stands, as the list of executions shows it. */
export async function statusOf(rest: Rest, executionId: string): Promise<string> {
	return (await rest.request('GET', `/rest/executions/${executionId}`)).status;
}

/**
 * Resolves once an execution has one of the statuses; returns it. n8n tells nobody but an open
 * editor, so it is asked again and again. Throws after `timeoutMs`.
 */
export async function waitForStatus(
	rest: Rest,
	executionId: string,
	statuses: string[],
	timeoutMs = 60_000,
): Promise<string> {
	const until = Date.now() + timeoutMs;
	for (;;) {
		const status = await statusOf(rest, executionId);
		if (statuses.includes(status)) return status;
		if (Date.now() > until) {
			throw new Error(`Execution ${executionId} is ${status}, not ${statuses.join(' or ')}`);
		}
		await new Promise((resolve) => setTimeout(resolve, POLL_MS));
	}
}
