/* Starts executions of an n8n server over its REST interface, and waits for them. */
import { parse } from 'flatted';
import type { ExecutionStatus, IRunExecutionData } from 'n8n-workflow';
import { eventually } from '../eventually.mts';
import type { Rest } from './rest.mts';

const WAIT_TIMEOUT_MS = 60_000;
const EXECUTION_TIMEOUT_MS = 300_000;

export interface Execution {
	id: string;
	status: ExecutionStatus;
	data: IRunExecutionData;
}

/** The name of the trigger node of most examples. */
export const MANUAL_TRIGGER_NAME = 'When clicking ‘Execute workflow’';

/** Runs a workflow as the button in the editor does. Resolves with the id of the execution once it has started. */
export async function startManually(
	rest: Rest,
	workflowId: string,
	trigger = MANUAL_TRIGGER_NAME,
): Promise<string> {
	const body = { triggerToStartFrom: { name: trigger } };
	return (await rest.request('POST', `/rest/workflows/${workflowId}/run`, body)).executionId;
}

/** Runs a workflow as the button in the editor does, to its end. Throws an Error with the reason if it fails. */
export async function runManually(
	rest: Rest,
	workflowId: string,
	trigger?: string,
): Promise<Execution> {
	const executionId = await startManually(rest, workflowId, trigger);
	const execution = await waitForEnd(rest, executionId, EXECUTION_TIMEOUT_MS);
	const { status, data } = execution;
	if (status === 'success') return execution;
	const { message = status, description = '' } = data.resultData.error ?? {};
	throw new Error(`${message}\n${description}`);
}

/**
 * Publishes a workflow. n8n answers at once and starts the triggers in the background, so this waits until they run.
 * Throws an Error with the message that the editor shows if a trigger cannot start.
 */
export async function activate(rest: Rest, workflowId: string): Promise<void> {
	const path = `/rest/workflows/${workflowId}`;
	const { versionId } = await rest.request('GET', path);
	await rest.request('POST', `${path}/activate`, { versionId });
	await eventually(`${workflowId} to be published`, WAIT_TIMEOUT_MS, async () => {
		const { status, triggers } = await rest.request('GET', `${path}/publication-status`);
		const messages = triggers.map(({ errorMessage }: { errorMessage?: string }) => errorMessage);
		if (status === 'failed') throw new Error(messages.filter(Boolean).join('\n'));
		return status === 'published';
	});
}

/** Starts a published workflow by its webhook at `path`. Resolves with the id of the execution. */
export async function startByWebhook(
	rest: Rest,
	workflowId: string,
	path: string,
	body: object,
): Promise<string> {
	const ids = async () => (await executionsOf(rest, workflowId)).map(({ id }) => id);
	const before = await ids();
	await postJson(`${rest.baseUrl}/webhook/${path}`, body);
	// n8n may answer before it has stored the execution.
	return await eventually(`${workflowId} to be started`, WAIT_TIMEOUT_MS, async () =>
		(await ids()).find((id) => !before.includes(id)),
	);
}

/**
 * Resolves with the ids and statuses of all executions of a workflow. Running executions come first, then the others,
 * the newest first.
 */
export async function executionsOf(
	rest: Rest,
	workflowId: string,
): Promise<Array<Pick<Execution, 'id' | 'status'>>> {
	const found = [];
	let cursor: string | null = null;
	do {
		const filter = JSON.stringify({ workflowId });
		const query = new URLSearchParams({ limit: '100', filter, ...(cursor && { cursor }) });
		const page = await rest.request('GET', `/rest/executions?${query}`);
		found.push(...page.results);
		cursor = page.nextCursor;
	} while (cursor);
	return found;
}

/** Calls a webhook of a trigger or of a waiting execution. Throws an Error if the answer is no success. */
export async function postJson(url: string, body: object, headers: object = {}): Promise<void> {
	const response = await fetch(url, {
		method: 'POST',
		headers: { 'Content-Type': 'application/json', ...headers },
		body: JSON.stringify(body),
	});
	if (!response.ok) throw new Error(`${response.status} from ${url}: ${await response.text()}`);
	await response.body?.cancel();
}

/** Resolves with an execution once it has one of the given statuses. Throws an Error after `timeoutMs` ms. */
export async function waitForStatus(
	rest: Rest,
	executionId: string,
	statuses: ExecutionStatus[],
	timeoutMs = WAIT_TIMEOUT_MS,
): Promise<Execution> {
	const what = `execution ${executionId} to be ${statuses.join(' or ')}`;
	return await eventually(what, timeoutMs, async () => {
		const { status, data } = await rest.request('GET', `/rest/executions/${executionId}`);
		return statuses.includes(status) ? { id: executionId, status, data: parse(data) } : undefined;
	});
}

/** Resolves with an execution once it has ended, successfully or not. Throws an Error after `timeoutMs` ms. */
export async function waitForEnd(
	rest: Rest,
	executionId: string,
	timeoutMs?: number,
): Promise<Execution> {
	const ends: ExecutionStatus[] = ['success', 'error', 'crashed', 'canceled'];
	return await waitForStatus(rest, executionId, ends, timeoutMs);
}

/**
 * Retries an execution, as "Retry" in the list of executions does. Uses the original workflow or, if `loadWorkflow` is
 * true, the workflow as it is saved now. Resolves with the new execution once it has ended.
 */
export async function retryExecution(
	rest: Rest,
	executionId: string,
	loadWorkflow = false,
): Promise<Execution> {
	const body = { loadWorkflow };
	const { id } = await rest.request('POST', `/rest/executions/${executionId}/retry`, body);
	return await waitForEnd(rest, String(id));
}
