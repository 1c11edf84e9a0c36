import type { IDataObject } from 'n8n-workflow';
import { processContainer } from '../../shared/account';

/**
 * How long n8n is assumed to know the deduplication key of an emitted event, in ms. n8n knows the key until it deletes
 * the execution. If the workflow does not save executions, that may be soon after their end.
 */
const DEDUPLICATION_KEY_TTL_MS = 120_000;
/** The most done events that are remembered. A late message about one of them must not look like a new task. */
const MAX_DONE = 1000;

/** An event's state, which the outbox saves. */
export interface Stateful {
	/**
	 * 'tracking': the end of the task or generation is not known. 'pending': its end waits to be emitted. 'emitted':
	 * the event about its end was handed to n8n, but it is unknown whether the execution has started. 'done': nothing
	 * more is to be done.
	 */
	state: 'tracking' | 'pending' | 'emitted' | 'done';
	/**
	 * The percentage at which the last progress event of the task was due. It is noted even if progress events are not
	 * chosen.
	 */
	reported?: number;
}

/**
 * What is saved under one key of n8n's static data. The value of a key is always replaced as a whole, since n8n may
 * not save a change inside it.
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
 * The outbox of one watch of a trigger (transactional outbox pattern): each event with its state, so that restarts lose
 * and repeat as few events as possible. It is saved in the node's static data. n8n stores static data only when an
 * execution starts, so that copy may be out of date. A closed trigger therefore also hands its events over to the next
 * activation of the same node in this process.
 */
export class Outbox<Item extends Stateful = Stateful, Cursor = undefined> {
	/**
	 * Events by name: the id of a task, or the fingerprint of a history entry. `setState` moves an event to the end
	 * when it is done.
	 */
	events = new Map<string, Item>();
	/** How far the trigger has read the history; undefined before its first read, and in an outbox for tasks. */
	cursor?: Cursor;

	/**
	 * Loads what was handed over or saved, whichever is newer. `staticData` is the node's static data, which has the
	 * events under `namespace`. `key` identifies the node in this process. Events in state 'pending' are tracked again.
	 *
	 * With `replaysEmitted`, events in state 'emitted' are tracked and emitted again if they were saved less than
	 * DEDUPLICATION_KEY_TTL_MS ago, since n8n may have stopped before their executions started. Otherwise they count as
	 * done. Set it only if n8n drops duplicates by their deduplication keys.
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

	/** Sets the state of an event. Does nothing if the outbox no longer has the event. */
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

	/** Writes all events to static data. n8n stores it when the next execution starts. */
	save(): void {
		this.staticData[this.namespace] = { ...this.snapshot() } as IDataObject;
	}

	/**
	 * Hands all events over to the next activation in this process. Call it when the trigger is closed. Events in
	 * state 'emitted' stay so, since it is unknown whether n8n starts their executions.
	 */
	handOver(): void {
		processContainer.get(Handover).set(this.namespace + this.key, this.snapshot() as never);
	}

	private snapshot(): SavedEvents<Item, Cursor> {
		return { at: Date.now(), cursor: this.cursor, events: [...this.events] };
	}
}
