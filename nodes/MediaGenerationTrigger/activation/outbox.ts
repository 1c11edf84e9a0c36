import type { IDataObject, ITriggerFunctions } from 'n8n-workflow';
import { processContainer } from '../../shared/account';
import { staticDataOf } from '../../shared/n8n/internals';

/** How long n8n is assumed to remember a deduplication key, in ms. It deletes the key with the execution. */
const DEDUPLICATION_KEY_TTL_MS = 120_000;
/** How many events in state 'done' are remembered, so that a late message about one does not look like a new task. */
const MAX_DONE_EVENTS = 1000;

/** What is known about one task or history entry, and the state of its last event. */
export interface OutboxItem {
	/**
	 * 'tracking': the task or generation has not ended yet. 'pending': the event has to be emitted. 'emitted': n8n has
	 * the event, but may not have started the execution. 'done': nothing remains to do.
	 */
	state: 'tracking' | 'pending' | 'emitted' | 'done';
	/** The percentage at which a progress event was last due, even if that event is not selected. */
	reportedPercentage?: number;
}

/** A value in static data. It is saved as JSON, because n8n wraps each object there for every execution. */
interface SavedOutbox<Item, Cursor> {
	/** When these events were saved, in ms since 1970. */
	savedAt: number;
	cursor?: Cursor;
	events: Array<[name: string, item: Item]>;
}

/** The contexts of the active triggers, by workflow id. */
class ActiveTriggers extends Map<string, ITriggerFunctions[]> {}

/**
 * Returns a function that returns the copies of a trigger's static data in this process, its own first. When n8n (2.41)
 * activates one trigger of a workflow again, it loads a copy of the workflow for it, and it saves the static data of a
 * workflow as a whole. So each trigger writes into all copies. Otherwise, n8n would save an old state of the others.
 */
export function staticDataCopies(
	context: ITriggerFunctions,
	closing: AbortSignal,
): () => IDataObject[] {
	const active = processContainer.get(ActiveTriggers);
	const { id = '' } = context.getWorkflow();
	const others = () => active.get(id)?.filter((other) => other !== context) ?? [];
	active.set(id, [...others(), context]);
	closing.addEventListener('abort', () => active.set(id, others()), { once: true });
	return () => [
		context.getWorkflowStaticData('node'),
		...others().flatMap<IDataObject>((other) => staticDataOf(other, context.getNode()) ?? []),
	];
}

/** The outboxes of closed triggers, for their next activations in this process, by namespace and node key. */
class Handover extends Map<string, unknown> {}

/**
 * The events of one watch of a trigger with their states (transactional outbox pattern), so that restarts lose and
 * repeat few events. n8n may save the node's static data late, so a closed trigger also hands the events over to the
 * next activation in this process.
 */
export class Outbox<Item extends OutboxItem = OutboxItem, Cursor = undefined> {
	/** What is known about each task, by its id, or about each history entry, by its fingerprint. */
	itemsByKey = new Map<string, Item>();
	/** How far the trigger has read the history; undefined before the first read. */
	cursor?: Cursor;
	/** Is called with the key of an event that `reopen` has made due again. A HistoryWatch needs no call: it polls. */
	onReopened?: (key: string) => void;
	/** The outbox of the next activation in this process, which has loaded these events. */
	private successor?: Outbox<Item, Cursor>;
	/** When it was last saved or handed over, in ms since 1970. A clock that is set back does not lower it. */
	private savedAt = 0;

	/**
	 * Loads the events that were handed over or saved, whichever are newer.
	 *
	 * @param copies returns the copies of n8n's static data of the node, its own first
	 * @param namespace the key in the static data under which the events are saved
	 * @param nodeKey identifies the node in this process
	 * @param replaysEmitted true if events in state 'emitted' may be emitted again, because n8n drops duplicates by
	 *   their deduplication keys
	 * @param now the current time, in ms since 1970
	 */
	constructor(
		private copies: () => IDataObject[],
		private readonly namespace: string,
		private readonly nodeKey: string,
		replaysEmitted: boolean,
		now = Date.now(),
	) {
		const previous = processContainer.get(Handover).get(namespace + nodeKey) as
			typeof this | undefined;
		const [staticData] = copies();
		const text = (staticData?.[namespace] as string | undefined) ?? 'null';
		const stored = JSON.parse(text) as SavedOutbox<Item, Cursor> | null;
		const isStoredNewer = stored !== null && stored.savedAt > (previous?.savedAt ?? 0);
		const saved = isStoredNewer ? stored : previous?.toSavedOutbox();
		if (previous) previous.successor = this;
		if (!saved) return;
		this.cursor = saved.cursor;
		this.savedAt = saved.savedAt;
		const isOld = now - saved.savedAt >= DEDUPLICATION_KEY_TTL_MS;
		// In the same process, n8n starts what it was given, however late, or says that it can't: then `reopen` is called.
		const canReplay = replaysEmitted && isStoredNewer && !isOld;
		for (const [key, item] of saved.events as Array<[string, Item]>) {
			// The next read of a tracked task, or of the history, finds an end that was not emitted, and emits it then.
			const isDone = item.state === 'done' || (item.state === 'emitted' && !canReplay);
			this.itemsByKey.set(key, { ...item, state: isDone ? 'done' : 'tracking' });
		}
	}

	/** Sets the state of an event, if it exists. Beyond MAX_DONE_EVENTS, the one done first is removed. */
	setState(key: string, state: OutboxItem['state']): void {
		const item = this.itemsByKey.get(key);
		if (!item) return;
		item.state = state;
		this.itemsByKey.delete(key);
		this.itemsByKey.set(key, item);
		const doneKeys = this.keysIn('done');
		if (doneKeys.length > MAX_DONE_EVENTS) this.itemsByKey.delete(doneKeys[0]!);
	}

	/**
	 * Makes an event due again, in the outbox of the latest activation. Call it if n8n says that it could not start the
	 * execution when nobody waits for that any more.
	 */
	reopen(key: string): void {
		if (this.successor) return this.successor.reopen(key);
		this.setState(key, 'tracking');
		this.onReopened?.(key);
	}

	keysIn(state: OutboxItem['state']): string[] {
		return [...this.itemsByKey].filter(([, item]) => item.state === state).map(([key]) => key);
	}

	/** Writes all events into the static data. Does nothing after `handOver`. */
	save(): void {
		const text = JSON.stringify(this.toSavedOutbox());
		for (const staticData of this.copies()) staticData[this.namespace] = text;
	}

	/**
	 * Hands all events over to the next activation in this process, which also gets what changes before it loads them.
	 * Call it when the trigger is closed.
	 */
	handOver(): void {
		this.savedAt = Math.max(Date.now(), this.savedAt);
		// The closed trigger, with the whole workflow, would stay in memory as long as this outbox.
		this.onReopened = undefined;
		this.copies = () => [];
		processContainer.get(Handover).set(this.namespace + this.nodeKey, this);
	}

	private toSavedOutbox(): SavedOutbox<Item, Cursor> {
		this.savedAt = Math.max(Date.now(), this.savedAt);
		return { savedAt: this.savedAt, cursor: this.cursor, events: [...this.itemsByKey] };
	}
}
