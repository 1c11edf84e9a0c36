import { createHash } from 'node:crypto';
import type {
	IBinaryKeyData,
	IDataObject,
	INodeExecutionData,
	IRun,
	ITriggerFunctions,
} from 'n8n-workflow';
import { backOffMs, raceTimeout, sleep, withDeadline } from '../../shared/async/deadline';
import { Semaphore } from '../../shared/async/semaphore';
import { errorKindOf, Failure } from '../../shared/failure';
import { wordingOf } from '../../shared/n8n/messages';
import type { Activation } from './activation';
import type { Outbox } from './outbox';

/**
 * The most events of one watch that are in progress at the same time. Each takes a slot, from the download of its files
 * to the end of its execution.
 */
const MAX_CONCURRENT_EXECUTIONS = 20;
/**
 * The longest time for which an event keeps its slot after it was emitted, in ms. After that, the slot is free for
 * another event, even if the execution goes on.
 */
const MAX_EXECUTION_MS = 60_000;
/** Deadline for downloading the files of one event, in ms. */
const DOWNLOAD_MS = 3_600_000;
/** The most attempts to emit an event, if n8n fails to start its execution. */
const MAX_ATTEMPTS = 10;
/** The longest pause between two attempts, in ms. All pauses together take about three minutes. */
const MAX_PAUSE_MS = 60_000;

/** One event, which is to start one execution. */
export interface Emission {
	/** The key in the outbox of the task or history entry that the event is about. */
	outboxKey: string;
	/** What has happened. It is part of the deduplication key, so it must be the same after a restart. */
	name: string;
	/**
	 * Returns true once an event with a newer percentage, or the event for the end of the task, has replaced this one.
	 * Only progress events have it.
	 */
	isOutdated?(): boolean;
	/** What the event is about. If a downstream sub-workflow has created it, nothing is emitted. */
	product: Parameters<Activation['isCreatedDownstream']>[0];
	json: IDataObject;
	/** Downloads the files of the event. If that fails, the json gets an `error` that says why. */
	fetchFiles?(signal: AbortSignal): Promise<IBinaryKeyData>;
}

/** Emits the events of one watch, of which a limited number are in progress at the same time. */
export class ExecutionQueue {
	private readonly slots = new Semaphore(MAX_CONCURRENT_EXECUTIONS);

	constructor(
		private readonly activation: Activation,
		private readonly outbox: Pick<Outbox, 'setState' | 'save'>,
	) {}

	/**
	 * Emits an event until n8n has started its execution, at most MAX_ATTEMPTS times. Resolves when the execution has
	 * ended or takes longer than a minute, when all attempts have failed, or when the event is outdated or must not be
	 * emitted. Also resolves when the trigger is closed. If no execution has started by then, the event stays in the
	 * outbox for the next activation, unless it is about progress. Never rejects.
	 */
	async emitUntilStarted(emission: Emission): Promise<void> {
		const { isCreatedDownstream, closing, warn } = this.activation;
		const { outboxKey, name } = emission;
		if (await isCreatedDownstream(emission.product)) return this.outbox.setState(outboxKey, 'done');
		for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
			const release = await this.slots.acquire(1, closing).catch(() => undefined);
			if (!release) return;
			const isDone = await this.emitOnce(emission).finally(release);
			if (isDone) return;
			await sleep(backOffMs(attempt, MAX_PAUSE_MS), closing);
		}
		warn(`n8n started no execution for the event '${name}' of ${outboxKey}`);
	}

	/**
	 * Emits an event once, unless it is outdated. Resolves with false if n8n has not started its execution. Resolves
	 * with true in all other cases: the execution has ended or takes too long, the event is outdated, or the trigger is
	 * closed.
	 */
	private async emitOnce(emission: Emission): Promise<boolean> {
		const { context, closing } = this.activation;
		if (emission.isOutdated?.()) return true;
		const item = await this.itemOf(emission);
		if (closing.aborted) return true;
		const executionEnd = context.helpers.createDeferredPromise<IRun>();
		const startFailure = executionEnd.promise.then(
			() => false,
			(error: unknown) => this.failedToStart(error),
		);
		this.setState(emission, 'emitted');
		this.outbox.save();
		context.emit([[item]], undefined, executionEnd, this.deduplicationKey(emission));
		const hasFailedToStart = await raceTimeout(MAX_EXECUTION_MS, closing, startFailure);
		// The trigger was closed before it was known whether the execution has started. The state stays 'emitted', so
		// that the next activation can emit the event again (see `Outbox`). If the execution has started, n8n drops the
		// second event by its deduplication key.
		if (closing.aborted && hasFailedToStart === undefined) return true;
		this.setState(emission, hasFailedToStart ? 'pending' : 'done');
		return !hasFailedToStart;
	}

	/** Sets the state in the outbox, which has no state of progress events. */
	private setState(
		{ outboxKey, isOutdated }: Emission,
		state: 'pending' | 'emitted' | 'done',
	): void {
		if (!isOutdated) this.outbox.setState(outboxKey, state);
	}

	private async itemOf({ json, fetchFiles }: Emission): Promise<INodeExecutionData> {
		const { api, closing } = this.activation;
		const { redact } = api.credential;
		if (!fetchFiles) return { json: redact.value(json) };
		return await withDeadline(DOWNLOAD_MS, closing, fetchFiles).then(
			(binary) => ({ json: redact.value(json), binary }),
			(error: unknown) => {
				const failure = error instanceof Failure ? error : new Failure('downloadFailed');
				const { message } = wordingOf(failure);
				const withError = { ...json, error: message, error_kind: errorKindOf(failure) };
				return { json: redact.value(withError) };
			},
		);
	}

	/**
	 * True if `error`, with which n8n rejected the promise of an execution, means that the execution has not started.
	 * n8n also rejects the promise if an execution has started and is then canceled or lost. Only the text of the error
	 * tells the two cases apart. An n8n without deduplication keys rejects the promise only after a cancellation.
	 */
	private failedToStart(error: unknown): boolean {
		const hasStarted = /cancell?ed|stalled|no active execution/i.test(String(error));
		return supportsDeduplication(this.activation.context) && !hasStarted;
	}

	/**
	 * Returns the key by which n8n recognizes a second emission of the same event. n8n allows up to 255 characters, so
	 * the key is a digest.
	 */
	private deduplicationKey({ outboxKey, name }: Emission): string {
		const parts = [this.activation.identityKey, outboxKey, name];
		const digest = createHash('sha256').update(parts.join('\n')).digest('hex');
		return `media-generation:${digest}`;
	}
}

/** True if this version of n8n takes a deduplication key, and drops a second execution with the same key. */
export const supportsDeduplication = (context: ITriggerFunctions): boolean =>
	context.emit.length >= 4;
