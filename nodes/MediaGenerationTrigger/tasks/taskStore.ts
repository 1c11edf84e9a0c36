import type { IDataObject } from 'n8n-workflow';
import { dropOldest } from '../../shared/limits';
import { isRecord } from '../../shared/parsing/coerce';
import { EventStore, KEY_LASTS_MS } from '../activation/eventStore';

/** What is known of a task under way. */
interface Entry {
	/** When it was first seen, in ms since 1970. */
	since: number;
	/** The percentage that was last emitted as progress. */
	reported: number;
	/** Its end is known and about to be emitted. */
	isOver: boolean;
	/** Its end was emitted. */
	isEmitted: boolean;
	/** It is passed over if it ended before this moment, in ms since 1970. */
	unlessAfter?: number;
}

/** What is kept in n8n's static data, each key assigned as a whole: n8n notices no deeper change. */
interface Kept {
	at: number;
	/** The address of the service. */
	service: string;
	/** Task id → [since, reported, isEmitted, unlessAfter]. */
	underWay: Record<string, [number, number, 0 | 1, number?]>;
	/** Ids of tasks whose end was emitted, oldest first. */
	ended: string[];
}

export const MAX_UNDER_WAY = 1000;
/** How many ended tasks are remembered, so that a late message is not taken for a new task. */
const MAX_ENDED = 1000;
/** How many forgotten tasks keep their last percentage, so that it is not emitted again. */
const MAX_FORGOTTEN = 10_000;
/** How long a task may be under way before it is forgotten, in ms. */
export const MAX_WATCHED_MS = 24 * 3600 * 1000;

const isKept = (value: unknown): value is Kept =>
	isRecord(value) && isRecord(value.underWay) && Array.isArray(value.ended);

/** The trigger's memory of tasks, which survives a lost socket, a deployment and a restart. */
export class TaskStore extends EventStore<Kept> {
	protected readonly open = new Map<string, Entry>();
	private readonly ended: Set<string>;
	/** The percentage that was last emitted of tasks that are no longer watched. */
	private readonly forgotten = new Map<string, number>();

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
		const isOurs = isKept(store) && store.service === service;
		const kept = this.take(isOurs ? store : undefined);
		this.ended = new Set(kept?.ended.map(String));
		const isSafe = emitsAgain && now - (kept?.at ?? 0) < KEY_LASTS_MS;
		for (const [taskId, known] of Object.entries(kept?.underWay ?? {})) {
			const [since, reported, isEmitted, unlessAfter] = known;
			if (isEmitted && !isSafe) this.ended.add(taskId);
			else if (now - since < MAX_WATCHED_MS) {
				const entry = { since, reported, unlessAfter };
				this.open.set(taskId, { ...entry, isOver: false, isEmitted: false });
			}
		}
	}

	get size(): number {
		return this.open.size;
	}

	/** Those under way, in the order they were first seen. */
	tasks(): string[] {
		return [...this.open.keys()];
	}

	/** True when the end of a task was emitted, or is about to be. */
	isOver(taskId: string): boolean {
		return this.ended.has(taskId) || this.open.get(taskId)?.isOver === true;
	}

	/** Remembers it from now on; returns when it was first seen, in ms since 1970. */
	see(taskId: string, now = Date.now()): number {
		const known = this.open.get(taskId);
		if (known) return known.since;
		const reported = this.forgotten.get(taskId) ?? 0;
		this.open.set(taskId, { since: now, reported, isOver: false, isEmitted: false });
		if (this.open.size > 2 * MAX_UNDER_WAY) this.dropOldestEnd();
		return now;
	}

	/** It may have ended before `since` (ms since 1970): then it is to be passed over. */
	doubt(taskId: string, since: number): void {
		const entry = this.open.get(taskId);
		if (entry) entry.unlessAfter = since;
	}

	/** Before which moment a task must not have ended, in ms since 1970; undefined if that is no matter. */
	doubted(taskId: string): number | undefined {
		return this.open.get(taskId)?.unlessAfter;
	}

	/** Notes progress; true when it has risen by `step` since it was last reported. */
	rise(taskId: string, percentage: number, step: number): boolean {
		const entry = this.open.get(taskId);
		if (!entry || percentage < entry.reported + step) return false;
		entry.reported = percentage;
		return true;
	}

	/** Its end is known, and about to be emitted. */
	over(taskId: string): void {
		const entry = this.open.get(taskId);
		if (entry) entry.isOver = true;
	}

	protected emitted(): string[] {
		return [...this.open].filter(([, { isEmitted }]) => isEmitted).map(([taskId]) => taskId);
	}

	markEmitted(taskId: string, isEmitted: boolean): void {
		const entry = this.open.get(taskId);
		if (entry) entry.isEmitted = isEmitted;
	}

	markOver(taskId: string): void {
		this.open.delete(taskId);
		this.ended.delete(taskId);
		this.ended.add(taskId);
		dropOldest(this.ended, MAX_ENDED);
	}

	/** Forgets all but the progress that was emitted. */
	forget(taskId: string): void {
		const { reported = 0 } = this.open.get(taskId) ?? {};
		this.open.delete(taskId);
		this.forgotten.delete(taskId);
		if (reported > 0) this.forgotten.set(taskId, reported);
		dropOldest(this.forgotten, MAX_FORGOTTEN);
	}

	save(): void {
		Object.assign(this.store, this.kept());
	}

	/** While n8n starts no executions, ends that could not be emitted pile up. */
	private dropOldestEnd(): void {
		for (const [taskId, { isOver }] of this.open) {
			if (isOver) return this.markOver(taskId);
		}
	}

	protected kept(at = Date.now()): Kept {
		const underWay: Kept['underWay'] = {};
		for (const [taskId, { since, reported, isEmitted, unlessAfter }] of this.open) {
			underWay[taskId] = [since, reported, isEmitted ? 1 : 0];
			if (unlessAfter !== undefined) underWay[taskId].push(unlessAfter);
		}
		return { at, service: this.service, underWay, ended: [...this.ended] };
	}
}
