import type { IDataObject } from 'n8n-workflow';
import { sleep } from '../../shared/async/deadline';
import { Failure } from '../../shared/failure';
import { download } from '../../shared/http/download';
import { wordingOf } from '../../shared/n8n/messages';
import { nameOfTask } from '../../shared/n8n/ownWork';
import type { Connection } from '../../shared/speech/notifications';
import { waitForTask } from '../../shared/speech/speechTask';
import type { Activation } from '../activation/activation';
import type { ExecutionQueue } from '../activation/executionQueue';
import type { TaskEventKind } from '../activation/settings';
import { endedBefore } from './endedBefore';
import type { TaskStore } from './taskStore';

/** How long a task may be silent before it is read, in ms; doubles up to 5 minutes. */
const SILENCE_MS = 30_000;
/** How long to wait before following a task again that could not be read, in ms; doubles up to an hour. */
const FIRST_PAUSE_MS = 20_000;
const MAX_PAUSE_MS = 3_600_000;

/** Follows one speech task to its end, and has its events emitted. */
export class TaskFollower {
	/** The percentage that was last heard of. */
	private highest = 0;

	/** A task that ended before `notBefore` (ms since 1970) is passed over. */
	constructor(
		private readonly activation: Activation,
		private readonly taskStore: TaskStore,
		private readonly executionQueue: ExecutionQueue,
		private readonly taskId: string,
		private notBefore: number,
	) {}

	/** Resolves when its end is known, or there is nothing to follow. Never rejects. */
	async follow(
		subscription: Connection,
		begins: 'heard' | 'stored',
		signal: AbortSignal,
	): Promise<void> {
		const { activation, taskStore, taskId } = this;
		const { api, isManual, onFatal, warn } = activation;
		let beginning = begins;
		for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(MAX_PAUSE_MS, pauseMs * 2)) {
			const failure = await waitForTask(api, {
				taskId,
				signal,
				pollIntervalMs: SILENCE_MS,
				subscription,
				begins: beginning,
				onProgress: (percentage) => this.progress(percentage),
			}).then(
				(task) => {
					if (endedBefore(task, this.notBefore)) return taskStore.markOver(taskId);
					this.notBefore = 0;
					this.progress(this.highest);
					const { status, audioUrl } = task;
					this.end('completed', { status, ...(audioUrl && { audio_url: audioUrl }) }, audioUrl);
				},
				(error: unknown) => this.fail(error),
			);
			if (!failure || failure.kind === 'canceled' || signal.aborted) return;
			if (failure.kind === 'timedOut') return taskStore.forget(taskId);
			const { message } = wordingOf(failure);
			// Someone who tests with a task's ID wants to know that there is no such task.
			if (failure.kind === 'tokenRefused' || isManual) onFatal(failure);
			else if (pauseMs === FIRST_PAUSE_MS) warn(message);
			if (failure.kind === 'notFound') return taskStore.forget(taskId);
			await sleep(pauseMs, signal);
			beginning = 'stored';
		}
	}

	private progress(percentage: number): void {
		this.highest = percentage;
		const { events, progressStep } = this.activation.settings;
		// A task that may have ended long ago makes no progress.
		if (this.notBefore > 0) return;
		const isStep = this.taskStore.reportProgress(this.taskId, percentage, progressStep);
		if (isStep && events.has('progress')) this.emit('progress', {}, `progress ${percentage}`);
	}

	/** Returns the failure unless it is an end of the task. */
	private fail(error: unknown): Failure | undefined {
		const failure = error instanceof Failure ? error : new Failure('noAnswer');
		if (failure.kind === 'noAddress') {
			this.end('completed', { status: 'completed', error: wordingOf(failure).message });
		} else if (failure.kind === 'taskFailed') {
			const reason = failure.facts.text ?? 'The service gave no reason';
			this.end('failed', { status: 'error', error: reason });
		} else return failure;
		return undefined;
	}

	private end(event: 'completed' | 'failed', facts: IDataObject, audioUrl?: string): void {
		if (event === 'completed') this.highest = 100;
		if (!this.activation.settings.events.has(event)) return this.taskStore.markOver(this.taskId);
		this.taskStore.markEmitted(this.taskId, false);
		this.emit(event, facts, event, audioUrl);
	}

	private emit(event: TaskEventKind, facts: IDataObject, name: string, url?: string): void {
		const { taskId: id } = this;
		const { context, api, settings } = this.activation;
		const fetchFiles = async (signal: AbortSignal) => {
			const file = { url: url!, kind: 'speech' as const, id };
			const data = await download(context, api.credential, file, signal);
			return { [settings.outputField]: data };
		};
		void this.executionQueue.add({
			about: id,
			name,
			isProgress: event === 'progress',
			names: [nameOfTask(id)],
			json: { event, task_id: id, process_percentage: this.highest, ...facts },
			fetchFiles: settings.download && url !== undefined ? fetchFiles : undefined,
		});
	}
}
