import type { IDataObject, IExecuteFunctions } from 'n8n-workflow';
import { accountKeyOf, thisProcess } from '../../shared/account';
import type { Credential } from '../../shared/http/credential';
import { CREDENTIAL_TYPE } from '../../shared/http/request';
import type { GeneratedFile } from '../../shared/contract';
import { isRecord } from '../../shared/parsing/coerce';
import type { SentRequest } from '../../shared/generation/historyMatching';
import { calledParameters, digestOf, itemIdentity, requestParameters } from './requestKey';

/** What is remembered of a create call that was accepted, and so paid. */
export interface PaidRequest {
	/** Speech: the task. */
	taskId?: string;
	/** The service said that the task has failed, or that it does not know it. */
	doubtful?: boolean;
	/** Speech: when a create call with an unknown outcome was sent, in ms since 1970. */
	sentAt?: number;
	/** Generations: what was sent and may be paid for. */
	asked?: SentRequest;
	/** Generations: the service has begun it, and n8n's log says that it is paid. */
	isAccepted?: boolean;
	/** Generations: the files made. */
	files?: GeneratedFile[];
	/** When all of `files` were there, in ms since 1970. */
	madeAt?: number;
}

type Entries = Record<string, PaidRequest>;

const FIELD = 'mediaGenerationCreated';

/**
 * Placeholders for the token, plain and percent-encoded, in what is stored: an address with the token
 * in it must still work later. No token contains these characters.
 */
const TOKEN = '«§»';
const ENCODED_TOKEN = '«§§»';

/** How long an entry is kept where n8n keeps none, in ms, and how many at most. */
const KEPT_MS = 3_600_000;
const MAX_KEPT = 500;
/** How many concurrent calls of a model with the same request are looked for. */
const MAX_AT_ONCE = 50;

/** What this process knows of models' calls. */
class ModelCalls {
	/** Used where n8n keeps nothing between calls of a node. */
	readonly context: IDataObject = {};
	/** When an entry was kept, in ms since 1970. */
	readonly keptAt = new WeakMap<PaidRequest, number>();
	/** The keys held by calls under way, by the context they are stored in. */
	readonly held = new WeakMap<IDataObject, Set<string>>();
}

const calls = () => thisProcess.shared(ModelCalls);

/**
 * The node's context. The MCP Server Trigger makes a new one for each call, before there is an
 * execution; n8n's own Agents have none at all.
 */
export function contextOf(context: IExecuteFunctions, isTool: boolean): IDataObject {
	if (isTool && context.getExecutionId() === undefined) return calls().context;
	try {
		return context.getContext('node');
	} catch {
		return calls().context;
	}
}

function entriesOf(store: IDataObject): Entries {
	if (!isRecord(store[FIELD])) store[FIELD] = {};
	const entries = store[FIELD] as Entries;
	if (store === calls().context) forgetOldest(entries);
	return entries;
}

function forgetOldest(entries: Entries): void {
	const keys = Object.keys(entries);
	for (const [index, key] of keys.entries()) {
		const isOld = Date.now() - (calls().keptAt.get(entries[key]!) ?? 0) > KEPT_MS;
		if (isOld || keys.length - index > MAX_KEPT) delete entries[key];
	}
}

/** A copy of `value` with `replace` applied to every string in it. */
function replaceTexts<T>(value: T, replace: (text: string) => string): T {
	if (typeof value === 'string') return replace(value) as T;
	if (Array.isArray(value)) return value.map((part: unknown) => replaceTexts(part, replace)) as T;
	if (!isRecord(value)) return value;
	const known = Object.entries(value).filter(([, part]) => part !== undefined);
	return Object.fromEntries(known.map(([key, part]) => [key, replaceTexts(part, replace)])) as T;
}

/**
 * What this node created in this execution. It is kept in the node's context, which n8n keeps for
 * Retry On Fail and "Retry execution", so that the next attempt collects what was paid for instead
 * of creating it again. It is stored in clear text: ids, addresses and prompts only.
 */
export class Resume {
	private readonly store: IDataObject;
	/** The keys held by all calls that share the store. */
	private readonly held: Set<string>;
	/** The keys of this run's own items. */
	private readonly own = new Set<string>();
	private readonly keys = new Map<number, string>();
	/** The part of the key that all items of the run share. */
	private common: string | undefined;

	constructor(
		private readonly context: IExecuteFunctions,
		/** Whether a model calls the node: then every call, and every retry of one, is a round of its own. */
		private readonly isTool: boolean,
		private readonly credential: Credential,
	) {
		this.store = contextOf(context, isTool);
		this.held = calls().held.get(this.store) ?? new Set();
		calls().held.set(this.store, this.held);
	}

	/**
	 * The key of one item's request, held until `release`. The next round of a loop is another request.
	 * A model that repeats a request after a failure wants what is already paid for, but two calls at
	 * the same time are two requests.
	 */
	requestKey(index: number): string {
		const known = this.keys.get(index);
		if (known !== undefined) return known;
		if (this.isTool || this.common === undefined) this.common = this.commonOf(index);
		const item = this.context.getInputData()[index]!;
		const key = this.unheld(`${index}:${digestOf(this.common, itemIdentity(item))}`);
		this.held.add(key);
		this.own.add(key);
		this.keys.set(index, key);
		return key;
	}

	/** A key under which an earlier call has left something, else a new one. */
	private unheld(wanted: string): string {
		const entries = entriesOf(this.store);
		const most = this.isTool ? MAX_AT_ONCE : 1;
		let unused: string | undefined;
		for (let call = 1; call <= most || unused === undefined; call++) {
			const key = call === 1 ? wanted : `${wanted}#${call}`;
			if (this.held.has(key)) continue;
			if (key in entries || this.hasParts(entries, key)) return key;
			unused ??= key;
		}
		return unused;
	}

	/** Of calls only: a run may have thousands of items. */
	private hasParts(entries: Entries, key: string): boolean {
		return this.isTool && Object.keys(entries).some((kept) => kept.startsWith(`${key}/`));
	}

	/** The key of one of several parts of an item's request: of the same stretch of its text. */
	partKey(key: string, { start, end }: { start: number; end: number }): string {
		const own = `${key}/${start}-${end}`;
		this.own.add(own);
		return own;
	}

	private commonOf(index: number): string {
		const { name, parameters, credentials } = this.context.getNode();
		const { id, name: credentialName } = credentials?.[CREDENTIAL_TYPE] ?? {};
		const account =
			this.store === calls().context
				? [accountKeyOf(this.credential), name]
				: [id ?? credentialName];
		return this.isTool
			? digestOf('tool', account, calledParameters(this.context, index))
			: digestOf(
					this.context.evaluateExpression('{{ $runIndex }}', index) ?? 0,
					account,
					requestParameters(parameters),
				);
	}

	find(key: string): PaidRequest | undefined {
		const stored = entriesOf(this.store)[key];
		return stored && this.withToken(stored);
	}

	/** True when no earlier attempt, round or call has left anything. */
	get isEmpty(): boolean {
		for (const _ in entriesOf(this.store)) return false;
		return true;
	}

	/** What is remembered for all items and rounds of the node. */
	list(): PaidRequest[] {
		return Object.values(entriesOf(this.store)).map((stored) => this.withToken(stored));
	}

	/** What is remembered for the items of this run, whose index is the first part of their keys. */
	ofRun(): Array<PaidRequest & { index: number }> {
		return [...this.own].flatMap((key) => {
			const found = this.find(key);
			return found ? [{ ...found, index: Number.parseInt(key) }] : [];
		});
	}

	private withToken(stored: PaidRequest): PaidRequest {
		return replaceTexts(stored, (text) =>
			text.replaceAll(TOKEN, this.credential.apiToken).replaceAll(ENCODED_TOKEN, this.encodedToken),
		);
	}

	save(key: string, remembered: PaidRequest): void {
		const { apiToken, redact } = this.credential;
		const marked = replaceTexts(remembered, (text) =>
			text.replaceAll(apiToken, TOKEN).replaceAll(this.encodedToken, ENCODED_TOKEN),
		);
		const entry = redact.value(marked);
		calls().keptAt.set(entry, Date.now());
		entriesOf(this.store)[key] = entry;
	}

	remove(key: string): void {
		delete entriesOf(this.store)[key];
	}

	/**
	 * All items of this run succeeded, so a retry has nothing of theirs to collect. Other calls of a
	 * model may still be under way.
	 */
	clear(): void {
		for (const key of this.own) this.remove(key);
		if (Object.keys(entriesOf(this.store)).length === 0) delete this.store[FIELD];
	}

	/** The run is over: a later call may take up what it has left. */
	release(): void {
		for (const key of this.own) this.held.delete(key);
	}

	private get encodedToken(): string {
		return encodeURIComponent(this.credential.apiToken);
	}
}
