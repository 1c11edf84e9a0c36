import type { IDataObject } from 'n8n-workflow';
import { sleep } from '../../shared/async/deadline';
import type { SpeechTask } from '../../shared/contract';
import { errorKindOf, type Failure, toFailure } from '../../shared/failure';
import { download } from '../../shared/http/download';
import { wordingOf } from '../../shared/n8n/messages';
import type { EventKind } from '../../shared/n8n/triggerEvents';
import { asText } from '../../shared/parsing/values';
import type { AccountSocket } from '../../shared/speech/accountSocket';
import { waitForTask } from '../../shared/speech/speechTask';
import type { Activation } from '../activation/activation';
import type { Outbox, OutboxItem } from '../activation/outbox';
import type { Emission, ExecutionQueue } from '../activation/executionQueue';

/**
 * The pause between two polls of a task while the socket is closed, in ms. It is also the first pause after a wait that
 * has failed; the next ones double.
 */
const POLL_INTERVAL_MS = 30_000;
/** The longest pause after a wait that has failed, in ms. */
const MAX_RETRY_PAUSE_MS = 300_000;

/** Follows one speech task to its end, and emits its events in order. Call `follow` once. */
export class TaskPoller {
	/** The highest percentage so far, 0 to 100. */
	private highestPercentage = 0;
	/** The latest event. Older progress events that still wait to be emitted are outdated. */
	private latestEmission: Emission | undefined;
	/** Resolves when all events that were passed to `emit` so far have left the execution queue. */
	private previousEmissions = Promise.resolve();

	constructor(
		private readonly activation: Activation,
		private readonly outbox: Outbox,
		private readonly executionQueue: ExecutionQueue,
		private readonly taskId: string,
		/**
		 * Its item. A task of a sub-workflow is done from its first event on, so the outbox may drop its item while the
		 * task is still followed.
		 */
		private readonly outboxItem: OutboxItem,
	) {}

	/** Follows the task until it ends, is gone, or `signal` aborts. Never rejects. `readFirst`: see `TaskWait`. */
	async follow(
		accountSocket: AccountSocket,
		readFirst: boolean,
		signal: AbortSignal,
	): Promise<void> {
		const { api, isManual, onFatal, warn } = this.activation;
		for (let attempt = 0; ; attempt++) {
			const failure = await waitForTask(api, {
				taskId: this.taskId,
				signal,
				pollIntervalMs: POLL_INTERVAL_MS,
				accountSocket,
				readFirst,
				isBackground: true,
				onProgress: (percentage) => this.onProgress(percentage),
			}).then(
				(task) => this.onCompleted(task),
				(error: unknown) => this.onError(error),
			);
			if (!failure || signal.aborted) return;
			// In a manual test, a person waits, so every failure is shown.
			if (failure.kind === 'tokenRefused' || isManual) onFatal(failure);
			else if (attempt === 0) warn(wordingOf(failure).message);
			if (failure.kind === 'notFound') return;
			await sleep(Math.min(MAX_RETRY_PAUSE_MS, POLL_INTERVAL_MS * 2 ** attempt), signal);
		}
	}

	private onProgress(percentage: number): void {
		const { activation, outboxItem } = this;
		this.highestPercentage = percentage;
		const lastReported = outboxItem.reportedPercentage ?? 0;
		if (percentage < lastReported + activation.settings.progressStep) return;
		// The percentage is stored with the task, so that the next activation does not report it again.
		outboxItem.reportedPercentage = percentage;
		this.emit('progress');
	}

	private onCompleted(task: SpeechTask): void {
		const { status, audioUrl } = task;
		this.onEnd('completed', { status, audio_url: audioUrl }, task);
	}

	/** If `error` means that the task has ended, emits that event if it is selected. Otherwise returns the Failure. */
	private onError(error: unknown): Failure | undefined {
		const failure = toFailure(error);
		const error_kind = errorKindOf(failure);
		if (failure.kind === 'noAudioUrl') {
			const { message } = wordingOf(failure);
			this.onEnd('completed', { status: 'completed', error: message, error_kind });
		} else if (failure.kind === 'taskFailed') {
			const reason = failure.facts.reason ?? 'The service gave no reason';
			this.onEnd('failed', { status: 'error', error: reason, error_kind });
		} else return failure;
		return undefined;
	}

	private onEnd(event: 'completed' | 'failed', eventFields: IDataObject, task?: SpeechTask): void {
		if (event === 'completed') this.highestPercentage = 100;
		const isWanted = this.activation.settings.events.has(event);
		this.outbox.setState(this.taskId, isWanted ? 'pending' : 'done');
		this.emit(event, eventFields, task);
	}

	/**
	 * If the event is selected, adds it to the execution queue as soon as the task's previous event has left the queue.
	 */
	private emit(event: EventKind, eventFields: IDataObject = {}, task?: SpeechTask): void {
		const { taskId: id, highestPercentage } = this;
		const { context, api, settings, closing } = this.activation;
		if (!settings.events.has(event)) return;
		const url = task?.audioUrl;
		const isProgress = event === 'progress';
		const fetchFiles = async (signal: AbortSignal) => {
			const file = { url: url!, kind: 'speech', id } as const;
			return { [settings.fileField]: await download(context, api.credential, file, signal) };
		};
		const emission: Emission = {
			outboxKey: id,
			name: isProgress ? `progress ${highestPercentage}` : event,
			isFinal: event === 'completed' || event === 'failed',
			isOutdated: isProgress ? () => emission !== this.latestEmission : undefined,
			subject: task
				? { id, prompt: asText(task.raw.input) }
				: { id, readPrompt: async () => asText((await api.getTask(id, closing)).raw.input) },
			json: { event, task_id: id, process_percentage: highestPercentage, ...eventFields },
			fetchFiles: url !== undefined && settings.wantsFile(url) ? fetchFiles : undefined,
		};
		this.latestEmission = emission;
		this.previousEmissions = this.previousEmissions.then(
			async () => await this.executionQueue.emitUntilStarted(emission),
		);
	}
}
