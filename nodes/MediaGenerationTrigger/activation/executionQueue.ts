import { createHash } from 'node:crypto';
import type {
	IBinaryKeyData,
	IDataObject,
	INodeExecutionData,
	IRun,
	ITriggerFunctions,
} from 'n8n-workflow';
import { backoffMs, raceTimeout, sleep, withDeadline } from '../../shared/async/deadline';
import { Semaphore } from '../../shared/async/semaphore';
import { errorKindOf, toFailure } from '../../shared/failure';
import { wordingOf } from '../../shared/n8n/messages';
import { toOutputRecord, withoutInlineFiles } from '../../shared/parsing/outputRecord';
import type { Activation } from './activation';
import type { Outbox } from './outbox';

/** How many events of one watch may occupy a slot of its queue at the same time. */
const MAX_CONCURRENT_EXECUTIONS = 20;
/** How long an event keeps its slot after it was emitted, in ms, if its execution takes longer than that. */
const MAX_SLOT_HOLD_MS = 60_000;
/** Time limit for downloading the files of one event, in ms. */
const DOWNLOAD_TIMEOUT_MS = 3_600_000;
/** The maximum number of attempts to emit an event, if n8n fails to start its execution. They take about a day. */
const MAX_EMIT_ATTEMPTS = 45;
/** The longest pause between two attempts to emit a final event, in ms. */
const MAX_EMIT_PAUSE_MS = 3_600_000;
/** The longest pause between two attempts to emit any other event, in ms. Later events of its task wait for it. */
const MAX_PROGRESS_PAUSE_MS = 60_000;

/** One event that should start one execution. */
export interface Emission {
	/** The task or history entry that the event is about, as its key in the outbox. */
	outboxKey: string;
	/** The name of the event. It is part of the deduplication key, so it must be the same after a restart. */
	name: string;
	/** True if nothing more can happen to the task or entry, so that the outbox's state is about this event. */
	isFinal: boolean;
	/** Returns true once a newer event has replaced this one. */
	isOutdated?(): boolean;
	/** The task or history entry itself. If a sub-workflow downstream has created it, nothing is emitted. */
	subject: Parameters<Activation['isCreatedDownstream']>[0];
	/** The json of the item, not redacted yet. */
	json: IDataObject;
	/** Downloads the files of the event. If it rejects, the item has an `error` in its json instead of files. */
	fetchFiles?(signal: AbortSignal): Promise<IBinaryKeyData>;
}

/**
 * Emits the events of one watch (`TaskWatch` or `HistoryWatch`). Each attempt occupies one of MAX_CONCURRENT_EXECUTIONS
 * slots from the download of the event's files until its execution has ended, or for MAX_SLOT_HOLD_MS after the emission.
 */
export class ExecutionQueue {
	private readonly slots = new Semaphore(MAX_CONCURRENT_EXECUTIONS);

	constructor(
		private readonly activation: Activation,
		private readonly outbox: Pick<Outbox, 'setState' | 'reopen' | 'save'>,
	) {}

	/**
	 * Emits an event, up to MAX_EMIT_ATTEMPTS times, until n8n has started its execution. An event about something that
	 * a sub-workflow downstream has created is not emitted. Never rejects.
	 */
	async emitUntilStarted(emission: Emission): Promise<void> {
		if (await this.activation.isCreatedDownstream(emission.subject))
			return this.outbox.setState(emission.outboxKey, 'done');
		await this.emitFrom(0, emission);
	}

	/** Makes the attempts from number `firstAttempt` on. `item` is that of the earlier attempts, if there were any. */
	private async emitFrom(
		firstAttempt: number,
		emission: Emission,
		item?: Promise<INodeExecutionData>,
	): Promise<void> {
		const { closing, warn } = this.activation;
		const { outboxKey, name, isFinal } = emission;
		const maxPauseMs = isFinal ? MAX_EMIT_PAUSE_MS : MAX_PROGRESS_PAUSE_MS;
		for (let attempt = firstAttempt; attempt < MAX_EMIT_ATTEMPTS; attempt++) {
			const release = await this.slots.acquire(1, closing).catch(() => undefined);
			if (!release) return;
			// n8n stores a file for good once it is fetched, so all attempts after that share one item.
			item ??= this.makeItem(emission);
			const isDone = await this.tryToEmit(attempt, emission, item).finally(release);
			if (isDone) return;
			// A file that could not be fetched may be there later.
			if ((await item).json.error !== undefined) item = undefined;
			await sleep(backoffMs(attempt, maxPauseMs), closing);
		}
		warn(`n8n could not start an execution for the event '${name}' of ${outboxKey}`);
	}

	/**
	 * Tries once to emit an event, unless it is outdated or the trigger is closed. Resolves with false if n8n has failed to
	 * start the execution, so that the event has to be emitted again; otherwise with true.
	 */
	private async tryToEmit(
		attempt: number,
		emission: Emission,
		itemPromise: Promise<INodeExecutionData>,
	): Promise<boolean> {
		const { context, closing } = this.activation;
		if (emission.isOutdated?.()) return true;
		const item = await itemPromise;
		if (closing.aborted) return true;
		const executionEnd = context.helpers.createDeferredPromise<IRun>();
		const failedStartCheck = executionEnd.promise.then(
			() => false,
			(error: unknown) => this.meansFailedStart(error),
		);
		this.setState(emission, 'emitted');
		this.outbox.save();
		try {
			context.emit([[item]], undefined, executionEnd, this.deduplicationKey(emission));
		} catch (error) {
			executionEnd.reject(error as Error);
		}
		const hasFailedToStart = await raceTimeout(MAX_SLOT_HOLD_MS, closing, failedStartCheck);
		const { isFinal, outboxKey } = emission;
		const onLateFailure = () =>
			closing.aborted
				? this.outbox.reopen(outboxKey)
				: void this.emitFrom(attempt + 1, emission, itemPromise);
		if (hasFailedToStart === undefined && isFinal)
			void failedStartCheck.then((hasFailed) => hasFailed && onLateFailure());
		// Once the trigger is closed, the state stays 'emitted', so that another process may emit the event again. A start
		// that has just failed makes it pending again, because nothing reopens the event later.
		if (!closing.aborted || hasFailedToStart)
			this.setState(emission, hasFailedToStart ? 'pending' : 'done');
		return !hasFailedToStart;
	}

	/** Sets the state of an event in the outbox, unless a later event of the same task may follow. */
	private setState({ outboxKey, isFinal }: Emission, state: 'pending' | 'emitted' | 'done'): void {
		if (isFinal) this.outbox.setState(outboxKey, state);
	}

	private async makeItem({ json, fetchFiles }: Emission): Promise<INodeExecutionData> {
		const { api, closing } = this.activation;
		const { redact } = api.credential;
		const outputJson = (fields: IDataObject) => redact.value(toOutputRecord(fields)) as IDataObject;
		if (!fetchFiles) return { json: outputJson(json) };
		return await withDeadline(DOWNLOAD_TIMEOUT_MS, closing, fetchFiles).then(
			(binary) => ({ json: outputJson(withoutInlineFiles(json) as IDataObject), binary }),
			(error: unknown) => {
				const failure = toFailure(error, 'downloadFailed');
				const { message } = wordingOf(failure);
				const withError = { ...json, error: message, error_kind: errorKindOf(failure) };
				return { json: outputJson(withError) };
			},
		);
	}

	/**
	 * Returns true if `error`, with which n8n rejected the promise of an execution, means that the execution has not
	 * started. Only its text distinguishes that from an execution that was canceled or lost later. If n8n has no
	 * deduplication keys, returns false, because a second emission could start a second execution.
	 */
	private meansFailedStart(error: unknown): boolean {
		const hasStarted = /cancell?ed|stalled|no active execution/i.test(String(error));
		return supportsDeduplication(this.activation.context) && !hasStarted;
	}

	/** The key by which n8n recognizes a repeated event: a digest, because n8n limits its length. */
	private deduplicationKey({ outboxKey, name }: Emission): string {
		const parts = [this.activation.identityKey, outboxKey, name];
		const digest = createHash('sha256').update(parts.join('\n')).digest('hex');
		return `media-generation:${digest}`;
	}
}

/** True if the `emit` method of this n8n has a fourth parameter, the deduplication key. */
export const supportsDeduplication = (context: ITriggerFunctions): boolean =>
	context.emit.length >= 4;
