import type { INodeExecutionData, ITriggerFunctions } from 'n8n-workflow';
import { Failure } from '../shared/failure';
import type { Requests } from '../shared/api/api';
import type { Emitter } from './executionQueue';
import { eventItem, withFile, type TaskEvent } from './items';
import type { Ledger } from './watch/taskStore';
import type { SelfStarts } from './watch/selfStarts';
import type { Settings } from './settings';

export interface EventParts {
	context: ITriggerFunctions;
	requests: Requests;
	settings: Settings;
	ledger: Ledger;
	emitter: Emitter;
	selfStarts: SelfStarts;
	/** Aborts when the trigger is closed. */
	closing: AbortSignal;
	onFatal(failure: Failure): void;
}

/** Makes events of what becomes of tasks, as far as they are wanted, and hands them to the emitter. */
export class Events {
	constructor(private readonly parts: EventParts) {}

	/** The progress of a task has risen to so many percent. */
	progress(taskId: string, percentage: number): void {
		const { requests, settings, ledger } = this.parts;
		const isStep = ledger.rise(taskId, percentage, settings.progressStep);
		if (!isStep || !settings.events.has('progress')) return;
		const event: TaskEvent = { event: 'progress', task_id: taskId, process_percentage: percentage };
		void this.emit(event, `progress ${percentage}`, async () =>
			eventItem(event, requests.address.apiToken),
		);
	}

	/**
	 * A task has ended that speaks this text, if known. Resolves when that has been emitted, if it is
	 * wanted; never rejects.
	 */
	async end(event: TaskEvent, text?: string): Promise<void> {
		const { context, requests, settings, ledger, closing } = this.parts;
		if (!settings.events.has(event.event)) return ledger.end(event.task_id);
		ledger.over(event.task_id);
		const make = async () => {
			if (!settings.download) return eventItem(event, requests.address.apiToken);
			return await withFile(event, context, requests, settings.outputField, closing);
		};
		await this.emit(event, event.event, make, text);
	}

	private async emit(
		event: TaskEvent,
		name: string,
		make: () => Promise<INodeExecutionData>,
		text?: string,
	): Promise<void> {
		const { ledger, emitter, selfStarts } = this.parts;
		const taskId = event.task_id;
		const isProgress = event.event === 'progress';
		const possibleDepth = selfStarts.possibleDepth(taskId);
		let depth = 0;
		await emitter.emit({
			taskId,
			name,
			isProgress,
			isWanted: async () => {
				const found = await this.depthOf(taskId, possibleDepth, text);
				if (found === undefined) ledger.end(taskId);
				else depth = found;
				return found !== undefined;
			},
			make,
			onEmit: (over) => {
				if (!isProgress) ledger.emitted(taskId);
				ledger.save();
				selfStarts.begin(depth, over);
			},
			onRefused: () => ledger.refused(taskId),
			onDone: () => {
				if (!isProgress) ledger.end(taskId);
			},
		});
	}

	/** Undefined when the task is to be passed over. */
	private async depthOf(
		taskId: string,
		possibleDepth: number,
		text: string | undefined,
	): Promise<number | undefined> {
		const { selfStarts, closing, ledger, onFatal } = this.parts;
		return await selfStarts
			.depthOf(taskId, possibleDepth, text, closing)
			.catch((error: unknown) => {
				// Told to the user instead: activated again, the trigger must not emit it after all.
				ledger.end(taskId);
				onFatal(error as Failure);
				return undefined;
			});
	}
}
