import { createHash } from 'node:crypto';
import { MIN_PAGE_SIZE, readAllPages } from '../../shared/api/pagination';
import type { ServiceRecord } from '../../shared/contract';
import {
	oldestFirst,
	readHistory,
	type HistoryEntry,
} from '../../shared/generation/historyEntries';
import type { Credential } from '../../shared/http/credential';
import { asText, unsigned } from '../../shared/parsing/coerce';
import type { Page } from '../../shared/parsing/responses';
import type { EventStore, Stateful } from '../activation/eventStore';

/** How far back one look goes, in entries. */
const MAX_ENTRIES = 600;
/** How many entries are remembered: those that were seen last. */
const MAX_REMEMBERED = 1000;
/** How long an entry in the making is followed, in ms. */
const FOLLOWED_MS = 2 * 3_600_000;
/** The floor of a history that is known as a whole: what began earlier may be listed later. */
const EVERYTHING = 0;

/** An entry, and what it is known again by. */
export interface MarkedEntry extends HistoryEntry {
	mark: string;
}

/** What is remembered of an entry. JSON makes null of NaN. */
interface KnownEntry extends Stateful {
	/** By the service's clock, in ms since 1970; NaN when it does not say. */
	createdAt: number | null;
	/** When it was first seen, in ms since 1970 by our clock. */
	since: number;
}

interface Cursor {
	/** Whose entries these are; with a new token it is another one. */
	account: string;
	/** What was made after this time, by the service's clock, is known; NaN when it tells no times. */
	floor: number | null;
}

export type HistoryStore = EventStore<KnownEntry, Cursor>;

/** Finds what is new in the history of an account, look by look. */
export class NewEntries {
	/** `showsNewest`: the newest entry counts as new at first, when there is nothing to go by. */
	constructor(
		private readonly store: HistoryStore,
		private readonly credential: Pick<Credential, 'accountKey' | 'baseUrl'>,
		private readonly showsNewest = false,
	) {}

	/**
	 * Looks into the history as far back as something may be new; resolves with what is and has its file, or
	 * has failed, the oldest first. `read` fetches a page, the first being 1; others change the history
	 * meanwhile.
	 *
	 * New is what is unknown and made after the floor or, without times, listed above something known: what
	 * a deletion moves up is neither. Only times of the service are compared, with one another.
	 */
	async look(read: (page: number) => Promise<Page>, now = Date.now()): Promise<MarkedEntry[]> {
		const { events } = this.store;
		const { accountKey: account } = this.credential;
		const listed = new Set<string>();
		let firstFloor: number | undefined;
		const records = await readAllPages({
			first: 1,
			limit: MAX_ENTRIES,
			fetch: read,
			isEnough: ({ items }) => {
				const entries = this.entriesOf(items);
				const newest = entries.at(-1)!.createdAt;
				firstFloor ??= items.length < MIN_PAGE_SIZE ? EVERYTHING : newest - FOLLOWED_MS;
				for (const { mark } of entries) listed.add(mark);
				if (!this.store.cursor) return !(entries[0]!.createdAt > firstFloor);
				return !this.mayGoOn(entries[0]!, listed);
			},
		});
		const seen = this.entriesOf(records);
		const isFirst = this.store.cursor?.account !== account && !this.isKnown(listed);
		if (isFirst) events.clear();
		const floor = isFirst ? (firstFloor ?? EVERYTHING) : this.floor;
		this.store.cursor = { account, floor };

		const ended: MarkedEntry[] = [];
		let isAboveKnown = floor === EVERYTHING;
		for (const entry of seen) {
			const { mark, id, createdAt, files, failed } = entry;
			const known = events.get(mark);
			const isUnknown = !isFirst && this.isLater(createdAt, isAboveKnown);
			const isNew = known ? known.state === 'underWay' : isUnknown;
			const next: KnownEntry = known ?? { state: 'over', createdAt, since: now };
			if (files.length > 0 || failed) {
				if (isNew) ended.push(entry);
				if (isNew) next.state = 'waiting';
			} else if (!known && id !== undefined) {
				// Without an id it can't be known again once it has a file: that makes it a new one.
				next.state = 'underWay';
			}
			// Those that are still there must not be the first to be forgotten.
			events.delete(mark);
			events.set(mark, next);
			isAboveKnown ||= known !== undefined;
		}
		this.forgetOld(now);
		if (isFirst && this.showsNewest) {
			ended.push(...seen.filter(({ files }) => files.length > 0).slice(-1));
		}
		return oldestFirst(ended);
	}

	private get floor(): number {
		return this.store.cursor?.floor ?? NaN;
	}

	/** Whether something new, or in the making, may come after `last`, the last of what is `listed`. */
	private mayGoOn({ mark, createdAt }: MarkedEntry, listed: ReadonlySet<string>): boolean {
		const { events } = this.store;
		if (!events.has(mark) && this.isLater(createdAt, !this.isKnown(listed))) return true;
		return this.store
			.in('underWay')
			.some((name) => !listed.has(name) && !(createdAt < (events.get(name)!.createdAt ?? NaN)));
	}

	/** Whether one of these is remembered. */
	private isKnown(marks: ReadonlySet<string>): boolean {
		return [...marks].some((mark) => this.store.events.has(mark));
	}

	private isLater(createdAt: number, isAboveKnown: boolean): boolean {
		return isAboveKnown ? !(createdAt < this.floor) : createdAt > this.floor;
	}

	private forgetOld(now: number): void {
		const { events, cursor } = this.store;
		for (const entry of events.values()) {
			if (entry.state === 'underWay' && now - entry.since > FOLLOWED_MS) entry.state = 'over';
		}
		for (const [mark, { createdAt }] of [...events].slice(0, -MAX_REMEMBERED)) {
			events.delete(mark);
			cursor!.floor = Math.max(this.floor, createdAt ?? NaN);
		}
	}

	/** The last of them in front. */
	private entriesOf(records: ServiceRecord[]): MarkedEntry[] {
		const entries = readHistory(records.slice(0, MAX_ENTRIES), this.credential.baseUrl);
		return entries.map((entry) => ({ ...entry, mark: markOf(entry) }));
	}
}

/** What an entry is known again by: the same for an id that is a number here and a text there. */
function markOf({ id, files, record, prompt }: HistoryEntry): string {
	const address = files[0] ? unsigned(files[0].fileUrl) : '';
	const parts = id === undefined ? [address, asText(record.created_at) ?? '', prompt] : [id];
	return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 12);
}
