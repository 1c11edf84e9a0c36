import type { SpeechTask } from '../contract';
import { Failure, isTransient } from '../failure';
import type { Follower, Subscription } from './notifications';
import type { Api } from '../api/api';
import { pollUntil, type News, type Reading } from '../async/pollUntil';
import type { NewsKind, ReadingReason } from '../async/timetable';

/** How long a completed task's file address may be missing, in ms. */
const ADDRESS_GRACE_MS = 60_000;
/**
 * How long, in ms, and how many times in a row the service must say that it knows no such task: a
 * restarting ingress, or a replica that lags behind, may say so of any task.
 */
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
	/**
	 * True if the service has mentioned the task before. One that only a person has named may not
	 * exist, which is reported at once.
	 */
	isKnown?: boolean;
	/**
	 * For one of many tasks watched for long: while silent it is read less and less often, and the
	 * first reading, too, waits for its turn. Undefined when an item waits for this one task.
	 */
	watch?: { readFirst: boolean };
	/** Rising percentages, 0 to 100. */
	onProgress(percentage: number): void;
}

/**
 * Waits for a speech task: progress over the socket, outcome by reading the task alone (§6.2,
 * §4.2). Throws a Failure with the task's id: taskFailed, noAddress, notFound, or the signal's.
 */
export async function waitForTask(api: Api, wait: TaskWait): Promise<SpeechTask> {
	const { taskId, signal, watch } = wait;
	const { rateLimit } = api;
	let highest = -1;
	let completedSince: number | undefined;
	let lastStatus = 'pending';
	/** The failure of the last reading. */
	let trouble: Failure | undefined;
	/** True once the task is known to exist. */
	let isKnown = wait.justCreated || wait.isKnown === true;
	/** Since when, and how many times, each reading has found no such task. */
	let unknown: { since: number; times: number } | undefined;

	const progress = (percentage: number | undefined) => {
		if (percentage === undefined || percentage <= highest) return;
		highest = percentage;
		wait.onProgress(percentage);
	};

	let tell: (news: NewsKind) => void = () => {};
	const follower: Follower = {
		onMessage(percentage) {
			isKnown = true;
			progress(percentage);
			tell(percentage === 100 ? 'outcome' : 'progress');
		},
		onSocketChange: (open) => tell(open ? 'back' : 'lost'),
	};
	const news: News = {
		isLive: () => wait.subscription.isLive(),
		start(onNews) {
			tell = onNews;
			wait.subscription.follow(taskId, follower);
		},
	};
	const turn = async (reason: ReadingReason, pauseMs: number, turnSignal: AbortSignal) => {
		if (!watch)
			return reason === 'first' || (await rateLimit.waitForTurn('lookup', pauseMs, turnSignal));
		const poll = wait.subscription.isLive() ? 'livePoll' : 'poll';
		const kind = reason === 'silence' ? poll : 'catchUp';
		return await rateLimit.waitForTurn(kind, wait.pollIntervalMs, turnSignal);
	};

	const read = async (readSignal: AbortSignal): Promise<Reading<SpeechTask>> => {
		// A wait that can't even begin, for instance with a wrong address, must not last until its
		// deadline.
		const repeat = isKnown ? 'once' : 'read';
		const task = await api.getTask(taskId, readSignal, repeat).catch((error: unknown) => {
			trouble = error as Failure;
			if (mayBeThere(error)) throw error.with({ transient: true });
			const passes = repeat === 'once' || (error as Failure).kind === 'rateLimited';
			throw !passes && isTransient(error) ? asFinal(error) : error;
		});
		isKnown = true;
		unknown = undefined;
		trouble = undefined;
		lastStatus = task.status;
		if (task.state === 'error') throw new Failure('taskFailed', { text: task.message });
		if (task.state !== 'completed') {
			progress(task.percentage);
			return { done: false };
		}
		if (task.audioUrl !== undefined) return { done: true, value: task };
		completedSince ??= Date.now();
		if (Date.now() - completedSince < ADDRESS_GRACE_MS) return { done: false, soon: true };
		throw new Failure('noAddress', { limitMs: ADDRESS_GRACE_MS });
	};

	/** Counts a 404, and returns whether the task may still exist. */
	const mayBeThere = (error: unknown): error is Failure => {
		if (!(error instanceof Failure) || error.kind !== 'notFound') return false;
		if (!isKnown && error.facts.isEdge !== true) return false;
		unknown ??= { since: Date.now(), times: 0 };
		unknown.times++;
		return unknown.times < UNKNOWN_TIMES || Date.now() - unknown.since < UNKNOWN_MS;
	};

	const endWait = rateLimit.begin(watch ? 'watched' : 'task');
	try {
		return await pollUntil({
			read,
			news,
			signal,
			pollMs: wait.pollIntervalMs,
			cooldownMs: () => rateLimit.cooldownMs(),
			readFirst: watch?.readFirst ?? !wait.justCreated,
			waitForTurn: turn,
			...(watch ? WATCH : {}),
		});
	} catch (error) {
		// Even if the task was never read because the whole account was resting.
		const status = trouble?.facts.status ?? (rateLimit.isRefused ? 429 : undefined);
		const news = [
			lastStatus,
			highest > 0 && `${highest} %`,
			status !== undefined && `then HTTP ${status}`,
		];
		throw aboutTask(error, taskId, news.filter(Boolean).join(', '));
	} finally {
		endWait();
		wait.subscription.unfollow(taskId, follower);
	}
}

const asFinal = (error: Failure) => new Failure(error.kind, { ...error.facts, transient: false });

/** The same failure, with the id of the (paid) task it is about. */
export function aboutTask(error: unknown, taskId: string, lastNews?: string): unknown {
	return error instanceof Failure ? error.with({ taskId, lastNews }) : error;
}
