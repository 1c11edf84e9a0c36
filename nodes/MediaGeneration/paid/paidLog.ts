import type { IDataObject, IExecuteFunctions } from 'n8n-workflow';
import { thisProcess } from '../../shared/account';
import type { SentRequest } from '../../shared/contract';
import { Failure } from '../../shared/failure';
import { wordingOf } from '../../shared/n8n/messages';
import { isRecord } from '../../shared/parsing/coerce';
import type { Redactor } from '../../shared/parsing/redaction';

/** What is kept of one create call that may have to be paid for. */
export type PaidRequest =
	/**
	 * 'sent': nobody can tell whether the service has accepted it. `why`: what the attempt met. 'accepted':
	 * a video or an image that the service has begun.
	 */
	| { state: 'sent' | 'accepted'; sentAt: number; why?: string; asked?: SentRequest }
	/** Speech: its task. `isGone`: the service said that it has failed, or that it does not know it. */
	| { state: 'task'; taskId: string; isGone?: boolean };

/** What an attempt met that got no clear answer, for the next one: "HTTP 502 at 14:03". */
export function encounterOf(error: unknown, context: IExecuteFunctions): string {
	const failure = error instanceof Failure ? error : new Failure('noAnswer');
	const { status } = failure.facts;
	const what = status === undefined ? wordingOf(failure).message : `HTTP ${status}`;
	const time = new Date().toLocaleTimeString('en-GB', {
		hour: '2-digit',
		minute: '2-digit',
		timeZone: context.getTimezone(),
	});
	return `${what} at ${time}`;
}

const FIELD = 'mediaGenerationCreated';

/** How long something is kept where n8n keeps nothing, in ms, and how much at most. */
const KEPT_MS = 3_600_000;
const MAX_KEPT = 500;

type Entries = Record<string, PaidRequest & { keptAt: number }>;

function entriesOf(store: IDataObject): Entries {
	if (!isRecord(store[FIELD])) store[FIELD] = {};
	return store[FIELD] as Entries;
}

/** What this process keeps for models' calls where n8n keeps nothing between calls of a node. */
class ModelCalls {
	readonly context: IDataObject = {};

	/** Forgets what is too old, or too much. */
	dropOutdated(): void {
		const entries = entriesOf(this.context);
		for (const [index, key] of Object.keys(entries).reverse().entries()) {
			if (Date.now() - entries[key]!.keptAt > KEPT_MS || index >= MAX_KEPT) delete entries[key];
		}
	}
}

/** True for the place that models' calls share where n8n keeps nothing. */
export const isOfProcess = (store: IDataObject): boolean =>
	store === thisProcess.shared(ModelCalls).context;

/**
 * The node's context. The MCP Server Trigger makes a new one for each call, before there is an
 * execution; n8n's own Agents have none at all.
 */
export function contextOf(context: IExecuteFunctions, isTool: boolean): IDataObject {
	const calls = thisProcess.shared(ModelCalls);
	calls.dropOutdated();
	if (isTool && context.getExecutionId() === undefined) return calls.context;
	try {
		return context.getContext('node');
	} catch {
		return calls.context;
	}
}

/**
 * What this node has paid for in this execution, or may have: written before each create call and after
 * its answer. n8n keeps the node's context for Retry On Fail and "Retry execution", so that the next
 * attempt collects what was paid for instead of creating it again. It is stored in clear text.
 */
export class PaidLog {
	constructor(
		private readonly store: IDataObject,
		private readonly redact: Redactor,
	) {}

	find(key: string): PaidRequest | undefined {
		return entriesOf(this.store)[key];
	}

	keep(key: string, request: PaidRequest): void {
		entriesOf(this.store)[key] = { ...this.redact.value(request), keptAt: Date.now() };
	}

	/** Forgets what is kept under these keys. */
	erase(keys: string[]): void {
		const entries = entriesOf(this.store);
		for (const key of keys) delete entries[key];
		if (Object.keys(entries).length === 0) delete this.store[FIELD];
	}

	/** What is kept of all items, rounds and attempts of the node. */
	list(): PaidRequest[] {
		return Object.values(entriesOf(this.store));
	}
}
