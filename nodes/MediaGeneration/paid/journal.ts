import type { IDataObject, IExecuteFunctions } from 'n8n-workflow';
import { processContainer } from '../../shared/account';
import type { GenerationRequest } from '../../shared/contract';
import type { Redactor } from '../../shared/parsing/redaction';
import type { Budget } from './budget';

/** What is kept of one create call that may have to be paid for. */
export type JournalValue =
	/**
	 * 'sent': nobody can tell whether the service has accepted it. 'accepted': a video or an image that it has
	 * begun. `indeterminateBecause`: what the attempt met that got no clear answer.
	 */
	| { state: 'sent' | 'accepted'; indeterminateBecause?: string; request?: GenerationRequest }
	/** Speech: its task. 'gone': the service said that it has failed, or that it does not know it. */
	| { state: 'task' | 'gone'; taskId: string };

/** By the keys of requests (idempotencyKey.ts). */
type JournalEntries = Record<string, JournalValue & { keptAt: number }>;

/**
 * What this node has paid for in this execution, or may have: written before each create call and after
 * its answer. n8n keeps the node's context for Retry On Fail and "Retry execution", so that the next
 * attempt collects what was paid for instead of creating it again. It is stored in clear text.
 */
export interface Journal {
	/** Of all items, rounds and attempts of the node. */
	entries: JournalEntries;
	redact: Redactor;
	budget: Budget;
}

const FIELD = 'mediaGenerationCreated';

/** What is kept in a node's context. */
export const journalEntries = (store: IDataObject): JournalEntries =>
	(store[FIELD] ??= {}) as JournalEntries;

/** The create calls in flight in this process, by the entries that their runs share, and by key. */
export class LiveCalls extends WeakMap<JournalEntries, Map<string, Promise<unknown>>> {
	of(entries: JournalEntries): Map<string, Promise<unknown>> {
		if (!this.has(entries)) this.set(entries, new Map());
		return this.get(entries)!;
	}
}

/** How long something is kept where n8n keeps nothing, in ms. */
const TOOL_CALL_TTL_MS = 3_600_000;

/** What this process keeps for models' calls where n8n keeps nothing between calls of a node. */
class ToolCallStore {
	readonly context: IDataObject = {};
}

/**
 * The node's context. The MCP Server Trigger makes a new one for each call, before there is an
 * execution; n8n's own Agents have none at all.
 */
export function storeFor(context: IExecuteFunctions, isTool: boolean): IDataObject {
	const { context: ofProcess } = processContainer.get(ToolCallStore);
	const entries = journalEntries(ofProcess);
	for (const [key, { keptAt }] of Object.entries(entries)) {
		if (Date.now() - keptAt > TOOL_CALL_TTL_MS) delete entries[key];
	}
	if (isTool && context.getExecutionId() === undefined) return ofProcess;
	try {
		return context.getContext('node');
	} catch {
		return ofProcess;
	}
}
