import { checkTokenTogether } from '../../shared/api/tokenCheck';
import { sleep, steadyNow } from '../../shared/async/deadline';
import type { SpeechTask } from '../../shared/contract';
import { Failure } from '../../shared/failure';
import { wordingOf } from '../../shared/n8n/messages';
import { failureOfText } from '../../shared/parsing/errors';
import type { Subscription } from '../../shared/speech/notifications';
import { endedBefore, isNew } from './endedBefore';
import { waitForTask } from '../../shared/speech/speechTask';
import type { Activation } from '../activation/activation';
import type { Arrivals } from './arrivals';
import type { TaskEvents } from './taskEvents';
import type { TaskStore } from './taskStore';

/** How long a task may be silent before it is read, in ms; doubles up to 5 minutes. */
const SILENCE_MS = 30_000;
/** How long to wait before following a task again that the service refused to show, in ms. */
const REFUSED_MS = 60_000;
/** How many times a task that the service does not know is looked up, and the pause in between, in ms. */
const MISSING_TIMES = 3;
const MISSING_MS = 30_000;
/** How many times a task is looked up that the service does not show to this token. */
const HIDDEN_TIMES = 2;

/** What following a task came to: its end, something to retry after, no such task, or another user's. */
type Followed = 'over' | 'refused' | 'missing' | 'hidden';

/** Follows tasks to their ends, one by one. */
export class TaskFollower {
	constructor(
		private readonly activation: Activation,
		private readonly taskStore: TaskStore,
		private readonly subscription: Subscription,
		private readonly events: TaskEvents,
		private readonly arrivals: Arrivals,
	) {}

	/**
	 * Follows one task until its end is emitted. `isOld`: it may not be under way. If it says that it
	 * ended before `since` (ms since 1970), it is passed over. Never rejects.
	 */
	async toEnd(
		taskId: string,
		isOld: boolean,
		since: number | undefined,
		signal: AbortSignal,
	): Promise<void> {
		const { taskStore } = this;
		const { settings, warn } = this.activation;
		for (let missing = 0, hidden = 0; ;) {
			const found = await this.follow(taskId, isOld, since, signal);
			if (found === 'over') return;
			hidden = found === 'hidden' ? hidden + 1 : 0;
			if (hidden >= HIDDEN_TIMES) {
				warn(`the service does not show task ${taskId}: it is no longer looked up`);
				return taskStore.markOver(taskId);
			}
			missing = found === 'missing' ? missing + 1 : 0;
			// A task that was heard of gets patience enough anyway.
			if (missing > 0 && (!isOld || missing >= MISSING_TIMES)) {
				warn(`the service knows no task ${taskId}: it is no longer looked up`);
				// One that is named in the parameters may still be created.
				return settings.taskIds.has(taskId) ? taskStore.forget(taskId) : taskStore.markOver(taskId);
			}
			if (!missing) await sleep(REFUSED_MS, signal);
			else if (await this.isNamed(taskId, signal)) isOld = false;
		}
	}

	/** True as soon as a message names a task, false after a while. */
	private async isNamed(taskId: string, signal: AbortSignal): Promise<boolean> {
		const named = new AbortController();
		const unfollow = this.subscription.follow(taskId, (news) => {
			if (news === 'progress' || news === 'outcome') named.abort();
		});
		await sleep(MISSING_MS, AbortSignal.any([signal, named.signal]));
		unfollow();
		return named.signal.aborted;
	}

	private async follow(
		taskId: string,
		isOld: boolean,
		since: number | undefined,
		signal: AbortSignal,
	): Promise<Followed> {
		let highest = 0;
		const onProgress = (percentage: number) => {
			highest = percentage;
			// A task that may have ended long ago makes no progress.
			if (since === undefined) this.events.progress(taskId, percentage);
		};
		return await waitForTask(this.activation.api, {
			taskId,
			signal,
			pollIntervalMs: SILENCE_MS,
			subscription: this.subscription,
			begins: isOld ? 'stored' : 'heard',
			onProgress,
		}).then(
			async (task) => await this.completed(taskId, task, since, highest),
			async (error: unknown) => await this.failed(taskId, error, highest),
		);
	}

	/** `highest` is the percentage that was last heard of. */
	private async completed(
		taskId: string,
		task: SpeechTask,
		since: number | undefined,
		highest: number,
	): Promise<Followed> {
		this.arrivals.found(isNew(task));
		if (since !== undefined) {
			if (endedBefore(task, since)) {
				this.taskStore.markOver(taskId);
				return 'over';
			}
			this.events.progress(taskId, highest);
		}
		const { status, audioUrl } = task;
		const event = { ...completion(taskId), status, ...(audioUrl ? { audio_url: audioUrl } : {}) };
		await this.events.end(event);
		return 'over';
	}

	/** It has failed, or the wait for its end has. */
	private async failed(taskId: string, error: unknown, highest: number): Promise<Followed> {
		const { closing, isManual, warn, onFatal } = this.activation;
		const failure = error instanceof Failure ? error : new Failure('noAnswer');
		if (closing.aborted) return 'over';
		switch (failure.kind) {
			case 'taskFailed': {
				const reason = failure.facts.text ?? 'The service gave no reason';
				const event = { event: 'failed', task_id: taskId, process_percentage: highest } as const;
				await this.events.end({ ...event, status: 'error', error: reason });
				return 'over';
			}
			case 'noAddress': {
				const { message } = wordingOf(failure);
				await this.events.end({ ...completion(taskId), status: 'completed', error: message });
				return 'over';
			}
			case 'tokenRefused':
				return await this.refused(failure);
			case 'notFound':
				// Someone who tests with a task's ID wants to know that there is no such task.
				if (isManual) onFatal(failure);
				return isManual ? 'over' : 'missing';
			case 'timedOut':
				this.taskStore.forget(taskId);
				return 'over';
			case 'canceled':
				return 'over';
			default:
				warn(wordingOf(failure).message);
				return 'refused';
		}
	}

	/** The service refuses to show a task: to this token, or only because it is another user's. */
	private async refused(failure: Failure): Promise<Followed> {
		const { api, closing, isManual, onFatal } = this.activation;
		const isSaid = failureOfText(failure.facts.text).kind === 'tokenRefused';
		const trouble =
			isManual || isSaid ? failure : await checkTokenTogether(api, steadyNow(), closing);
		if (closing.aborted) return 'over';
		if (trouble === undefined) return 'hidden';
		if (!(trouble instanceof Failure) || trouble.kind !== 'tokenRefused') return 'refused';
		onFatal(failure);
		return 'over';
	}
}

const completion = (taskId: string) =>
	({ event: 'completed', task_id: taskId, process_percentage: 100 }) as const;
