import type { INodeExecutionData, ITriggerFunctions } from 'n8n-workflow';
import { Failure } from '../shared/failure';
import type { Api } from '../shared/api/api';
import type { ExecutionQueue } from './executionQueue';
import { eventItem, withFile, type TaskEvent } from './items';
import type { TaskStore } from './watch/taskStore';
import type { SelfStarts } from './watch/selfStarts';
import type { Settings } from './settings';

export interface EventParts {
	context: ITriggerFunctions;
	api: Api;
	settings: Settings;
	taskStore: TaskStore;
	executionQueue: ExecutionQueue;
	selfStarts: SelfStarts;
	/** Aborts when the trigger is closed. */
	closing: AbortSignal;
	onFatal(failure: Failure): void;
}

/** Makes events of what becomes of tasks, as far as they are wanted, and hands them to the queue. */
export class Events {
	constructor(private readonly parts: EventParts) {}

	/** The progress of a task has risen to so many percent. */
	progress(taskId: string, percentage: number): void {
		const { settings, taskStore } = this.parts;
		const isStep = taskStore.rise(taskId, percentage, settings.progressStep);
		if (!isStep || !settings.events.has('progress')) return;
		const event: TaskEvent = { event: 'progress', task_id: taskId, process_percentage: percentage };
		void this.emit(event, `progress ${percentage}`, async () => eventItem(event));
	}

	/**
	 * A task has ended that speaks this text, if known. Resolves when that has been emitted, if it is
	 * wanted; never rejects.
	 */
	async end(event: TaskEvent, text?: string): Promise<void> {
		const { context, api, settings, taskStore, closing } = this.parts;
		if (!settings.events.has(event.event)) return taskStore.end(event.task_id);
		taskStore.over(event.task_id);
		const make = async () => {
			if (!settings.download) return eventItem(event);
			return await withFile(event, context, api, settings.outputField, closing);
		};
		await this.emit(event, event.event, make, text);
	}

	private async emit(
		event: TaskEvent,
		name: string,
		make: () => Promise<INodeExecutionData>,
		text?: string,
	): Promise<void> {
		const { api, taskStore, executionQueue, selfStarts } = this.parts;
		const taskId = event.task_id;
		const isProgress = event.event === 'progress';
		const possibleDepth = selfStarts.possibleDepth(taskId);
		let depth = 0;
		await executionQueue.add({
			taskId,
			name,
			isProgress,
			isWanted: async () => {
				const found = await this.depthOf(taskId, possibleDepth, text);
				if (found === undefined) taskStore.end(taskId);
				else depth = found;
				return found !== undefined;
			},
			make: async () => {
				const item = await make();
				return { ...item, json: api.credential.redact.value(item.json) };
			},
			onEmit: (over) => {
				if (!isProgress) taskStore.emitted(taskId);
				taskStore.save();
				selfStarts.begin(depth, over);
			},
			onRefused: () => taskStore.refused(taskId),
			onDone: () => {
				if (!isProgress) taskStore.end(taskId);
			},
		});
	}

	/** Undefined when the task is to be passed over. */
	private async depthOf(
		taskId: string,
		possibleDepth: number,
		text: string | undefined,
	): Promise<number | undefined> {
		const { selfStarts, closing, taskStore, onFatal } = this.parts;
		return await selfStarts
			.depthOf(taskId, possibleDepth, text, closing)
			.catch((error: unknown) => {
				// Told to the user instead: activated again, the trigger must not emit it after all.
				taskStore.end(taskId);
				onFatal(error as Failure);
				return undefined;
			});
	}
}
