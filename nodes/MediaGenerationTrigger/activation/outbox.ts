import type { IDataObject } from 'n8n-workflow';
import { processContainer } from '../../shared/account';

/**
 * How long n8n still knows the key of an emitted event, in ms. It knows it as long as it keeps the
 * execution, which it may delete at any time if the workflow does not save executions.
 */
const DEDUPLICATION_KEY_TTL_MS = 120_000;
/** How many done events are remembered, so that a late message is not taken for a new task. */
const MAX_DONE = 1000;

/** `tracking`: it has not ended; `pending`: its end is to be emitted; `emitted`: n8n was told; `done`: it needs nothing more. */
export interface Stateful {
	state: 'tracking' | 'pending' | 'emitted' | 'done';
	/** The percentage of a task that was last reported. */
	reported?: number;
}

/** What is kept under one key of n8n's static data, assigned as a whole: n8n notices no deeper change. */
interface SavedEvents<Item, Cursor> {
	/** In ms since 1970. */
	at: number;
	cursor?: Cursor;
	events: Array<[name: string, item: Item]>;
}

/** By key: what the node's latest trigger has left when it was closed. */
class Handover extends Map<string, SavedEvents<never, never>> {}

/**
 * A trigger's memory of what it reports. A closed trigger leaves it to the next one of the same node in
 * this process: n8n saves static data only along with an execution, so that may be older.
 */
export class Outbox<Item extends Stateful = Stateful, Cursor = undefined> {
	/** By name: the id of a task, or the fingerprint of an entry. Done events come last. */
	events = new Map<string, Item>();
	/** How far the trigger has come, if it has begun. */
	cursor?: Cursor;

	/**
	 * `store` is the node's static data, saved under `namespace`; `key` identifies the node in this process. With
	 * `replaysEmitted`, which is safe where n8n drops duplicates, what was emitted right before n8n stopped is
	 * emitted again if n8n is soon back: its execution may not have begun.
	 */
	constructor(
		private readonly store: IDataObject,
		private readonly namespace: string,
		private readonly key: string,
		replaysEmitted: boolean,
		now = Date.now(),
	) {
		const handedOver = processContainer.get(Handover).get(namespace + key);
		const stored = store[namespace] as SavedEvents<Item, Cursor> | undefined;
		const saved = stored && stored.at > (handedOver?.at ?? 0) ? stored : handedOver;
		if (!saved) return;
		this.cursor = saved.cursor;
		const isSafe = replaysEmitted && now - saved.at < DEDUPLICATION_KEY_TTL_MS;
		for (const [name, item] of saved.events as Array<[string, Item]>) {
			const isDone = item.state === 'done' || (item.state === 'emitted' && !isSafe);
			this.events.set(name, { ...item, state: isDone ? 'done' : 'tracking' });
		}
	}

	/** Notes how far an event has come, unless it is forgotten. */
	setState(name: string, state: Stateful['state']): void {
		const item = this.events.get(name);
		if (!item) return;
		item.state = state;
		if (state !== 'done') return;
		this.events.delete(name);
		this.events.set(name, item);
		const done = this.namesIn('done');
		if (done.length > MAX_DONE) this.events.delete(done[0]!);
	}

	/** The names of the events in this state. */
	namesIn(state: Stateful['state']): string[] {
		return [...this.events].filter(([, item]) => item.state === state).map(([name]) => name);
	}

	/** Hands everything to n8n, which saves it along with the next execution that is started. */
	save(): void {
		this.store[this.namespace] = { ...this.snapshot() } as IDataObject;
	}

	/** Call this when the trigger is closed. Whether n8n starts what was emitted last is not known yet. */
	handOver(): void {
		processContainer.get(Handover).set(this.namespace + this.key, this.snapshot() as never);
	}

	private snapshot(): SavedEvents<Item, Cursor> {
		return { at: Date.now(), cursor: this.cursor, events: [...this.events] };
	}
}
