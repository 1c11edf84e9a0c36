import type { SpeechTask } from '../contract';
import { Failure, withFacts } from '../failure';
import type { Subscription } from './notifications';
import type { Api } from '../api/api';
import { steadyNow } from '../async/deadline';
import { pollUntil, type News, type Reading } from '../async/pollUntil';
import type { ReadingReason } from '../async/timetable';

/** How long a completed task's file address may be missing, in ms. */
const ADDRESS_GRACE_MS = 60_000;
/** How long and how many times in a row a 404 must come: an ingress or a lagging replica may send some. */
const UNKNOWN_MS = 60_000;
const UNKNOWN_TIMES = 3;

/** Readings of a watched task: when a lost socket is back, and the longest pause, in ms. */
const WATCH = { catchUpMs: 2000, longestPauseMs: 300_000 };

export interface TaskWait {
	taskId: string;
	signal: AbortSignal;
	/** Milliseconds without news before a reading. */
	pollIntervalMs: number;
	subscription: Subscription;
	/** True right after creation: the first reading can wait. */
	justCreated: boolean;
	/** The service has mentioned the task before. That one named by a person does not exist is said at once. */
	isKnown?: boolean;
	/** For one of many tasks watched for long: read more and more rarely, and always in turn. */
	watch?: { readFirst: boolean };
	/** Rising percentages, 0 to 100. */
	onProgress(percentage: number): void;
}

/** What messages and readings have shown of a task so far. */
class Sightings {
	private highest = -1;
	private status = 'pending';
	private completedSince: number | undefined;
	/** The failure of the last reading. */
	private trouble: Failure | undefined;
	/** Since when, and how many times, each reading has found no such task. */
	unknown: { since: number; times: number } | undefined;

	constructor(
		/** True once the task is known to exist. */
		public isKnown: boolean,
		private readonly onProgress: (percentage: number) => void,
	) {}

	/** A message has named the task. */
	heard(percentage: number | undefined): void {
		this.isKnown = true;
		this.progress(percentage);
	}

	/** A reading has shown the task. Throws a Failure when nothing more will come of it. */
	found(task: SpeechTask): Reading<SpeechTask> {
		this.isKnown = true;
		this.unknown = undefined;
		this.trouble = undefined;
		this.status = task.status;
		if (task.state === 'error') throw new Failure('taskFailed', { text: task.message });
		if (task.state !== 'completed') {
			this.progress(task.percentage);
			return { done: false };
		}
		if (task.audioUrl !== undefined) return { done: true, value: task };
		this.completedSince ??= steadyNow();
		if (steadyNow() - this.completedSince < ADDRESS_GRACE_MS) return { done: false, soon: true };
		throw new Failure('noAddress', { limitMs: ADDRESS_GRACE_MS });
	}

	/** A reading has failed with `error`; returns that as transient or not, as the wait should see it. */
	failed(error: unknown, repeat: 'read' | 'once'): unknown {
		if (!(error instanceof Failure)) return error;
		this.trouble = error;
		if (this.mayBeThere(error)) return error.with({ transient: true });
		const passes = repeat === 'once' || error.kind === 'rateLimited';
		return passes ? error : new Failure(error.kind, { ...error.facts, transient: false });
	}

	/** The last that is known, in words. `isRefused`: the account's last reading was refused. */
	lastNews(isRefused: boolean): string {
		// Even if the task was never read because the whole account was cooling down.
		const status = this.trouble?.facts.status ?? (isRefused ? 429 : undefined);
		const progress = this.highest > 0 ? `, ${this.highest} %` : '';
		return this.status + progress + (status === undefined ? '' : `, then HTTP ${status}`);
	}

	private progress(percentage: number | undefined): void {
		if (percentage === undefined || percentage <= this.highest) return;
		this.highest = percentage;
		this.onProgress(percentage);
	}

	/** Counts a 404, and returns whether the task may still exist. */
	private mayBeThere({ kind, facts }: Failure): boolean {
		if (kind !== 'notFound' || (!this.isKnown && facts.isEdge !== true)) return false;
		this.unknown ??= { since: steadyNow(), times: 0 };
		this.unknown.times++;
		return this.unknown.times < UNKNOWN_TIMES || steadyNow() - this.unknown.since < UNKNOWN_MS;
	}
}

/**
 * Waits for a speech task: progress over the socket, outcome by reading the task alone (§6.2,
 * §4.2). Throws a Failure with the task's id: taskFailed, noAddress, notFound, or the signal's.
 */
export async function waitForTask(api: Api, wait: TaskWait): Promise<SpeechTask> {
	const { taskId, signal, watch, subscription } = wait;
	const { rateLimit } = api;
	const sightings = new Sightings(wait.justCreated || wait.isKnown === true, wait.onProgress);

	let unfollow = () => {};
	const news: News = {
		isLive: () => subscription.isLive(),
		start(onNews) {
			unfollow = subscription.follow(taskId, (kind, percentage) => {
				if (kind === 'progress' || kind === 'outcome') sightings.heard(percentage);
				onNews(kind);
			});
		},
	};
	const waitForTurn = async (reason: ReadingReason, pauseMs: number, over: AbortSignal) => {
		if (!watch) return reason === 'first' || (await rateLimit.turns.lookup(pauseMs, over));
		const poll = subscription.isLive() ? 'livePoll' : 'poll';
		const kind = reason === 'silence' ? poll : 'catchUp';
		return await rateLimit.turns.watch(kind, over);
	};
	const read = async (over: AbortSignal, lastAt: number): Promise<Reading<SpeechTask>> => {
		// Messages may name thousands of others' tasks, or forgotten ones.
		const isUnknown = watch && sightings.unknown !== undefined;
		if (isUnknown) await rateLimit.turns.watch('unknown', over);
		// A wait that can't even begin, say with a wrong address, must not last until its deadline.
		const repeat = sightings.isKnown ? 'once' : 'read';
		const task = await api.getTask(taskId, over, repeat, lastAt).catch((error: unknown) => {
			throw sightings.failed(error, repeat);
		});
		if (isUnknown) rateLimit.turns.foundUnknown();
		return sightings.found(task);
	};

	const endWait = rateLimit.begin(watch ? 'watched' : 'task');
	try {
		return await pollUntil({
			read,
			news,
			signal,
			pollMs: wait.pollIntervalMs,
			// While only create calls are refused, a reading waits in line, and goes out at the end.
			cooldownMs: () => (rateLimit.isRefused ? rateLimit.cooldownMs() : 0),
			readFirst: watch?.readFirst ?? !wait.justCreated,
			waitForTurn,
			...(watch ? WATCH : {}),
		});
	} catch (error) {
		throw aboutTask(error, taskId, sightings.lastNews(rateLimit.isRefused));
	} finally {
		endWait();
		unfollow();
	}
}

/** The same failure, with the id of the (paid) task it is about. */
export const aboutTask = (error: unknown, taskId: string, lastNews?: string): unknown =>
	withFacts(error, { taskId, lastNews });
