import type { IDataObject } from 'n8n-workflow';
import { thisProcess } from '../../shared/account';
import { isRecord } from '../../shared/parsing/coerce';

/**
 * How long n8n still knows the key of an emitted event, in ms. It knows it as long as it keeps the
 * execution, which it may delete at any time if the workflow does not save executions.
 */
const KEY_LASTS_MS = 120_000;

/** `waiting`: its end waits to be emitted; `emitted`: n8n was told; `over`: nothing more comes of it. */
export interface Stateful {
	state: 'underWay' | 'waiting' | 'emitted' | 'over';
}

/** What is kept under one key of n8n's static data, assigned as a whole: n8n notices no deeper change. */
export interface KeptEvents<Item> {
	/** In ms since 1970. */
	at: number;
	events: Array<[name: string, item: Item]>;
}

const isKept = (value: unknown): value is KeptEvents<Stateful> =>
	isRecord(value) && Array.isArray(value.events);

/** By key: what the node's latest trigger has left when it was closed. */
class LeftBehind extends Map<string, KeptEvents<Stateful>> {}

/**
 * A trigger's memory of what it reports. A closed trigger leaves it to the next one of the same node in
 * this process: n8n saves static data only along with an execution, so that may be older.
 */
export abstract class EventStore<Item extends Stateful, Kept extends KeptEvents<Item>> {
	/** By name: the id of a task, or the mark of an entry. */
	readonly events = new Map<string, Item>();

	/** `store` is the node's static data, kept under `room`; `key` identifies the node in this process. */
	constructor(
		private readonly store: IDataObject,
		private readonly room: string,
		private readonly key: string,
	) {}

	/** It is about to be emitted; or, with false, it waits for that. */
	markEmitted(name: string, isEmitted: boolean): void {
		const item = this.events.get(name);
		if (item) item.state = isEmitted ? 'emitted' : 'waiting';
	}

	/** It was emitted, or is to start nothing. */
	markOver(name: string): void {
		const item = this.events.get(name);
		if (item) item.state = 'over';
	}

	/** Hands everything to n8n, which saves it along with the next execution that is started. */
	save(): void {
		const kept = this.kept();
		if (kept) this.store[this.room] = { ...kept };
	}

	/** Call this when the trigger is closed; n8n runs on, so what was emitted is done. */
	leaveBehind(): void {
		for (const name of this.in('emitted')) this.markOver(name);
		const kept = this.kept();
		if (kept) thisProcess.shared(LeftBehind).set(this.room + this.key, kept);
	}

	/** What is to outlive this trigger, if anything. */
	protected abstract kept(): Kept | undefined;

	/** What was left, or what n8n has stored if that is newer. */
	protected found(): Kept | undefined {
		const left = thisProcess.shared(LeftBehind).get(this.room + this.key);
		const stored = this.store[this.room];
		const isNewer = isKept(stored) && stored.at > (left?.at ?? 0);
		return (isNewer ? stored : left) as Kept | undefined;
	}

	/**
	 * Takes up what was found, at `now`. With `emitsAgain`, which is safe where n8n drops duplicates, what was
	 * emitted right before n8n stopped is emitted again if n8n is soon back: its execution may not have begun.
	 */
	protected resume(kept: Kept, emitsAgain: boolean, now: number): void {
		const isSafe = emitsAgain && now - kept.at < KEY_LASTS_MS;
		for (const [name, item] of kept.events) {
			const isOver = item.state === 'over' || (item.state === 'emitted' && !isSafe);
			this.events.set(name, { ...item, state: isOver ? 'over' : 'underWay' });
		}
	}

	protected in(state: Stateful['state']): string[] {
		return [...this.events].filter(([, item]) => item.state === state).map(([name]) => name);
	}
}
