import type { IDataObject } from 'n8n-workflow';
import { EventStore, type KeptEvents, type Stateful } from '../activation/eventStore';

/** What is known of a task. */
interface Task extends Stateful {
	/** When it was first heard of, in ms since 1970. */
	since: number;
	/** The percentage that was last reported. */
	reported: number;
	/** It is passed over if it ended before this moment, in ms since 1970; 0: it is told in any case. */
	notBefore: number;
}

/** In the order in which they were first heard of, or ended. */
interface KeptTasks extends KeptEvents<Task> {
	/** The address of the service. */
	service: string;
}

/** How many tasks that are over are remembered, so that a late message is not taken for a new task. */
const MAX_OVER = 1000;
/** How long a task may be under way before it is forgotten, in ms. */
export const MAX_WATCHED_MS = 24 * 3600 * 1000;

/** The trigger's memory of tasks, which survives a lost socket, a deployment and a restart. */
export class TaskStore extends EventStore<Task, KeptTasks> {
	/** What was kept of another `service` does not count: its tasks may have the same ids. */
	constructor(
		store: IDataObject,
		key: string,
		private readonly service: string,
		emitsAgain: boolean,
		now = Date.now(),
	) {
		super(store, 'tasks', key);
		const kept = this.found();
		if (kept?.service === service) this.resume(kept, emitsAgain, now);
		for (const [taskId, { state, since }] of this.events) {
			if (state !== 'over' && now - since > MAX_WATCHED_MS) this.forget(taskId);
		}
	}

	/** Tasks under way, in the order in which they were first heard of. */
	underWay(): string[] {
		return this.in('underWay');
	}

	/** True for a task whose end is known. */
	hasEnded(taskId: string): boolean {
		return (this.events.get(taskId)?.state ?? 'underWay') !== 'underWay';
	}

	/**
	 * Remembers a task from now on; returns what is known of it. One that is new is passed over if it
	 * ended before `notBefore`.
	 */
	watch(taskId: string, notBefore: number): Readonly<Task> {
		const known = this.events.get(taskId);
		const task: Task = known ?? { state: 'underWay', since: Date.now(), reported: 0, notBefore };
		this.events.set(taskId, task);
		return task;
	}

	/** Notes progress; true when it has risen by `step` since it was last reported. */
	reportProgress(taskId: string, percentage: number, step: number): boolean {
		const task = this.events.get(taskId);
		if (!task || percentage < task.reported + step) return false;
		task.reported = percentage;
		return true;
	}

	override markOver(taskId: string): void {
		const task = this.watch(taskId, 0);
		this.events.delete(taskId);
		this.events.set(taskId, { ...task, state: 'over' });
		const over = this.in('over');
		if (over.length > MAX_OVER) this.events.delete(over[0]!);
	}

	/** As if it had never been heard of. */
	forget(taskId: string): void {
		this.events.delete(taskId);
	}

	protected kept(): KeptTasks {
		return { at: Date.now(), service: this.service, events: [...this.events] };
	}
}
