import { createHash } from 'node:crypto';
import type { Api } from '../api/api';
import { monotonicNow } from '../async/deadline';
import { pollUntil, type ReadResult } from '../async/pollUntil';
import { MAX_SHARED_READ_AGE_MS } from '../async/coalescedReads';
import type { SpeechTask } from '../contract';
import { Failure, isFailure, isTransient, withDefaultFacts } from '../failure';
import { meaningOf } from '../parsing/errorTable';
import type { AccountSocket } from './accountSocket';

/**
 * Grace periods, in ms, for odd answers, which may be wrong for a moment.
 *
 * - `noAudioUrl`: a completed task has no URL of its audio.
 * - `apparentEnd`: an unknown status word seems to mean that the task has ended.
 * - `notFound`: the service does not know the task, perhaps because a replica of the service lags behind.
 */
const GRACE_MS = {
	noAudioUrl: 60_000,
	apparentEnd: 10_000,
	notFound: 10_000,
};

/** The poll interval of a task that is a spot check for overload, in ms. */
const SPOT_CHECK_INTERVAL_MS = 1000;
/** The jitter, as a share of the pause. Without it, tasks that lose the socket would be read all at once. */
const JITTER_WIDTH = 0.1;
/** While the socket is open, the pauses between two reads of a background task double up to this many ms. */
const BACKGROUND_MAX_BACKOFF_MS = 300_000;

/** Which speech task to wait for, and how. */
export interface TaskWait {
	taskId: string;
	/** True to read the task at once; false if it was just created, or a message has named it. */
	readFirst: boolean;
	/** True if a trigger waits for the task, so that reads are rare. */
	isBackground?: boolean;
	/** The signal of a deadline (see `Deadline`). Its abort ends the wait. */
	signal: AbortSignal;
	/** The usual pause before a read of the task, in ms, before jitter. */
	pollIntervalMs: number;
	/** The account's socket. The caller has acquired it (see `acquireSocket`), and releases it after the wait. */
	accountSocket: AccountSocket;
	/** Is called with the progress in percent, 0 to 100, when it is first known and each time it has risen. */
	onProgress(percentage: number): void;
	/** Is called each time a read shows that the task is still in progress. */
	onUnfinished?(): void;
}

/** Collects what messages and reads tell about a task, and decides whether a read ends the wait. */
class TaskObservations {
	/** The highest percentage so far; -1 before the first. */
	private highestPercentage = -1;
	/** The status word that was last read; undefined before the first. */
	private status: string | undefined;
	/** The Failure of the last read that was answered, or sent in vain; undefined if that read succeeded. */
	private lastFailure: Failure | undefined;
	/** When each odd answer (see GRACE_MS) was first read, from `monotonicNow`. */
	private readonly firstObservedAt: { [oddAnswer in keyof typeof GRACE_MS]?: number } = {};

	constructor(private readonly callbacks: Pick<TaskWait, 'onProgress' | 'onUnfinished'>) {}

	/** Notes the progress that a message or a read tells, if any. */
	noteProgress(percentage: number | undefined): void {
		if (percentage === undefined || percentage <= this.highestPercentage) return;
		this.highestPercentage = percentage;
		this.callbacks.onProgress(percentage);
	}

	/**
	 * Notes the result of a read, and returns what it means for the wait. Throws a Failure if the task has failed, or
	 * if it is completed but has had no audio URL for too long.
	 */
	noteTask(task: SpeechTask): ReadResult<SpeechTask> {
		const { reason, raw, end, isEndCertain } = task;
		const isApparent = end !== undefined && !isEndCertain;
		if (!isApparent) this.firstObservedAt.apparentEnd = undefined;
		this.status = task.status;
		this.lastFailure = undefined;
		this.firstObservedAt.notFound = undefined;
		if (isApparent && !this.isGracePeriodOver('apparentEnd'))
			return { done: false, expectSoon: true };
		if (end === 'error') throw new Failure('taskFailed', { reason, meaning: meaningOf(raw) });
		if (end === undefined) {
			this.noteProgress(task.percentage);
			this.callbacks.onUnfinished?.();
			return { done: false };
		}
		if (task.audioUrl !== undefined) return { done: true, value: { ...task, status: end } };
		return this.tolerate('noAudioUrl', new Failure('noAudioUrl', { limitMs: GRACE_MS.noAudioUrl }));
	}

	/**
	 * Notes that a read has failed. If the failure is an odd answer whose grace period is not over, asks for another
	 * read soon. Otherwise throws the error.
	 */
	noteFailure(error: unknown): ReadResult<SpeechTask> {
		// An aborted read tells nothing of the service.
		if (isTransient(error) || isFailure(error, 'notFound')) this.lastFailure = error;
		if (isFailure(error, 'notFound')) return this.tolerate('notFound', error);
		throw error;
	}

	/**
	 * Returns the error to report when the wait ends with `error`. If the service has told nothing of the task, the
	 * transient Failure of the last read tells more than a timeout. A throttled read does not: it says that the service
	 * is there.
	 */
	errorToReport(error: unknown): unknown {
		const { lastFailure } = this;
		const isUnknown = this.status === undefined && this.highestPercentage < 0;
		const tellsMore = isTransient(lastFailure) && !isFailure(lastFailure, 'throttled');
		return isFailure(error, 'timedOut') && isUnknown && tellsMore ? lastFailure : error;
	}

	/** The last known status for the user, as in “processing, 43 %, then HTTP 502”. */
	get lastKnownStatus(): string {
		const progress = this.highestPercentage > 0 ? `, ${this.highestPercentage} %` : '';
		const httpStatus = this.lastFailure?.facts.status;
		const httpError = httpStatus === undefined ? '' : `, then HTTP ${httpStatus}`;
		return (this.status ?? 'pending') + progress + httpError;
	}

	/** Asks for another read soon, or throws `failure` if the grace period of this odd answer is over. */
	private tolerate(oddAnswer: keyof typeof GRACE_MS, failure: Failure): ReadResult<SpeechTask> {
		if (!this.isGracePeriodOver(oddAnswer)) return { done: false, expectSoon: true };
		throw failure;
	}

	/** True once the grace period of this odd answer is over. The first call starts the period. */
	private isGracePeriodOver(oddAnswer: keyof typeof GRACE_MS): boolean {
		const startedAt = (this.firstObservedAt[oddAnswer] ??= monotonicNow());
		return monotonicNow() - startedAt >= GRACE_MS[oddAnswer];
	}
}

/**
 * Waits until a speech task is completed and resolves with it. Only a read of the task counts as its outcome (§4.2),
 * because messages can be lost or come too early. Throws a Failure with the task's id.
 */
export async function waitForTask(api: Api, wait: TaskWait): Promise<SpeechTask> {
	const { taskId, signal, accountSocket, readFirst, isBackground = false } = wait;
	const { throttle } = api;
	let runningTask = isBackground || readFirst ? undefined : throttle.startTask();
	const isSpotCheck = runningTask?.isSpotCheck ?? false;
	const observations = new TaskObservations(wait);
	/** A shared read must begin after this time, from `monotonicNow`, to tell anything new. */
	let freshAfter = monotonicNow();
	let isAnnounced = false;
	try {
		const task = await pollUntil({
			read,
			signal,
			pollMs:
				(isSpotCheck ? SPOT_CHECK_INTERVAL_MS : wait.pollIntervalMs) *
				(1 + JITTER_WIDTH * (jitterOf(taskId) - 0.5)),
			maxBackoffMs: isBackground ? BACKGROUND_MAX_BACKOFF_MS : undefined,
			readFirst: readFirst || isSpotCheck,
			isChannelOpen: () => accountSocket.isOpen,
			subscribe: (onEvent) =>
				accountSocket.subscribeToTask(taskId, (event, percentage) => {
					observations.noteProgress(percentage);
					if (event === 'announced') {
						isAnnounced = true;
						freshAfter = monotonicNow();
					}
					onEvent(event);
				}),
		});
		runningTask?.end();
		return task;
	} catch (error) {
		const failure = runningTask ? runningTask.end(error) : error;
		const { lastKnownStatus } = observations;
		throw withDefaultFacts(observations.errorToReport(failure), { taskId, lastKnownStatus });
	}

	/** Reads the task once, or shares a read of the same kind. Throws the Failure of the read, or that of the task. */
	async function read(readSignal: AbortSignal, isUrgent: boolean): Promise<ReadResult<SpeechTask>> {
		const isSentAtOnce = isUrgent && (isAnnounced || !isBackground);
		const waitingKind = isBackground ? 'background' : 'poll';
		const kind = isSentAtOnce ? 'read' : waitingKind;
		// Only reads of one kind are shared, so that no urgent read waits for the turn of a less urgent one.
		const key = `task ${kind} ${taskId}`;
		const startedAfter = Math.max(freshAfter, monotonicNow() - MAX_SHARED_READ_AGE_MS);
		const getTask = async (sharedSignal: AbortSignal, setWaiting: (isWaiting: boolean) => void) => {
			setWaiting(true);
			const onSend = () => setWaiting(false);
			return await api.getTask(taskId, sharedSignal, { retry: 'never', kind, onSend });
		};
		return await api.coalescedReads
			.share(key, startedAfter, readSignal, getTask)
			.finally(() => {
				if (!readSignal.aborted) freshAfter = monotonicNow();
			})
			.then(
				(task) => {
					const result = observations.noteTask(task);
					// A task that has failed before says nothing about the load of the service now.
					if (!isBackground && !result.done) runningTask ??= throttle.startTask();
					return result;
				},
				(error: unknown) => observations.noteFailure(error),
			);
	}
}

/** Returns a number from 0 to 1. It depends only on the task, so that several triggers share each read of a task. */
const jitterOf = (taskId: string): number =>
	createHash('sha256').update(taskId).digest().readUInt16BE() / 0xffff;
