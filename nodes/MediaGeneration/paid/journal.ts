import type { IExecuteFunctions } from 'n8n-workflow';
import { processContainer } from '../../shared/account';
import type { StopStarting } from '../../shared/async/callSignals';
import { throwIfAborted, whenAborted } from '../../shared/async/deadline';
import { Failure, type FailureFacts, isFailure, toFailure } from '../../shared/failure';
import type { Credential } from '../../shared/http/credential';
import { contextsOfFinishedNodes, hasBegun } from '../../shared/n8n/internals';
import { wordingOf } from '../../shared/n8n/messages';
import type { NodeParameters } from '../../shared/n8n/parameters';
import { keyFactory } from './idempotencyKey';
import {
	lineageOf,
	storeFor,
	ToolCallStore,
	type ValuesByKey,
	type JournalStore,
	type JournalValue,
	type WrittenValue,
} from './journalStore';
import { RecentRequests, valuesOfRetries } from './recentRequests';
import { isFindable, type MediaRequest } from '../../shared/generation/requestLedger';

/** What this process shares among the journals of all runs, by `sharedKey` of a call. */
class SharedCalls {
	/** The calls in flight. */
	readonly inFlight = new Map<string, Promise<unknown>>();
	/** For each call that a run has reserved a request for, but not sent: the journal of that run. */
	readonly reservedBy = new Map<string, Journal>();
}
const sharedCalls = () => processContainer.get(SharedCalls);

/** For how long after the creation of a task a replica of the service may lag behind and not know the task, in ms. */
const MAX_REPLICA_LAG_MS = 600_000;

/** The parts of an ItemContext that the journal needs. */
interface EntryItem {
	index: number;
	credential: EntryCredential;
	parameters: NodeParameters;
}
type EntryCredential = Pick<Credential, 'accountKey' | 'baseUrl' | 'redact'>;

/**
 * The idempotency journal: it remembers the create calls of this node that were charged or may have been charged, so
 * that a retry does not send them again. It also counts billable requests, for Max Paid Requests.
 *
 * A run of the node makes one journal, calls `reserve` once before it sends requests, and calls `settle` once at its
 * end.
 */
export class Journal {
	/** The values of all entries, as n8n saves them for the next attempt. */
	readonly valuesByKey: ValuesByKey;
	/** Identifies the first attempt of the execution and all its retries. */
	readonly lineage: string;
	/** True if this run retries an execution; false if a model calls, because it may want the same call twice. */
	readonly isRetry: boolean;
	/** The requests of earlier manual runs; undefined if this run is not manual, or is a call by a model. */
	readonly recentRequests: RecentRequests | undefined;
	/** True if a node of this package has sent billable requests in an earlier run of this execution. */
	readonly hasEarlierRequests: boolean;
	/** True if an earlier attempt crashed in this node or after it, so that n8n has lost the node's context. */
	private readonly isLost: boolean;
	/** Max Paid Requests, from `reserve`. */
	private limit = Infinity;
	private readonly idempotencyKeyOf: ReturnType<typeof keyFactory>;
	private readonly executionId: string;
	/** The store that holds the count of billable requests. */
	private readonly countStore: JournalStore;

	/** Makes the journal of a run. The second argument is true if a model runs the node as a tool. */
	constructor(context: IExecuteFunctions, isToolRun: boolean) {
		const store = storeFor(context, isToolRun);
		this.executionId = context.getExecutionId() ?? '';
		this.isRetry = context.getMode() === 'retry' && !isToolRun;
		const { mediaGenerationCreated, mediaGenerationRefused = this.executionId } = store;
		this.isLost =
			this.isRetry &&
			!mediaGenerationCreated &&
			hasBegun(context) &&
			mediaGenerationRefused === this.executionId;
		this.valuesByKey = this.isLost ? {} : (store.mediaGenerationCreated ??= {});
		this.lineage = lineageOf(store, context, this.isRetry);
		this.hasEarlierRequests = contextsOfFinishedNodes(context).some(
			({ mediaGenerationSent }: JournalStore) => (mediaGenerationSent?.requests ?? 0) > 0,
		);
		const isManual = context.getMode() === 'manual' && !isToolRun;
		this.recentRequests = isManual ? new RecentRequests(context) : undefined;
		this.idempotencyKeyOf = keyFactory(context, isToolRun);
		// Without a context of their own, calls by a model are counted separately.
		this.countStore = store instanceof ToolCallStore ? {} : store;
	}

	/** Returns an item's entry for each of `callKeys` (see `BillableTask`). Throws n8n's error for a bad expression. */
	entriesFor({ index, credential, parameters }: EntryItem, callKeys: string[]): JournalEntry[] {
		const itemKey = this.idempotencyKeyOf(index, credential.accountKey, parameters);
		const recentKey =
			(this.recentRequests?.keyPrefixOf(index, parameters, credential.baseUrl) ?? '') + itemKey;
		return callKeys.map(
			(key) => new JournalEntry(this, itemKey + key, recentKey + key, credential),
		);
	}

	/**
	 * Adds one billable request per planned entry to the count before they are sent, because other calls of an agent may
	 * run at the same time. If that would exceed `limit`, or if n8n has lost what an earlier attempt paid for, adds nothing
	 * and returns the Failure to report.
	 */
	reserve(planned: Array<Pick<JournalEntry, 'sharedKey'>>, limit: number): Failure | undefined {
		const plannedCount = planned.length;
		this.limit = Math.min(this.limit, limit);
		if (this.isLost && plannedCount > 0) {
			this.countStore.mediaGenerationRefused = this.executionId;
			return new Failure('crashed');
		}
		const countBefore = this.requestCount;
		if (countBefore + plannedCount <= limit) {
			this.requestCount = countBefore + plannedCount;
			for (const { sharedKey } of planned) sharedCalls().reservedBy.set(sharedKey, this);
			return undefined;
		}
		const sent = countBefore > 0 ? ` (${countBefore} already sent)` : '';
		const reason = `This execution needs ${countBefore + plannedCount} paid requests${sent}`;
		// A retry keeps the rows, and a new run with fewer rows would be charged for earlier ones again.
		const fieldRemedy = countBefore > 0 ? 'Raise the limit' : undefined;
		return new Failure('overBudget', { reason, fieldRemedy, maxPaidRequests: limit });
	}

	/**
	 * Reserves a request for a call right before it is sent. If a run has already reserved one, takes it over: this run, or
	 * one that has given the call up. That run was allowed to send the call, so no limit applies to it again.
	 */
	reserveOnce(call: Pick<JournalEntry, 'sharedKey'>): Failure | undefined {
		const owner = sharedCalls().reservedBy.get(call.sharedKey);
		owner?.unreserve(call.sharedKey);
		return this.reserve([call], owner ? Infinity : this.limit);
	}

	/** Subtracts from the count the requests that were reserved but not sent. Call it once, at the end of the run. */
	settle(): void {
		for (const [key, owner] of sharedCalls().reservedBy) if (owner === this) this.unreserve(key);
	}

	private unreserve(sharedKey: string): void {
		sharedCalls().reservedBy.delete(sharedKey);
		this.requestCount--;
	}

	/** How many billable requests the node has sent in this execution, plus those that are reserved. */
	private get requestCount(): number {
		const sent = this.countStore.mediaGenerationSent;
		return sent?.executionId === this.executionId ? sent.requests : 0;
	}

	private set requestCount(requests: number) {
		this.countStore.mediaGenerationSent = { executionId: this.executionId, requests };
	}
}

/** The journal's entry for one create call. */
export class JournalEntry {
	/** The key of this call in the maps that all runs of this process share. */
	readonly sharedKey: string;
	private readonly baseUrl: string;

	constructor(
		private readonly journal: Journal,
		/** The key of this call in `journal.valuesByKey`: the item's idempotency key, followed by the call's key. */
		private readonly key: string,
		/** The key of this call in `journal.recentRequests`. */
		private readonly recentKey: string,
		private readonly credential: EntryCredential,
	) {
		this.sharedKey = `${journal.lineage}/${key}`;
		this.baseUrl = credential.redact.text(credential.baseUrl);
		this.adoptNewerValue();
	}

	/**
	 * Overwrites this entry with what another retry of the same execution has written in this process, if that is
	 * newer. Does nothing while the other retry's call is in flight, because the service may still refuse that call.
	 */
	private adoptNewerValue(): void {
		if (sharedCalls().inFlight.has(this.sharedKey)) return;
		const { valuesByKey } = this.journal;
		const value = valuesOfRetries().get(this.sharedKey);
		if (value && value.writtenAt >= (valuesByKey[this.key]?.writtenAt ?? 0))
			valuesByKey[this.key] = value;
	}

	/**
	 * The value of this entry, or else the one that an earlier manual run has written; undefined if there is neither. A
	 * task that is gone counts only if it came from the service at the item's Base URL.
	 */
	get value(): WrittenValue | undefined {
		const value = this.journal.valuesByKey[this.key];
		const isIgnored = value?.state === 'gone' && !this.isOfThisService(value);
		return (isIgnored ? undefined : value) ?? this.journal.recentRequests?.get(this.recentKey);
	}

	/** True if a value comes from the service at the item's Base URL. Another service may use the same ids. */
	private isOfThisService({ baseUrl }: WrittenValue): boolean {
		return baseUrl === this.baseUrl;
	}

	/** The id of the task that this call has created, if it can be collected at the item's Base URL. */
	get collectableTaskId(): string | undefined {
		const { value: previous } = this;
		return previous?.state === 'task' && this.isOfThisService(previous)
			? previous.taskId
			: undefined;
	}

	/**
	 * True if no earlier attempt has left a result to collect, so that a create call is planned, which is charged. In the
	 * end, it is not sent if another run has it in flight, or if a task that seemed to be gone is there after all.
	 */
	get needsCreateCall(): boolean {
		return !this.value || this.value.state === 'gone';
	}

	/** True if another attempt with this key looks for the result of this call, and can recognize it. */
	get isCollectable(): boolean {
		const { value } = this;
		const isGeneration = value !== undefined && 'request' in value;
		return isGeneration ? isFindable(value.request) : this.collectableTaskId !== undefined;
	}

	/** True if this run has to reserve a request for this call, because no other run has reserved one or sends it. */
	get needsReservation(): boolean {
		const { inFlight, reservedBy } = sharedCalls();
		return this.needsCreateCall && !reservedBy.has(this.sharedKey) && !inFlight.has(this.sharedKey);
	}

	/** The hint in the output panel if the result was requested earlier, so that collecting it is free. */
	get collectedHint(): string {
		return this.journal.valuesByKey[this.key]
			? 'Result of an earlier attempt, at no extra charge'
			: 'Result of an earlier run, at no extra charge (executing this node or the whole workflow is charged)';
	}

	/** The generation requests that the journal has for the account of this call. */
	get requestsOfAccount(): MediaRequest[] {
		return Object.values(this.journal.valuesByKey)
			.flatMap((value) => ('request' in value ? [value.request] : []))
			.filter(({ accountKey }) => accountKey === this.credential.accountKey);
	}

	/**
	 * Calls `create` and resolves with its result, unless another run of this process has the same call in flight. In
	 * that case, waits for that call, and resolves or rejects as that call does. If that call was refused, or ends because
	 * its run was stopped or its time is up, calls `create` itself.
	 *
	 * Rejects with the reason of `stopStarting` if that aborts during the wait, and with a Failure if an earlier
	 * attempt has sent the call to another Base URL.
	 */
	async createOnce<T>(stopStarting: StopStarting, create: () => Promise<T>): Promise<T> {
		const { inFlight } = sharedCalls();
		const { sharedKey } = this;
		this.adoptNewerValue();
		let result: unknown;
		while (result === undefined && inFlight.has(sharedKey)) {
			result = await Promise.race([inFlight.get(sharedKey), whenAborted(stopStarting)])
				.finally(() => this.adoptNewerValue())
				.catch((error: unknown) => {
					// The other run has given the call up. It was refused, or its result can still be collected.
					if (!isFailure(error, 'canceled', 'timedOut', 'throttled')) throw error;
				});
			throwIfAborted(stopStarting);
		}
		const { value } = this;
		if (value && !this.isOfThisService(value))
			throw sentElsewhereFailure(value, `to another Base URL, ${value.baseUrl}`);
		if (result !== undefined) return result as T;
		const failure = this.needsCreateCall ? this.journal.reserveOnce(this) : undefined;
		if (failure) throw failure;
		const call = create().finally(() => inFlight.delete(sharedKey));
		inFlight.set(sharedKey, call);
		return await call;
	}

	/**
	 * Writes the entry, and counts the reserved request as sent. Call it right before the create call is sent:
	 * from then on the service may have accepted the call, even if n8n stops before the response arrives.
	 */
	setSent(value: JournalValue): void {
		sharedCalls().reservedBy.delete(this.sharedKey);
		this.write(value);
	}

	/** Overwrites the entry. The token is redacted, because n8n may save the entry unencrypted. */
	write(value: JournalValue): void {
		const { valuesByKey, isRetry, recentRequests } = this.journal;
		const entry = {
			...this.credential.redact.value(value),
			baseUrl: this.baseUrl,
			writtenAt: Date.now(),
		};
		valuesByKey[this.key] = entry;
		recentRequests?.set(this.recentKey, entry);
		if (isRetry) valuesOfRetries().set(this.sharedKey, entry);
	}

	/**
	 * Marks the task of this entry as gone, so that a retry may create another one: `error` says that the task has
	 * failed, or that the service does not know it. An unknown task is marked only by a retry that a person starts, and
	 * not if it was created recently, because a replica of the service may lag behind. Throws a Failure if an unknown
	 * task was created with another token: it may be a task of another account.
	 */
	setGone(error: unknown): void {
		const { value: previous } = this;
		if (!previous || !('taskId' in previous)) return;
		if (isFailure(error, 'notFound')) {
			const { accountKey, createdAt } = previous;
			if (accountKey !== this.credential.accountKey)
				throw sentElsewhereFailure(previous, 'with another token');
			if (!this.journal.isRetry || Date.now() - createdAt < MAX_REPLICA_LAG_MS) return;
		}
		this.write({ ...previous, state: 'gone' });
	}

	/** Undoes `setSent`. Call it only when the service has surely not accepted the call. */
	setNotAccepted(): void {
		sharedCalls().reservedBy.set(this.sharedKey, this.journal);
		this.deleteEverywhere();
	}

	/** Deletes the entry from the journal and from this process, so that the next attempt or run sends the call. */
	deleteEverywhere(): void {
		this.deleteFromJournal();
		this.journal.recentRequests?.delete(this.recentKey);
		valuesOfRetries().delete(this.sharedKey);
	}

	/** Deletes the entry from the journal only. Later manual runs and other retries can still collect its result. */
	deleteFromJournal(): void {
		delete this.journal.valuesByKey[this.key];
	}
}

/**
 * Makes the Failure for a call that was sent with another setting of the credential, which the user has replaced since.
 * The result can be collected only with that setting. `how` says how the call was sent, as in “with another token”.
 */
function sentElsewhereFailure(value: WrittenValue, how: string): Failure {
	const isSpeech = 'taskId' in value;
	return new Failure('indeterminate', {
		sentElsewhere: isSpeech ? `${how}, as task ${value.taskId}` : how,
		mayBeCharged: true,
		mediaKind: isSpeech ? 'speech' : undefined,
	});
}

/** Returns the ids of tasks to collect, and whether some of `entries`, parts of one speech, have no such task. */
export function collectableTasks(
	entries: JournalEntry[],
): Pick<FailureFacts, 'taskIds' | 'isIncomplete'> {
	const taskIds = entries.flatMap(({ collectableTaskId }) => collectableTaskId ?? []);
	return { taskIds, isIncomplete: taskIds.length < entries.length };
}

/** Describes in words how an attempt has failed, and when (UTC). */
export function describeFailedAttempt(error: unknown): string {
	const now = new Date().toISOString().replace('T', ' ').slice(0, 19);
	const failure = toFailure(error);
	const { kind, facts } = failure;
	// The failure of another row ends a run, too: nobody may have canceled it.
	if (kind === 'canceled') return `the attempt ended early (${now} UTC)`;
	// The message of the next attempt says itself that the result did not arrive.
	const lostReason = kind === 'streamLost' ? facts.reason : undefined;
	return `${lostReason ?? wordingOf(failure).message} (${now} UTC)`;
}
