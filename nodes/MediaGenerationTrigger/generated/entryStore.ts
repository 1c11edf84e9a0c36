import type { IDataObject } from 'n8n-workflow';
import { oldestFirst, type HistoryEntry } from '../../shared/generation/historyEntries';
import { isRecord } from '../../shared/parsing/coerce';
import { EventStore, KEY_LASTS_MS } from '../activation/eventStore';

/** How many entries are remembered: those that were seen last. */
const MAX_REMEMBERED = 1000;
/** How long an entry in the making is followed, in ms. */
export const FOLLOWED_MS = 2 * 3_600_000;
/** The floor of a history that is known as a whole. */
export const EVERYTHING = 0;

/** An entry, and what it is known again by. */
export interface MarkedEntry extends HistoryEntry {
	mark: string;
}

interface Remembered {
	/** By the service's clock, in ms since 1970; NaN when it does not say. */
	createdAt: number;
	/** None: it is never to be emitted, or never again. */
	state?: 'making' | 'waiting' | 'emitted';
	/** When one in the making was first seen, in ms since 1970 by our clock. */
	since?: number;
}

/** What is kept in n8n's static data, under one key; JSON makes null of NaN. */
interface KeptEntries {
	at: number;
	account: string;
	floor: number | null;
	entries: Array<[mark: string, entry: Remembered]>;
}

const KEY = 'generated';
const keyOf = (key: string) => `${KEY}\n${key}`;

const isKept = (value: unknown): value is KeptEntries =>
	isRecord(value) && Array.isArray(value.entries);

/** The trigger's memory of the history's entries, which outlives a new deployment and a restart. */
export class EntryStore extends EventStore<KeptEntries> {
	/** By mark, the last seen at the end. */
	readonly entries = new Map<string, Remembered>();
	/** What was made after this time, by the service's clock, is known; NaN when it tells no times. */
	private floor = NaN;
	/** Whose entries these are; undefined when nothing is remembered. */
	private keptAccount: string | undefined;

	/**
	 * `store` is the node's static data, `key` tells the node from others in this process. What was kept of
	 * another `account`, which may be the same with a new token, counts only where it is found again. With
	 * `emitsAgain`, which is safe where n8n drops duplicates, an entry emitted right before n8n stopped is
	 * emitted again if n8n is soon back.
	 */
	constructor(
		private readonly store: IDataObject,
		key: string,
		private readonly account: string,
		emitsAgain: boolean,
		now = Date.now(),
	) {
		super(keyOf(key));
		const stored: unknown = store[KEY];
		const kept = this.take(isKept(stored) ? stored : undefined);
		if (!kept) return;
		this.keptAccount = kept.account;
		this.floor = kept.floor ?? NaN;
		const isSafe = emitsAgain && now - kept.at < KEY_LASTS_MS;
		for (const [mark, { createdAt, state, since = now }] of kept.entries) {
			const isOver = !state || (state === 'emitted' && !isSafe);
			// The next look finds those that waited, with their files.
			const open = isOver ? {} : { state: 'making' as const, since };
			this.entries.set(mark, { createdAt: createdAt ?? NaN, ...open });
		}
	}

	/** Forgets what a node has kept: it reports other events now. */
	static forget(store: IDataObject, key: string): void {
		EventStore.drop(keyOf(key));
		if (store[KEY] !== undefined) delete store[KEY];
	}

	/** No look was made yet. */
	get isEmpty(): boolean {
		return this.keptAccount === undefined;
	}

	/** What is remembered is of the account whose history is read. */
	get isOfAccount(): boolean {
		return this.keptAccount === this.account;
	}

	/** When the latest of them was made, by the service's clock; -Infinity if none says. */
	get newest(): number {
		const times = [...this.entries.values()].map(({ createdAt }) => createdAt);
		return Math.max(-Infinity, ...times.filter(Number.isFinite));
	}

	/**
	 * Takes what a look has `seen`, the last of the history in front, and returns what is to be emitted, the
	 * oldest first. With a new `floor` nothing is: there was nothing to go by.
	 *
	 * New is what is unknown, not older than the floor, and either listed above something known or made after
	 * all that is. What a deletion moves up has nothing known below it; what is listed late, among older
	 * ones, has. Only times of the service are compared, with one another.
	 */
	remember(seen: MarkedEntry[], floor?: number, now = Date.now()): MarkedEntry[] {
		if (floor !== undefined) {
			this.entries.clear();
			this.floor = floor;
		}
		this.keptAccount = this.account;
		const { newest } = this;
		const ended: MarkedEntry[] = [];
		let isAboveKnown = this.floor === EVERYTHING;
		for (const entry of seen) {
			const { mark, id, createdAt, files, failed } = entry;
			const known = this.entries.get(mark);
			const isLater = !(createdAt < this.floor) && (isAboveKnown || createdAt > newest);
			const isNew = known ? known.state === 'making' : isLater && floor === undefined;
			const next: Remembered = known ?? { createdAt };
			if (files.length > 0 || failed) {
				if (isNew) ended.push(entry);
				if (isNew) next.state = 'waiting';
			} else if (!known && id !== undefined) {
				// Without an id it can't be known again once it has a file: that makes it a new one.
				Object.assign(next, { state: 'making', since: now });
			}
			// Those that are still there must not be the first to be forgotten.
			this.entries.delete(mark);
			this.entries.set(mark, next);
			isAboveKnown ||= known !== undefined;
		}
		this.forgetOld(now);
		return oldestFirst(ended);
	}

	markEmitted(mark: string, isEmitted: boolean): void {
		const entry = this.entries.get(mark);
		if (entry) entry.state = isEmitted ? 'emitted' : 'waiting';
	}

	markOver(mark: string): void {
		delete this.entries.get(mark)?.state;
	}

	save(): void {
		const kept = this.kept();
		if (kept) this.store[KEY] = { ...kept };
	}

	protected emitted(): string[] {
		return [...this.entries].filter(([, { state }]) => state === 'emitted').map(([mark]) => mark);
	}

	protected kept(): KeptEntries | undefined {
		const { keptAccount: account, floor } = this;
		if (account === undefined) return undefined;
		return { at: Date.now(), account, floor, entries: [...this.entries] };
	}

	private forgetOld(now: number): void {
		for (const entry of this.entries.values()) {
			const isGivenUp = entry.state === 'making' && now - entry.since! > FOLLOWED_MS;
			if (isGivenUp) delete entry.state;
		}
		for (const [mark, { createdAt }] of [...this.entries].slice(0, -MAX_REMEMBERED)) {
			this.entries.delete(mark);
			this.floor = Math.max(this.floor, createdAt);
		}
	}
}
