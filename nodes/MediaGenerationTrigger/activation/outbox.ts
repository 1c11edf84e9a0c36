import type { IDataObject } from 'n8n-workflow';
import { processContainer } from '../../shared/account';

/**
 * How long n8n is assumed to know the deduplication key of an emitted event, in ms. n8n forgets the key when it deletes
 * the execution.
 */
const DEDUPLICATION_KEY_TTL_MS = 120_000;
/** How many done events are remembered, so that a late message about one does not look like a new task. */
const MAX_DONE = 1000;

/** An event's state, which the outbox saves. */
export interface Stateful {
	/**
	 * 'tracking': the end is awaited. 'pending': the event is to be emitted. 'emitted': n8n has the event, but may not
	 * have started the execution. 'done': nothing more is to be done.
	 */
	state: 'tracking' | 'pending' | 'emitted' | 'done';
	/** The percentage at which the last progress event of a task was due. */
	reported?: number;
}

/**
 * What is saved under one key of n8n's static data. It is replaced as a whole, since n8n may not save a change inside
 * it.
 */
interface SavedEvents<Item, Cursor> {
	/** When these events were saved, in ms since 1970. */
	at: number;
	cursor?: Cursor;
	events: Array<[name: string, item: Item]>;
}

/** What closed triggers hand over to their next activation in this process, by namespace and node. */
class Handover extends Map<string, SavedEvents<never, never>> {}

/**
 * The events of one watch of a trigger with their states (transactional outbox pattern), so that restarts lose and
 * repeat few events. n8n may save the node's static data late, so a closed trigger also hands the events over to the
 * next activation in this process.
 */
export class Outbox<Item extends Stateful = Stateful, Cursor = undefined> {
	/** Events by the id of a task, or by the fingerprint of a history entry. */
	events = new Map<string, Item>();
	/** How far the trigger has read the history; undefined before the first read. */
	cursor?: Cursor;

	/**
	 * Loads what was handed over or saved, whichever is newer. `namespace` is the key in `staticData`; `key` identifies
	 * the node in this process. Set `replaysEmitted` only if n8n drops duplicates by their deduplication keys: events
	 * in state 'emitted' may then be emitted again.
	 */
	constructor(
		private readonly staticData: IDataObject,
		private readonly namespace: string,
		private readonly key: string,
		replaysEmitted: boolean,
		now = Date.now(),
	) {
		const handedOver = processContainer.get(Handover).get(namespace + key);
		const stored = staticData[namespace] as SavedEvents<Item, Cursor> | undefined;
		const saved = stored && stored.at > (handedOver?.at ?? 0) ? stored : handedOver;
		if (!saved) return;
		this.cursor = saved.cursor;
		const canReplay = replaysEmitted && now - saved.at < DEDUPLICATION_KEY_TTL_MS;
		for (const [name, item] of saved.events as Array<[string, Item]>) {
			const isDone = item.state === 'done' || (item.state === 'emitted' && !canReplay);
			this.events.set(name, { ...item, state: isDone ? 'done' : 'tracking' });
		}
	}

	/** Sets the state of an event that the outbox still has. */
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

	/** Returns the names of the events in this state. */
	namesIn(state: Stateful['state']): string[] {
		return [...this.events].filter(([, item]) => item.state === state).map(([name]) => name);
	}

	/** Writes all events to static data. */
	save(): void {
		this.staticData[this.namespace] = { ...this.snapshot() } as IDataObject;
	}

	/** Hands all events over to the next activation in this process. Call it when the trigger is closed. */
	handOver(): void {
		processContainer.get(Handover).set(this.namespace + this.key, this.snapshot() as never);
	}

	private snapshot(): SavedEvents<Item, Cursor> {
		return { at: Date.now(), cursor: this.cursor, events: [...this.events] };
	}
}
