import type { IDataObject } from 'n8n-workflow';
import { sleep } from '../../shared/async/deadline';
import type { SpeechTask } from '../../shared/contract';
import { errorKindOf, Failure } from '../../shared/failure';
import { download } from '../../shared/http/download';
import { wordingOf } from '../../shared/n8n/messages';
import type { AccountSocket } from '../../shared/speech/accountSocket';
import { waitForTask } from '../../shared/speech/speechTask';
import type { Activation } from '../activation/activation';
import type { Outbox } from '../activation/outbox';
import type { Emission, ExecutionQueue } from '../activation/executionQueue';
import type { TaskEventKind } from '../activation/settings';

/** How long a task may be silent before it is read, in ms; doubles up to 5 minutes. */
const SILENCE_MS = 30_000;
/** How long to wait before following a task again that could not be read, in ms; doubles up to an hour. */
const FIRST_PAUSE_MS = 20_000;
const MAX_PAUSE_MS = 3_600_000;

/** Follows one speech task to its end, and has its events emitted. */
export class TaskPoller {
	/** The percentage that was last heard of. */
	private highest = 0;
	/** The latest percentage that is to be emitted; none once the task has ended. */
	private latest: Emission | undefined;
	/** Resolves when all events so far have been dealt with. */
	private emitted = Promise.resolve();

	constructor(
		private readonly activation: Activation,
		private readonly store: Outbox,
		private readonly executionQueue: ExecutionQueue,
		private readonly taskId: string,
	) {}

	/** Resolves when its end is known, or there is nothing to follow. Never rejects. */
	async follow(
		subscription: AccountSocket,
		mode: 'announced' | 'restored',
		signal: AbortSignal,
	): Promise<void> {
		const { api, isManual, onFatal, warn } = this.activation;
		for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(MAX_PAUSE_MS, pauseMs * 2)) {
			const failure = await waitForTask(api, {
				taskId: this.taskId,
				signal,
				pollIntervalMs: SILENCE_MS,
				subscription,
				mode,
				onProgress: (percentage) => this.progress(percentage),
			}).then(
				(task) => this.complete(task),
				(error: unknown) => this.fail(error),
			);
			if (!failure || signal.aborted) return;
			// Someone who tests with a task's ID wants to know that there is no such task.
			if (failure.kind === 'tokenRefused' || isManual) onFatal(failure);
			else if (pauseMs === FIRST_PAUSE_MS) warn(wordingOf(failure).message);
			if (failure.kind === 'notFound') return;
			await sleep(pauseMs, signal);
		}
	}

	private progress(percentage: number): void {
		const { events, progressStep } = this.activation.settings;
		this.highest = percentage;
		// It is kept with the task, so that the next activation does not report it again.
		const task = this.store.events.get(this.taskId)!;
		if (percentage < (task.reported ?? 0) + progressStep) return;
		task.reported = percentage;
		if (events.has('progress')) this.emit('progress');
	}

	private complete({ status, audioUrl }: SpeechTask): void {
		this.end('completed', { status, ...(audioUrl && { audio_url: audioUrl }) }, audioUrl);
	}

	/** Returns the failure unless it is an end of the task. */
	private fail(error: unknown): Failure | undefined {
		const failure = error instanceof Failure ? error : new Failure('noResponse');
		const error_kind = errorKindOf(failure);
		if (failure.kind === 'noAddress') {
			const { message } = wordingOf(failure);
			this.end('completed', { status: 'completed', error: message, error_kind });
		} else if (failure.kind === 'taskFailed') {
			const reason = failure.facts.text ?? 'The service gave no reason';
			this.end('failed', { status: 'error', error: reason, error_kind });
		} else return failure;
		return undefined;
	}

	private end(event: 'completed' | 'failed', facts: IDataObject, audioUrl?: string): void {
		if (event === 'completed') this.highest = 100;
		const isWanted = this.activation.settings.events.has(event);
		this.store.setState(this.taskId, isWanted ? 'pending' : 'done');
		if (isWanted) this.emit(event, facts, audioUrl);
	}

	/** One event after another. */
	private emit(event: TaskEventKind, facts: IDataObject = {}, url?: string): void {
		const { taskId: id, highest } = this;
		const { context, api, settings } = this.activation;
		const isProgress = event === 'progress';
		const fetchFiles = async (signal: AbortSignal) => {
			const file = { url: url!, kind: 'speech' as const, id };
			const data = await download(context, api.credential, file, signal);
			return { [settings.outputField]: data };
		};
		const emission: Emission = {
			eventId: id,
			name: isProgress ? `progress ${highest}` : event,
			isOutdated: isProgress ? () => emission !== this.latest : undefined,
			product: { id },
			json: { event, task_id: id, process_percentage: highest, ...facts },
			fetchFiles: settings.download && url !== undefined ? fetchFiles : undefined,
		};
		this.latest = isProgress ? emission : undefined;
		this.emitted = this.emitted.then(async () => await this.executionQueue.add(emission));
	}
}
