import type { SpeechTask } from './contract';
import { Failure, isTransient } from './failure';
import type { Follower, Listening } from './notifications';
import type { Requests } from './requests';
import { until, type News, type NewsKind, type Reading, type ReadingReason } from './wait';

/** Completed does not mean ready: how long the address of the file may be missing, in ms. */
const ADDRESS_GRACE_MS = 60_000;
/** How long a task that was just created may be unknown to the reading side, in ms. */
const UNKNOWN_GRACE_MS = 15_000;

/** Readings of a watched task: once a lost socket is back, and at most this rarely, in ms. */
const WATCH = { catchUpMs: 2000, longestPauseMs: 300_000 };

export interface TaskWait {
	taskId: string;
	signal: AbortSignal;
	/** Seconds without news before a reading (`options.pollInterval`). */
	pollInterval: number;
	listening: Listening;
	/** True right after creation: the first reading can wait, and an unknown task is given time. */
	justCreated: boolean;
	/**
	 * For one of many tasks that are watched for long: reads it ever less often while it is silent, and
	 * lets the first reading, too, wait for its turn. Absent for somebody who waits for this one task.
	 */
	watch?: { readFirst: boolean };
	/** Rising percentages, 0 to 100. */
	onProgress(percentage: number): void;
}

/**
 * Waits for a speech task: progress over the socket, outcome by reading the task alone (§6.2,
 * §4.2). Throws a Failure with the task's id: taskFailed, noAddress, notFound, or the signal's.
 */
export async function waitForTask(requests: Requests, wait: TaskWait): Promise<SpeechTask> {
	const { taskId, signal, watch } = wait;
	const began = Date.now();
	let highest = -1;
	let completedSince: number | undefined;
	let lastStatus = 'pending';
	/** What stood in the way of the last reading. */
	let trouble: Failure | undefined;
	let known = false;

	const progress = (percentage: number | undefined) => {
		if (percentage === undefined || percentage <= highest) return;
		highest = percentage;
		wait.onProgress(percentage);
	};

	let tell: (news: NewsKind) => void = () => {};
	const follower: Follower = {
		onMessage(percentage) {
			progress(percentage);
			tell(percentage === 100 ? 'outcome' : 'progress');
		},
		onSocketChange: (open) => tell(open ? 'back' : 'lost'),
	};
	const news: News = {
		isLive: () => wait.listening.isOpen(),
		start(onNews) {
			tell = onNews;
			wait.listening.follow(taskId, follower);
		},
	};
	const turn = async (reason: ReadingReason, turnSignal: AbortSignal) => {
		if (reason === 'first' && !watch) return true;
		const poll = wait.listening.isOpen() ? 'livePoll' : 'poll';
		const kind = watch && reason !== 'silence' ? 'catchUp' : poll;
		return await requests.turn(kind, wait.pollInterval * 1000, turnSignal);
	};

	const read = async (readSignal: AbortSignal): Promise<Reading<SpeechTask>> => {
		// A wait that can't even begin (a wrong address, say) must not last until its deadline.
		const repeat = wait.justCreated || known ? 'once' : 'read';
		const task = await requests.readTask(taskId, readSignal, repeat).catch((error: unknown) => {
			trouble = error as Failure;
			if (isTooEarly(error)) throw error.with({ transient: true });
			const passes = repeat === 'once' || (error as Failure).kind === 'rateLimited';
			throw !passes && isTransient(error) ? asFinal(error) : error;
		});
		known = true;
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
		throw new Failure('noAddress', { seconds: ADDRESS_GRACE_MS / 1000 });
	};

	const isTooEarly = (error: unknown): error is Failure =>
		error instanceof Failure &&
		error.kind === 'notFound' &&
		wait.justCreated &&
		Date.now() - began < UNKNOWN_GRACE_MS;

	const endWait = requests.beginWait();
	try {
		return await until({
			read,
			news,
			signal,
			pollMs: wait.pollInterval * 1000,
			holdMs: () => requests.holdMs(),
			readFirst: watch?.readFirst ?? !wait.justCreated,
			turn,
			...(watch ? WATCH : {}),
		});
	} catch (error) {
		const news = [
			lastStatus,
			highest > 0 && `${highest} %`,
			trouble?.facts.status && `then HTTP ${trouble.facts.status}`,
		];
		throw aboutTask(error, taskId, news.filter(Boolean).join(', '));
	} finally {
		endWait();
		wait.listening.unfollow(taskId, follower);
	}
}

const asFinal = (error: Failure) => new Failure(error.kind, { ...error.facts, transient: false });

/** The same failure, with the id of the (paid) task it is about. */
export function aboutTask(error: unknown, taskId: string, lastNews?: string): unknown {
	return error instanceof Failure ? error.with({ taskId, lastNews }) : error;
}
