import type { IDataObject, IExecuteFunctions } from 'n8n-workflow';
import { processContainer } from '../../shared/account';
import type { GenerationRequest } from '../../shared/contract';

/** What the journal says about one create call that may have been charged. */
export type JournalValue =
	/**
	 * 'sent': it is indeterminate whether the service has accepted the call. `indeterminateBecause` then says
	 * what happened to the attempt. 'accepted': the service has begun to generate the video or image.
	 * `request` is set for videos and images only.
	 */
	| { state: 'sent' | 'accepted'; indeterminateBecause?: string; request?: GenerationRequest }
	/**
	 * The service has created a speech task. 'task': it can be collected. 'gone': the service has said that
	 * the task failed or does not exist.
	 */
	| { state: 'task' | 'gone'; taskId: string };

/** Values by idempotency key (idempotencyKey.ts). `keptAt`: when written, in ms since 1970. */
export type JournalEntries = Record<string, JournalValue & { keptAt: number }>;

const FIELD = 'mediaGenerationCreated';

/** Returns the journal's entries in a node's context. They are added to the context if it has none. */
export const journalEntries = (store: IDataObject): JournalEntries =>
	(store[FIELD] ??= {}) as JournalEntries;

/**
 * The create calls of this process that are in flight. Two runs that share their entries, such as two calls
 * of a model, find each other's calls here.
 */
export class LiveCalls extends WeakMap<JournalEntries, Map<string, Promise<unknown>>> {
	/** Returns the calls in flight of all runs that share `entries`, by idempotency key. */
	of(entries: JournalEntries): Map<string, Promise<unknown>> {
		if (!this.has(entries)) this.set(entries, new Map());
		return this.get(entries)!;
	}
}

/** How long an entry in the process's own store can be collected, in ms. */
const TOOL_CALL_TTL_MS = 3_600_000;

/** The process's own store, for a model's calls: n8n may keep nothing from one call to the next. */
class ToolCallStore {
	readonly context: IDataObject = {};
}

/**
 * Returns the object that holds the journal and the budget from one attempt to the next: the node's context,
 * which n8n saves with the execution. Two kinds of calls by a model get the process's own store instead: the
 * MCP Server Trigger makes a new context for each call, before there is an execution, and n8n's own Agents
 * have no context at all. Never throws.
 */
export function storeFor(context: IExecuteFunctions, isTool: boolean): IDataObject {
	const { context: processStore } = processContainer.get(ToolCallStore);
	const entries = journalEntries(processStore);
	for (const [key, { keptAt }] of Object.entries(entries)) {
		if (Date.now() - keptAt > TOOL_CALL_TTL_MS) delete entries[key];
	}
	if (isTool && context.getExecutionId() === undefined) return processStore;
	try {
		return context.getContext('node');
	} catch {
		return processStore;
	}
}
