import { download } from '../../shared/http/download';
import { nameOfTask } from '../../shared/n8n/ownWork';
import type { Activation } from '../activation/activation';
import type { TaskEventKind } from '../activation/settings';
import type { TaskStore } from './taskStore';

/** What the trigger puts out for one event. */
export interface TaskEvent {
	event: TaskEventKind;
	task_id: string;
	/** 0 to 100. */
	process_percentage: number;
	status?: string;
	audio_url?: string;
	error?: string;
}

/** Makes events of what becomes of tasks, as far as they are wanted, and hands them to the queue. */
export class TaskEvents {
	constructor(
		private readonly activation: Activation,
		private readonly taskStore: TaskStore,
	) {}

	/** The progress of a task has risen to `percentage`. */
	progress(taskId: string, percentage: number): void {
		const { settings } = this.activation;
		const isStep = this.taskStore.reportProgress(taskId, percentage, settings.progressStep);
		if (!isStep || !settings.events.has('progress')) return;
		const event: TaskEvent = { event: 'progress', task_id: taskId, process_percentage: percentage };
		this.emit(event, `progress ${percentage}`);
	}

	/** A task has ended. */
	end(event: TaskEvent): void {
		const isWanted = this.activation.settings.events.has(event.event);
		if (!isWanted) return this.taskStore.markOver(event.task_id);
		this.taskStore.markEmitted(event.task_id, false);
		this.emit(event, event.event);
	}

	private emit(event: TaskEvent, name: string): void {
		const { activation, taskStore } = this;
		const { context, api, settings, executionQueue } = activation;
		const { task_id: id, audio_url: url } = event;
		const fetchFiles = async (signal: AbortSignal) => {
			const file = { url: url!, kind: 'speech' as const, id, justMade: true, othersWait: true };
			const data = await download(context, api.credential, file, signal);
			return { [settings.outputField]: data };
		};
		void executionQueue.add({
			about: id,
			name,
			isProgress: event.event === 'progress',
			key: id,
			store: taskStore,
			isWanted: async () => !(await activation.isOwnWork([nameOfTask(id)])),
			json: { ...event },
			fetchFiles: settings.download && url !== undefined ? fetchFiles : undefined,
		});
	}
}
