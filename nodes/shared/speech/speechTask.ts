import type { Api } from '../api/api';
import { monotonicNow } from '../async/deadline';
import { pollUntil, type Reading } from '../async/pollUntil';
import { RECENT_MS } from '../async/sharedReadings';
import type { SpeechTask } from '../contract';
import { Failure, isFailure, isTransient, withDefaultFacts } from '../failure';
import { meaningOf } from '../parsing/errorTable';
import type { AccountSocket } from './accountSocket';

/**
 * How long readings must find the same until it counts, in ms: a completed task without an address, an end
 * in other words than the contract's, 404s (of a replica that lags), and, if nothing has answered yet,
 * none: the address may be wrong.
 */
const GRACE_MS = { noAddress: 60_000, seems: 10_000, notFound: 10_000, unreachable: 120_000 };

/**
 * How a wait can begin. `readFirst`: the result may be there already. `isProven`: the task exists, so
 * the address of the service is right. `watched`: one of thousands that a trigger follows for hours.
 */
const WAIT_MODES = {
	/** Its create call was just accepted. */
	new: { readFirst: false, isProven: true, watched: false },
	/** An earlier attempt has created it. */
	reused: { readFirst: true, isProven: true, watched: false },
	/** A person has named it. */
	userSupplied: { readFirst: true, isProven: false, watched: false },
	/** A message has named it. */
	announced: { readFirst: false, isProven: true, watched: true },
	/** A trigger knew it before n8n was restarted. */
	restored: { readFirst: true, isProven: true, watched: true },
} as const;

/** Milliseconds between the first readings of one that may be too much for the service. */
const SPOT_CHECK_MS = 1000;
/** The pauses between readings of different tasks differ by this share at most, at random. */
const JITTER = 0.3;
/** Milliseconds of silence up to which the pause between readings of a watched task doubles. */
const BACKGROUND_MAX_BACKOFF_MS = 300_000;

export interface TaskWait {
	taskId: string;
	mode: keyof typeof WAIT_MODES;
	/** Deadline and cancel. */
	signal: AbortSignal;
	/** Milliseconds without news before a reading. */
	pollIntervalMs: number;
	subscription: AccountSocket;
	/** Rising percentages, 0 to 100. */
	onProgress(percentage: number): void;
	/** A reading shows it in progress. */
	onReading?(): void;
}

/** What messages and readings have shown of a task so far. */
class TaskObservations {
	private highest = -1;
	private status = 'pending';
	/** What the last reading was answered with, if it failed. */
	private httpStatus: number | undefined;
	/** Why nothing has answered yet. */
	private unavailable: Failure | undefined;
	/** Since when readings find it so, by `monotonicNow`. */
	private readonly since: { [what in keyof typeof GRACE_MS]?: number } = {};

	constructor(
		/** Whether the task was seen, so that the address is that of the service. */
		private isProven: boolean,
		private readonly wait: Pick<TaskWait, 'onProgress' | 'onReading'>,
	) {}

	/** A message or a reading has shown the task under way. */
	noteProgress(percentage: number | undefined): void {
		this.isProven = true;
		if (percentage === undefined || percentage <= this.highest) return;
		this.highest = percentage;
		this.wait.onProgress(percentage);
	}

	/** A reading has shown the task. Throws a Failure when nothing more will come of it. */
	noteTask(task: SpeechTask): Reading<SpeechTask> {
		this.isProven = true;
		if (!task.seems || task.status !== this.status) this.since.seems = undefined;
		this.status = task.status;
		this.httpStatus = undefined;
		this.since.notFound = undefined;
		const { message: text, raw, seems } = task;
		if (seems && !this.isLasting('seems')) return { done: false, expectSoon: true };
		const state = seems ?? task.state;
		if (state === 'error') throw new Failure('taskFailed', { text, means: meaningOf(raw) });
		if (state !== 'completed') {
			this.noteProgress(task.percentage);
			this.wait.onReading?.();
			return { done: false };
		}
		if (task.audioUrl !== undefined) return { done: true, value: { ...task, status: state } };
		return this.tolerate('noAddress', new Failure('noAddress', { limitMs: GRACE_MS.noAddress }));
	}

	/** A reading has failed. Throws `error` unless that is borne with here. */
	noteFailure(error: unknown): Reading<SpeechTask> {
		if (!(error instanceof Failure)) throw error;
		const { kind, facts } = error;
		this.httpStatus = facts.status;
		if (kind === 'notFound') return this.tolerate(kind, error);
		if (this.isProven || kind === 'rateLimited' || !isTransient(error)) throw error;
		this.unavailable = new Failure(kind, { ...facts, transient: false });
		return this.tolerate('unreachable', this.unavailable);
	}

	/** The wait ends with `error`: why nothing has ever answered tells more than that the time is up. */
	explain(error: unknown): unknown {
		return isFailure(error, 'timedOut') && !this.isProven ? (this.unavailable ?? error) : error;
	}

	/** The last that is known, in words. */
	get lastKnownStatus(): string {
		const progress = this.highest > 0 ? `, ${this.highest} %` : '';
		const trouble = this.httpStatus === undefined ? '' : `, then HTTP ${this.httpStatus}`;
		return this.status + progress + trouble;
	}

	/** Reads on soon; throws `failure` once it has been found for long enough. */
	private tolerate(what: keyof typeof GRACE_MS, failure: Failure): Reading<SpeechTask> {
		if (!this.isLasting(what)) return { done: false, expectSoon: true };
		throw failure;
	}

	/** Whether readings have found it so for long enough. */
	private isLasting(what: keyof typeof GRACE_MS): boolean {
		const since = (this.since[what] ??= monotonicNow());
		return monotonicNow() - since >= GRACE_MS[what];
	}
}

/**
 * Waits for a speech task: progress over the socket, outcome by reading the task alone (§6.2,
 * §4.2). Throws a Failure with the task's id: taskFailed, noAddress, notFound, or the signal's.
 */
export async function waitForTask(api: Api, wait: TaskWait): Promise<SpeechTask> {
	const { taskId, signal, subscription } = wait;
	const { throttle } = api;
	const { readFirst, isProven, watched } = WAIT_MODES[wait.mode];
	const call = watched ? undefined : await throttle.admit('task', signal);
	const isSpotCheck = call?.isSpotCheck ?? false;
	const observations = new TaskObservations(isProven, wait);
	/** When this began, the outcome was announced, or it was read: what was read before is no news. */
	let freshAfter = monotonicNow();
	return await pollUntil({
		read: async (reading, isUrgent) => {
			const line = isUrgent ? undefined : watched ? throttle.backgroundQueue : throttle.pollQueue;
			const key = `task ${line && watched} ${taskId}`;
			const since = Math.max(freshAfter, monotonicNow() - RECENT_MS);
			const getTask = async (shared: AbortSignal) => await api.getTask(taskId, shared, 'once');
			return await throttle.readings
				.share(key, since, reading, getTask, line)
				.finally(() => (freshAfter = reading.aborted ? freshAfter : monotonicNow()))
				.then(
					(task) => observations.noteTask(task),
					(error: unknown) => observations.noteFailure(error),
				);
		},
		signal,
		// Many that lose the same channel must not all read at once.
		pollMs:
			(isSpotCheck ? SPOT_CHECK_MS : wait.pollIntervalMs) * (1 + JITTER * (Math.random() - 0.5)),
		longestPauseMs: watched ? BACKGROUND_MAX_BACKOFF_MS : undefined,
		readFirst: readFirst || isSpotCheck,
		isLive: () => subscription.isOpen,
		follow: (onEvent) =>
			subscription.onTask(taskId, (event, percentage) => {
				if (event === 'progress' || event === 'announced') observations.noteProgress(percentage);
				if (event === 'announced') freshAfter = monotonicNow();
				onEvent(event);
			}),
	}).then(
		(task) => {
			call?.end('succeeded');
			return task;
		},
		(error: unknown) => {
			const known = call ? call.end('rejected', error) : error;
			throw withTaskId(observations.explain(known), taskId, observations.lastKnownStatus);
		},
	);
}

/** The same failure, with the id of the (paid) task it is about. */
export const withTaskId = (error: unknown, taskId: string, lastKnownStatus?: string): unknown =>
	withDefaultFacts(error, { taskId, lastKnownStatus });
