import type { IDataObject, IExecuteFunctions } from 'n8n-workflow';
import { thisProcess } from '../../shared/account';
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

/** True while nobody can tell whether the service has accepted it. */
export const isUnclear = ({ sentAt, asked, isAccepted }: PaidRequest): boolean =>
	sentAt !== undefined || (asked !== undefined && !isAccepted);

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

/** Where in a text its parts lie. */
export type Stretches = Array<{ start: number; end: number }>;

/** The key of the whole item, given that of one of its parts. */
const wholeOf = (key: string) => key.split('/', 1)[0]!;

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
	if (store !== calls().context) return entries;
	for (const [index, key] of Object.keys(entries).reverse().entries()) {
		const keptMs = Date.now() - (calls().keptAt.get(entries[key]!) ?? 0);
		if (keptMs > KEPT_MS || index >= MAX_KEPT) delete entries[key];
	}
	return entries;
}

/** A copy of `value`, as n8n stores it, with `replace` applied to every string in it. */
const replaceTexts = <T>(value: T, replace: (text: string) => string): T =>
	JSON.parse(JSON.stringify(value), (_, part: unknown) =>
		typeof part === 'string' ? replace(part) : part,
	) as T;

/**
 * What this node created in this execution. It is kept in the node's context, which n8n keeps for
 * Retry On Fail and "Retry execution", so that the next attempt collects what was paid for instead
 * of creating it again. It is stored in clear text: ids, addresses and prompts only.
 */
export class Resume {
	private readonly store: IDataObject;
	/** The keys of whole items, held by all calls that share the store. */
	private readonly held: Set<string>;
	/** The keys of this run's requests, by item. */
	private readonly own = new Map<number, string[]>();
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
	 * The keys of an item's requests, held until `release`: one, or one for each of the stretches that its
	 * text is cut into. The next round of a loop is another request. A model that repeats a request after
	 * a failure wants what is already paid for, but two calls at the same time are two requests.
	 */
	keysOf(index: number, stretches: Stretches = []): string[] {
		const known = this.own.get(index);
		if (known) return known;
		const whole = this.hold(index);
		const isWhole = stretches.length < 2;
		const keys = isWhole ? [whole] : stretches.map(({ start, end }) => `${whole}/${start}-${end}`);
		this.own.set(index, keys);
		return keys;
	}

	/** Holds an item's key: one under which an earlier call has left something, else a new one. */
	private hold(index: number): string {
		if (this.isTool || this.common === undefined) this.common = this.commonOf(index);
		const item = this.context.getInputData()[index]!;
		const wanted = `${index}:${digestOf(this.common, itemIdentity(item))}`;
		// Of calls only: a run may have thousands of items.
		const kept = this.isTool ? Object.keys(entriesOf(this.store)) : [];
		const left = kept.map(wholeOf).find((key) => key.startsWith(wanted) && !this.held.has(key));
		let key = left ?? wanted;
		for (let call = 2; this.held.has(key); call++) key = `${wanted}#${call}`;
		this.held.add(key);
		return key;
	}

	private commonOf(index: number): string {
		const { name, parameters, credentials } = this.context.getNode();
		const { id, name: credentialName } = credentials?.[CREDENTIAL_TYPE] ?? {};
		const account =
			this.store === calls().context ? [this.credential.accountKey, name] : [id ?? credentialName];
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

	/** What is remembered for an item of this run. */
	ofItem(index: number): PaidRequest[] {
		return (this.own.get(index) ?? []).flatMap((key) => this.find(key) ?? []);
	}

	/** The tasks that are there for an item of this run. */
	taskIdsOf(index: number): string[] {
		return this.ofItem(index).flatMap(({ taskId, doubtful }) => (doubtful ? [] : (taskId ?? [])));
	}

	/** What is remembered for all items of this run. */
	ofRun(): Array<PaidRequest & { index: number }> {
		const indexes = [...this.own.keys()];
		return indexes.flatMap((index) => this.ofItem(index).map((found) => ({ ...found, index })));
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
		for (const key of this.ownKeys) this.remove(key);
		if (Object.keys(entriesOf(this.store)).length === 0) delete this.store[FIELD];
	}

	/** The run is over: a later call may take up what it has left. */
	release(): void {
		for (const key of this.ownKeys) this.held.delete(wholeOf(key));
	}

	private get ownKeys(): string[] {
		return [...this.own.values()].flat();
	}

	private get encodedToken(): string {
		return encodeURIComponent(this.credential.apiToken);
	}
}
