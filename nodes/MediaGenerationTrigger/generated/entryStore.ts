import type { IDataObject } from 'n8n-workflow';
import type { HistoryEntry } from '../../shared/generation/historyEntries';
import { isRecord } from '../../shared/parsing/coerce';
import { EventStore, KEY_LASTS_MS } from '../activation/eventStore';

const MAX_KNOWN = 1000;
const MAX_OPEN = 1000;
/** Looks in a row that do not find an entry in the making, after which it was deleted. */
const MAX_MISSES = 3;

/** How long an entry in the making is followed, in ms. */
export const FOLLOWED_MS = 2 * 3_600_000;

/** An entry, and what it is known again by. */
export interface Found {
	mark: string;
	entry: HistoryEntry;
}

/** What a look has found; each list with the oldest in front. */
export interface Outcome {
	/** To be emitted: their files are there. */
	ready: Found[];
	/** To be emitted: they have come to nothing. */
	failed: Found[];
	/** To be followed. */
	making: Found[];
	/** Never to be emitted. */
	passed: Found[];
	/** How far back all was seen; only of a look that had nothing earlier to go by. */
	baseline?: { floor: number; isComplete: boolean };
	/** Nothing in it was known. */
	hasLostTrack: boolean;
	/** There may be more that is new beyond where it ended. */
	isCut: boolean;
	/** Pages that a look after this one has to read. */
	reach: number;
	/** All that was seen, the last of the history in front. */
	seen: ReadonlySet<string>;
}

/** An entry that was not emitted, or not for certain. */
interface Open {
	/** When it was first seen, in ms since 1970 by our clock. */
	since: number;
	/** By the service's clock; NaN when it does not say. */
	createdAt: number;
	/** It waits to be emitted. */
	isQueued: boolean;
	/** It was emitted, and its execution is not known to have begun. */
	isEmitted: boolean;
	/** Looks in a row that did not find it. */
	misses: number;
}

/** What is kept in n8n's static data, under one key. */
interface Kept {
	at: number;
	account: string;
	/** Null: there is none. */
	floor: number | null;
	isComplete: boolean;
	/** Mark → [since, createdAt, isEmitted]. */
	open: Record<string, [number, number | null, 0 | 1]>;
	/** [mark, createdAt], those that were seen last at the end. */
	known: Array<[string, number | null]>;
}

const KEY = 'generated';
const keyOf = (key: string) => `${KEY}\n${key}`;

const isKept = (value: unknown): value is Kept =>
	isRecord(value) && isRecord(value.open) && Array.isArray(value.known);

/** The trigger's memory of the history's entries, which outlives a new deployment and a restart. */
export class EntryStore extends EventStore<Kept> {
	/** Nothing is remembered: no look was made yet. */
	isEmpty = true;
	/** All that was made later was seen, in ms since 1970 by the service's clock; NaN: times say nothing. */
	floor = -Infinity;
	/** The whole history is known, and no page was cut off. */
	isComplete = false;
	/** Marks of those not to be emitted again, with the service's time, the last seen at the end. */
	private readonly known = new Map<string, number>();
	protected readonly open = new Map<string, Open>();

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
		const isSame = kept.account === account;
		this.isEmpty = false;
		this.isComplete = isSame && kept.isComplete;
		this.floor = isSame ? (kept.floor ?? -Infinity) : NaN;
		for (const [mark, createdAt] of kept.known) this.known.set(mark, createdAt ?? NaN);
		const isSafe = emitsAgain && now - kept.at < KEY_LASTS_MS;
		for (const [mark, [since, createdAt, isEmitted]] of Object.entries(kept.open)) {
			if (isEmitted && !isSafe) this.known.set(mark, createdAt ?? NaN);
			else this.open.set(mark, opened(since, createdAt ?? NaN));
		}
	}

	/** Forgets what a node has kept: it reports other events now. */
	static forget(store: IDataObject, key: string): void {
		EventStore.drop(keyOf(key));
		if (store[KEY] !== undefined) delete store[KEY];
	}

	/** How many entries are known. */
	get size(): number {
		return this.known.size + this.open.size;
	}

	/** When the latest of them was made, by the service's clock; -Infinity if none says. */
	get newest(): number {
		const open = [...this.open.values()].map(({ createdAt }) => createdAt);
		const times = [...this.known.values(), ...open];
		return Math.max(-Infinity, ...times.filter(Number.isFinite));
	}

	has(mark: string): boolean {
		return this.known.has(mark) || this.open.has(mark);
	}

	/** Entries in the making, and when they were made by the service's clock (NaN: not known). */
	awaited(): Array<[mark: string, createdAt: number]> {
		return [...this.open]
			.filter(([, { isQueued }]) => !isQueued)
			.map(([mark, { createdAt }]) => [mark, createdAt]);
	}

	/** Notes what a look has found. What is ready or has failed stays open until `markOver`. */
	note(outcome: Outcome, now = Date.now()): void {
		const { ready, failed, making, passed, baseline, seen } = outcome;
		this.isEmpty = false;
		Object.assign(this, baseline);
		// Those that are still there must not be the first to be forgotten.
		for (const mark of seen) {
			const createdAt = this.known.get(mark);
			if (createdAt !== undefined) this.know(mark, createdAt);
		}
		for (const { mark, entry } of passed) this.know(mark, entry.createdAt);
		for (const found of [...ready, ...failed]) this.see(found, now);
		for (const found of making) {
			// Without an id it can't be known again once it has a file: that makes it a new one.
			if (found.entry.id === undefined) continue;
			const { since } = this.see(found, now);
			if (now - since > FOLLOWED_MS) this.markOver(found.mark);
		}
		for (const [mark, entry] of this.open) {
			entry.misses = seen.has(mark) || entry.isQueued ? 0 : entry.misses + 1;
			if (entry.misses >= MAX_MISSES) this.open.delete(mark);
		}
	}

	/** It is to be emitted, or to be followed until it can be. */
	see({ mark, entry }: Found, now = Date.now()): Open {
		const known = this.open.get(mark) ?? opened(now, entry.createdAt);
		this.open.set(mark, known);
		return known;
	}

	/** It waits to be emitted. True when the oldest has to give way, since too many wait. */
	queue({ mark }: Found): boolean {
		const entry = this.open.get(mark);
		if (entry) entry.isQueued = true;
		if (this.open.size <= MAX_OPEN) return false;
		const oldest = [...this.open].find(([, { isQueued, isEmitted }]) => isQueued && !isEmitted);
		if (oldest) this.markOver(oldest[0]);
		return oldest !== undefined;
	}

	/** False for one that was to be emitted and has given way. */
	isOpen(mark: string): boolean {
		return this.open.has(mark);
	}

	protected emitted(): string[] {
		return [...this.open].filter(([, { isEmitted }]) => isEmitted).map(([mark]) => mark);
	}

	markEmitted(mark: string, isEmitted: boolean): void {
		const entry = this.open.get(mark);
		if (entry) entry.isEmitted = isEmitted;
	}

	markOver(mark: string): void {
		const entry = this.open.get(mark);
		if (!entry) return;
		this.open.delete(mark);
		this.know(mark, entry.createdAt);
	}

	save(): void {
		const kept = this.kept();
		if (kept) this.store[KEY] = { ...kept };
	}

	private know(mark: string, createdAt: number): void {
		this.known.delete(mark);
		this.known.set(mark, createdAt);
		if (this.known.size <= MAX_KNOWN) return;
		const [oldest = ''] = this.known.keys();
		const time = this.known.get(oldest)!;
		this.known.delete(oldest);
		this.isComplete = false;
		// One that claims to be from the future must not make all others old.
		const isPast = [...this.known.values()].some((other) => other > time);
		if (isPast && time > this.floor) this.floor = time;
	}

	protected kept(at = Date.now()): Kept | undefined {
		// Before the first look, what is remembered of another account stays as it was kept.
		if (this.isEmpty || Number.isNaN(this.floor)) return undefined;
		const timeOf = (time: number) => (Number.isFinite(time) ? time : null);
		const open: Kept['open'] = {};
		for (const [mark, entry] of this.open) {
			open[mark] = [entry.since, timeOf(entry.createdAt), entry.isEmitted ? 1 : 0];
		}
		const known = [...this.known].map(([mark, time]): Kept['known'][0] => [mark, timeOf(time)]);
		const { account, isComplete } = this;
		return { at, account, floor: timeOf(this.floor), isComplete, open, known };
	}
}

const opened = (since: number, createdAt: number): Open => ({
	since,
	createdAt,
	isQueued: false,
	isEmitted: false,
	misses: 0,
});
