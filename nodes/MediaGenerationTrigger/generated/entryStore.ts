import type { IDataObject } from 'n8n-workflow';
import { oldestFirst, type HistoryEntry } from '../../shared/generation/historyEntries';
import { EventStore, type KeptEvents, type Stateful } from '../activation/eventStore';

/** How many entries are remembered: those that were seen last. */
const MAX_REMEMBERED = 1000;
/** How long an entry in the making is followed, in ms. */
const FOLLOWED_MS = 2 * 3_600_000;
/** The floor of a history that is known as a whole. */
export const EVERYTHING = 0;

/** An entry, and what it is known again by. */
export interface MarkedEntry extends HistoryEntry {
	mark: string;
}

interface Remembered extends Stateful {
	/** By the service's clock, in ms since 1970; NaN when it does not say. */
	createdAt: number;
	/** When it was first seen, in ms since 1970 by our clock. */
	since: number;
}

/** JSON makes null of NaN. */
interface KeptEntries extends KeptEvents<Remembered> {
	account: string;
	floor: number | null;
}

/** The trigger's memory of the history's entries, which outlives a new deployment and a restart. */
export class EntryStore extends EventStore<Remembered, KeptEntries> {
	/** What was made after this time, by the service's clock, is known; NaN when it tells no times. */
	private floor = NaN;
	/** Whose entries these are; undefined when nothing is remembered. */
	private keptAccount: string | undefined;

	/**
	 * What was kept of another `account`, which may be the same with a new token, counts only where it is
	 * found again.
	 */
	constructor(
		store: IDataObject,
		key: string,
		private readonly account: string,
		emitsAgain: boolean,
		now = Date.now(),
	) {
		super(store, 'generated', key);
		const kept = this.found();
		if (!kept) return;
		this.keptAccount = kept.account;
		this.floor = kept.floor ?? NaN;
		// The next look finds those that waited, with their files.
		this.resume(kept, emitsAgain, now);
		for (const entry of this.events.values()) entry.createdAt ??= NaN;
	}

	/** What is remembered is of the account whose history is read. */
	get isOfAccount(): boolean {
		return this.keptAccount === this.account;
	}

	/** Whether one of these is remembered. */
	hasAny(marks: ReadonlySet<string>): boolean {
		return [...marks].some((mark) => this.events.has(mark));
	}

	/** Whether something new, or in the making, may come after `last`, the last of what is `listed`. */
	mayGoOn({ mark, createdAt }: MarkedEntry, listed: ReadonlySet<string>): boolean {
		if (this.keptAccount === undefined) return false;
		const isLater = this.isLater(createdAt, !this.hasAny(listed));
		if (isLater && !this.events.has(mark)) return true;
		return this.in('underWay').some(
			(name) => !listed.has(name) && !(createdAt < this.events.get(name)!.createdAt),
		);
	}

	/**
	 * Takes what a look has `seen`, the last of the history in front, and returns what is to be emitted, the
	 * oldest first. With a new `floor` nothing is: there was nothing to go by.
	 *
	 * New is what is unknown and made after the floor or, without times, listed above something known: what
	 * a deletion moves up is neither. Only times of the service are compared, with one another.
	 */
	remember(seen: MarkedEntry[], floor?: number, now = Date.now()): MarkedEntry[] {
		if (floor !== undefined) {
			this.events.clear();
			this.floor = floor;
		}
		this.keptAccount = this.account;
		const ended: MarkedEntry[] = [];
		let isAboveKnown = this.floor === EVERYTHING;
		for (const entry of seen) {
			const { mark, id, createdAt, files, failed } = entry;
			const known = this.events.get(mark);
			const isUnknown = floor === undefined && this.isLater(createdAt, isAboveKnown);
			const isNew = known ? known.state === 'underWay' : isUnknown;
			const next: Remembered = known ?? { state: 'over', createdAt, since: now };
			if (files.length > 0 || failed) {
				if (isNew) ended.push(entry);
				if (isNew) next.state = 'waiting';
			} else if (!known && id !== undefined) {
				// Without an id it can't be known again once it has a file: that makes it a new one.
				next.state = 'underWay';
			}
			// Those that are still there must not be the first to be forgotten.
			this.events.delete(mark);
			this.events.set(mark, next);
			isAboveKnown ||= known !== undefined;
		}
		this.forgetOld(now);
		return oldestFirst(ended);
	}

	private isLater(createdAt: number, isAboveKnown: boolean): boolean {
		return isAboveKnown ? !(createdAt < this.floor) : createdAt > this.floor;
	}

	protected kept(): KeptEntries | undefined {
		const { keptAccount: account, floor } = this;
		if (account === undefined) return undefined;
		return { at: Date.now(), account, floor, events: [...this.events] };
	}

	private forgetOld(now: number): void {
		for (const entry of this.events.values()) {
			const isGivenUp = entry.state === 'underWay' && now - entry.since > FOLLOWED_MS;
			if (isGivenUp) entry.state = 'over';
		}
		for (const [mark, { createdAt }] of [...this.events].slice(0, -MAX_REMEMBERED)) {
			this.events.delete(mark);
			this.floor = Math.max(this.floor, createdAt);
		}
	}
}
