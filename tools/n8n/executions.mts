/* Executions of an n8n server, over its REST interface. */
import { parse } from 'flatted';
import type { ExecutionStatus, IRunExecutionData } from 'n8n-workflow';
import type { Rest } from './rest.mts';

const POLL_MS = 200;

export interface Execution {
	id: string;
	status: ExecutionStatus;
	data: IRunExecutionData;
}

/** Runs a workflow as the editor's button does; returns the execution's id. */
export async function runByHand(rest: Rest, workflowId: string, trigger: string): Promise<string> {
	const body = { triggerToStartFrom: { name: trigger } };
	return (await rest.request('POST', `/rest/workflows/${workflowId}/run`, body)).executionId;
}

/** Publishes a workflow; resolves once its triggers are in place. */
export async function activate(rest: Rest, workflowId: string): Promise<void> {
	const path = `/rest/workflows/${workflowId}`;
	const { versionId } = await rest.request('GET', path);
	await rest.request('POST', `${path}/activate`, { versionId });
	await poll(async () => {
		const { status, triggers } = await rest.request('GET', `${path}/publication-status`);
		if (status === 'failed') throw new Error(`Not published: ${JSON.stringify(triggers)}`);
		return status === 'published' ? true : undefined;
	}, `${workflowId} is not published`);
}

/** Starts a published workflow by its webhook; resolves to the execution's id. */
export async function runByWebhook(rest: Rest, workflowId: string, body: object): Promise<string> {
	const before = await latestOf(rest, workflowId);
	await postJson(`${rest.baseUrl}/webhook/${workflowId}`, body);
	// n8n may answer before it has stored the execution.
	return await poll(async () => {
		const latest = await latestOf(rest, workflowId);
		return latest === before ? undefined : latest;
	}, `${workflowId} was not started`);
}

async function latestOf(rest: Rest, workflowId: string): Promise<string | undefined> {
	const filter = encodeURIComponent(JSON.stringify({ workflowId }));
	const { results } = await rest.request('GET', `/rest/executions?filter=${filter}&limit=1`);
	return results[0]?.id;
}

/** Calls a webhook, of a trigger or of an execution that waits. */
export async function postJson(url: string, body: object): Promise<void> {
	const response = await fetch(url, {
		method: 'POST',
		headers: { 'Content-Type': 'application/json' },
		body: JSON.stringify(body),
	});
	if (!response.ok) throw new Error(`${response.status} from ${url}: ${await response.text()}`);
	await response.body?.cancel();
}

/** An execution as it is stored at this moment. */
async function readExecution(rest: Rest, executionId: string): Promise<Execution> {
	const { status, data } = await rest.request('GET', `/rest/executions/${executionId}`);
	return { id: executionId, status, data: parse(data) };
}

/** Resolves to an execution once it has one of the statuses; throws after `timeoutMs`. */
export async function waitForStatus(
	rest: Rest,
	executionId: string,
	statuses: ExecutionStatus[],
	timeoutMs?: number,
): Promise<Execution> {
	return await poll(
		async () => {
			const execution = await readExecution(rest, executionId);
			return statuses.includes(execution.status) ? execution : undefined;
		},
		`Execution ${executionId} is not ${statuses.join(' or ')}`,
		timeoutMs,
	);
}

/** Waits for the end of an execution, whichever it is. */
export async function waitForEnd(
	rest: Rest,
	executionId: string,
	timeoutMs?: number,
): Promise<Execution> {
	const ends: ExecutionStatus[] = ['success', 'error', 'crashed', 'canceled'];
	return await waitForStatus(rest, executionId, ends, timeoutMs);
}

/**
 * "Retry" of the list of executions, with the original workflow or the one that is saved by now; resolves
 * to the end of the new execution.
 */
export async function retry(
	rest: Rest,
	executionId: string,
	loadWorkflow = false,
): Promise<Execution> {
	const body = { loadWorkflow };
	const { id } = await rest.request('POST', `/rest/executions/${executionId}/retry`, body);
	return await waitForEnd(rest, String(id));
}

/** Asks again and again until there is an answer: n8n itself tells nobody but an open editor. */
async function poll<T>(
	ask: () => Promise<T | undefined>,
	complaint: string,
	timeoutMs = 60_000,
): Promise<T> {
	const until = Date.now() + timeoutMs;
	for (;;) {
		const answer = await ask();
		if (answer !== undefined) return answer;
		if (Date.now() > until) throw new Error(`${complaint} after ${timeoutMs / 1000} s`);
		await new Promise((resolve) => setTimeout(resolve, POLL_MS));
	}
}
