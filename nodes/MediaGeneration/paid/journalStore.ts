import { randomUUID } from 'node:crypto';
import type { IExecuteFunctions } from 'n8n-workflow';
import { processContainer } from '../../shared/account';
import { startNodeOf } from '../../shared/n8n/internals';
import { digestOf, itemIdentity } from './idempotencyKey';
import type { MediaRequest } from '../../shared/generation/requestLedger';

/** What the journal says about one create call that may have been charged. */
export type JournalValue =
	/**
	 * A generation. 'sent': it is indeterminate whether the service has accepted the call. 'accepted': the service has
	 * begun to generate. `firstFailure` says why the first attempt has failed.
	 */
	| { state: 'sent' | 'accepted'; firstFailure?: string; request: MediaRequest }
	/**
	 * Speech. 'sent': as above. 'task': the service has created the task, at `createdAt` in ms since 1970. 'gone': the
	 * service has said that the task failed or does not exist. `accountKey` is that of the credential that has created
	 * the task.
	 */
	| { state: 'sent'; firstFailure?: string }
	| { state: 'task' | 'gone'; taskId: string; createdAt: number; accountKey: string };

/**
 * A value in the journal. `writtenAt`: when it was written, in ms since 1970. `baseUrl`: that of the service, because
 * another service may use the same ids.
 */
export type WrittenValue = JournalValue & { writtenAt: number; baseUrl: string };

/** Values by idempotency key. */
export type ValuesByKey = Record<string, WrittenValue>;

/** The journal as n8n saves it with an execution. Later versions read it: no name in it may change. */
export interface JournalStore {
	/** The entries of the node. In `toolCallStore`, which calls of AI tools share, the entries of all nodes. */
	mediaGenerationCreated?: ValuesByKey;
	/** Identifies the first attempt and all its retries, even if one of them is retried several times. */
	mediaGenerationLineage?: string;
	/**
	 * The execution whose requests were refused because n8n had crashed in an earlier attempt (see `Journal.reserve`). A
	 * retry of that execution sends them: the user has read that it is charged.
	 */
	mediaGenerationRefused?: string;
	/** The number of billable requests that the node has sent or reserved in the execution `executionId`. */
	mediaGenerationSent?: { executionId: string; requests: number };
}

/** How long this process can collect what it remembers of a request, in ms. */
export const MEMORY_TTL_MS = 3_600_000;

/** The store of this process for those calls by a model for which n8n has no context that lasts until the next call. */
export class ToolCallStore implements JournalStore {
	readonly mediaGenerationCreated: ValuesByKey = {};
}

/**
 * Returns the object that holds the journal from one attempt to the next: the node's context, which n8n saves with the
 * execution. Some calls by a model have no such context, so they share a store of this process, whose expired entries
 * are deleted first.
 */
export function storeFor(context: IExecuteFunctions, isToolRun: boolean): JournalStore {
	const toolCallStore = processContainer.get(ToolCallStore);
	const entries = toolCallStore.mediaGenerationCreated;
	for (const [key, { writtenAt }] of Object.entries(entries)) {
		if (Date.now() - writtenAt > MEMORY_TTL_MS) delete entries[key];
	}
	if (isToolRun && context.getExecutionId() === undefined) return toolCallStore;
	try {
		return context.getContext('node');
	} catch {
		return toolCallStore;
	}
}

/**
 * Returns the id that the first attempt and all its retries share (`mediaGenerationLineage`). The first call for a store
 * creates the id. If the first attempt did not reach this node, only the run of the start node, which n8n passes on to
 * each retry, shows that several retries belong together. So the id of a retry (`isRetry`) is made from that run. The
 * items of that run are included, because many executions may start in the same millisecond.
 */
export function lineageOf(
	store: JournalStore,
	context: IExecuteFunctions,
	isRetry: boolean,
): string {
	return (store.mediaGenerationLineage ??=
		(isRetry ? digestOfFirstRun(context) : undefined) ?? randomUUID());
}

/** Returns a digest of this node and the first run of the start node with its items; undefined if it has not run. */
function digestOfFirstRun(context: IExecuteFunctions): string | undefined {
	const startRun = startNodeOf(context).runs?.[0];
	if (!startRun) return undefined;
	const { startTime, executionTime, data } = startRun;
	const items = data?.main?.flatMap((output) => (output ?? []).map(itemIdentity));
	const nodeKey = `${context.getWorkflow().id}/${context.getNode().id}`;
	return digestOf(nodeKey, startTime, executionTime, items);
}
