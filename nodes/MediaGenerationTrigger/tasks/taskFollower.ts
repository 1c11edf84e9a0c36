import { checkToken, FRESH_MS } from '../../shared/api/tokenCheck';
import { sleep } from '../../shared/async/deadline';
import type { SpeechTask } from '../../shared/contract';
import { Failure } from '../../shared/failure';
import { wordingOf } from '../../shared/n8n/messages';
import type { Subscription } from '../../shared/speech/notifications';
import { waitForTask } from '../../shared/speech/speechTask';
import type { Activation } from '../activation/activation';
import { endedBefore } from './endedBefore';
import type { TaskEvents } from './taskEvents';
import type { TaskStore } from './taskStore';

/** How long a task may be silent before it is read, in ms; doubles up to 5 minutes. */
const SILENCE_MS = 30_000;
/** How long to wait before following a task again whose reading was refused, in ms. */
const REFUSED_MS = 20_000;
/** How many times a task is looked up that the service does not show to this token. */
const HIDDEN_TIMES = 2;

/** Follows tasks to their ends, one by one. */
export class TaskFollower {
	constructor(
		private readonly activation: Activation,
		private readonly taskStore: TaskStore,
		private readonly subscription: Subscription,
		private readonly events: TaskEvents,
	) {}

	/**
	 * Follows one task until its end is known, or there is nothing to follow. `isAnnounced`: a message has
	 * just named it, so that it need not be read at once. One that ended before `notBefore` (ms since 1970)
	 * is passed over. Never rejects.
	 */
	async follow(
		taskId: string,
		isAnnounced: boolean,
		notBefore: number,
		signal: AbortSignal,
	): Promise<void> {
		const { activation, taskStore } = this;
		let isTold = false;
		for (let hidden = 0, isFirst = true; ; isFirst = false) {
			const failure = await this.wait(taskId, isAnnounced && isFirst, notBefore, signal);
			if (!failure || failure.kind === 'canceled' || signal.aborted) return;
			const { message } = wordingOf(failure);
			if (failure.kind === 'timedOut') return taskStore.forget(taskId);
			if (failure.kind === 'notFound') {
				// Someone who tests with a task's ID wants to know that there is no such task.
				if (activation.isManual) activation.onFatal(failure);
				else activation.warn(`${message}: it is no longer looked up`);
				return taskStore.forget(taskId);
			}
			const isHidden = failure.kind === 'tokenRefused' && !(await this.isAccountRefused(failure));
			if (isHidden && ++hidden >= HIDDEN_TIMES) {
				activation.warn(`the service does not show task ${taskId}: it is no longer looked up`);
				return taskStore.markOver(taskId);
			}
			if (!isTold && failure.kind !== 'tokenRefused') activation.warn(message);
			isTold = true;
			await sleep(REFUSED_MS, signal);
		}
	}

	/** Waits for its end, and makes an event of it; resolves with why that failed. */
	private async wait(
		taskId: string,
		isAnnounced: boolean,
		notBefore: number,
		signal: AbortSignal,
	): Promise<Failure | undefined> {
		let highest = 0;
		const onProgress = (percentage: number) => {
			highest = percentage;
			// A task that may have ended long ago makes no progress.
			if (notBefore === 0) this.events.progress(taskId, percentage);
		};
		return await waitForTask(this.activation.api, {
			taskId,
			signal,
			pollIntervalMs: SILENCE_MS,
			subscription: this.subscription,
			begins: isAnnounced ? 'heard' : 'stored',
			onProgress,
		}).then(
			(task) => this.complete(taskId, task, notBefore, highest),
			(error: unknown) => this.fail(taskId, error, highest),
		);
	}

	/** `highest` is the percentage that was last heard of. */
	private complete(
		taskId: string,
		task: SpeechTask,
		notBefore: number,
		highest: number,
	): undefined {
		if (notBefore > 0) {
			if (endedBefore(task, notBefore)) return void this.taskStore.markOver(taskId);
			this.events.progress(taskId, highest);
		}
		const { status, audioUrl } = task;
		this.events.end({
			...completion(taskId),
			status,
			...(audioUrl ? { audio_url: audioUrl } : {}),
		});
	}

	/** Returns the failure unless it is an end of the task. */
	private fail(taskId: string, error: unknown, highest: number): Failure | undefined {
		const failure = error instanceof Failure ? error : new Failure('noAnswer');
		if (failure.kind === 'taskFailed') {
			const reason = failure.facts.text ?? 'The service gave no reason';
			const event = { event: 'failed', task_id: taskId, process_percentage: highest } as const;
			this.events.end({ ...event, status: 'error', error: reason });
		} else if (failure.kind === 'noAddress') {
			const { message } = wordingOf(failure);
			this.events.end({ ...completion(taskId), status: 'completed', error: message });
		} else {
			return failure;
		}
		return undefined;
	}

	/** False when the service only refuses to show a task: it is another user's. */
	private async isAccountRefused(failure: Failure): Promise<boolean> {
		const { api, closing, isManual, onFatal } = this.activation;
		const trouble = isManual ? failure : await checkToken(api, FRESH_MS, closing);
		if (trouble instanceof Failure && trouble.kind === 'tokenRefused') onFatal(trouble);
		return trouble !== undefined;
	}
}

const completion = (taskId: string) =>
	({ event: 'completed', task_id: taskId, process_percentage: 100 }) as const;
