import type { IDataObject } from 'n8n-workflow';
import { isRecord } from '../../shared/parsing/coerce';
import { EventStore, KEY_LASTS_MS } from '../activation/eventStore';

/** `ending`: its end waits to be emitted; `emitted`: n8n was told; `over`: nothing more comes of it. */
type State = 'underWay' | 'ending' | 'emitted' | 'over';

/** What is known of a task. */
interface Task {
	state: State;
	/** When it was first heard of, in ms since 1970. */
	since: number;
	/** The percentage that was last reported. */
	reported: number;
	/** It is passed over if it ended before this moment, in ms since 1970; 0: it is told in any case. */
	notBefore: number;
}

/** What is kept in n8n's static data, each key assigned as a whole: n8n notices no deeper change. */
interface KeptTasks {
	at: number;
	/** The address of the service. */
	service: string;
	/** In the order in which they were first heard of, or ended. */
	tasks: Array<[id: string, state: State, since: number, reported: number, notBefore: number]>;
}

/** How many tasks that are over are remembered, so that a late message is not taken for a new task. */
const MAX_OVER = 1000;
/** How long a task may be under way before it is forgotten, in ms. */
export const MAX_WATCHED_MS = 24 * 3600 * 1000;

const isKept = (value: unknown): value is KeptTasks =>
	isRecord(value) && Array.isArray(value.tasks);

/** The trigger's memory of tasks, which survives a lost socket, a deployment and a restart. */
export class TaskStore extends EventStore<KeptTasks> {
	private readonly tasks = new Map<string, Task>();

	/**
	 * `store` is the node's static data; `key` identifies the node and the service in this process. What
	 * was kept of another `service` does not count: its tasks may have the same ids. With `emitsAgain`,
	 * which is safe where n8n drops duplicates, an end emitted right before n8n stopped is emitted
	 * again if n8n is soon back, since its execution may not have begun.
	 */
	constructor(
		private readonly store: IDataObject,
		key: string,
		private readonly service: string,
		emitsAgain: boolean,
		now = Date.now(),
	) {
		super(key);
		const kept = this.take(isKept(store) && store.service === service ? store : undefined);
		const isSafe = emitsAgain && now - (kept?.at ?? 0) < KEY_LASTS_MS;
		for (const [taskId, state, since, reported, notBefore] of kept?.tasks ?? []) {
			const isOver = state === 'over' || (state === 'emitted' && !isSafe);
			if (!isOver && now - since > MAX_WATCHED_MS) continue;
			this.tasks.set(taskId, { state: isOver ? 'over' : 'underWay', since, reported, notBefore });
		}
	}

	/** Tasks under way, in the order in which they were first heard of. */
	underWay(): string[] {
		return this.in('underWay');
	}

	/** True for a task whose end is known. */
	hasEnded(taskId: string): boolean {
		return (this.tasks.get(taskId)?.state ?? 'underWay') !== 'underWay';
	}

	/**
	 * Remembers a task from now on; returns what is known of it. One that is new is passed over if it
	 * ended before `notBefore`.
	 */
	watch(taskId: string, notBefore: number): Readonly<Task> {
		const known = this.tasks.get(taskId);
		const task: Task = known ?? { state: 'underWay', since: Date.now(), reported: 0, notBefore };
		this.tasks.set(taskId, task);
		return task;
	}

	/** Notes progress; true when it has risen by `step` since it was last reported. */
	reportProgress(taskId: string, percentage: number, step: number): boolean {
		const task = this.tasks.get(taskId);
		if (!task || percentage < task.reported + step) return false;
		task.reported = percentage;
		return true;
	}

	/** Its end is known, and waits to be emitted. */
	markEnding(taskId: string): void {
		const task = this.tasks.get(taskId);
		if (task) task.state = 'ending';
	}

	markEmitted(taskId: string, isEmitted: boolean): void {
		const task = this.tasks.get(taskId);
		if (task) task.state = isEmitted ? 'emitted' : 'ending';
	}

	markOver(taskId: string): void {
		const task = this.watch(taskId, 0);
		this.tasks.delete(taskId);
		this.tasks.set(taskId, { ...task, state: 'over' });
		const over = this.in('over');
		if (over.length > MAX_OVER) this.tasks.delete(over[0]!);
	}

	/** As if it had never been heard of. */
	forget(taskId: string): void {
		this.tasks.delete(taskId);
	}

	save(): void {
		Object.assign(this.store, this.kept());
	}

	protected emitted(): string[] {
		return this.in('emitted');
	}

	protected kept(): KeptTasks {
		const tasks = [...this.tasks].map(([taskId, task]): KeptTasks['tasks'][0] => {
			const { state, since, reported, notBefore } = task;
			return [taskId, state, since, reported, notBefore];
		});
		return { at: Date.now(), service: this.service, tasks };
	}

	private in(state: State): string[] {
		return [...this.tasks].filter(([, task]) => task.state === state).map(([taskId]) => taskId);
	}
}
