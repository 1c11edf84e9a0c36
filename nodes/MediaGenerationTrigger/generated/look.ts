import { createHash } from 'node:crypto';
import { MAX_PAGE_SIZE, isLastPage } from '../../shared/api/pagination';
import type { ServiceRecord } from '../../shared/contract';
import {
	oldestFirst,
	readHistory,
	type HistoryEntry,
} from '../../shared/generation/historyEntries';
import { asText, asTime, unsigned } from '../../shared/parsing/coerce';
import type { Page } from '../../shared/parsing/responses';
import { FOLLOWED_MS, type EntryStore, type Outcome } from './entryStore';

/*
 * What is new in a history that others change while it is read. What is remembered: the entries seen so
 * far (the newest thousand), those not emitted yet, and the floor: the time down to which all was seen.
 * - What a deletion moves up is not new: it was made before the floor, or nothing known comes after it.
 * - New is what was made after the floor, or is listed above something known: a slow one may appear late.
 * - Only the service's own times are compared, with one another. Equal ones decide nothing: the place does.
 * - Pages that shift while they are read repeat an entry, which counts once, or skip one: where several
 *   pages held something new, the next look reads as many again.
 * - Without an id an entry is its file's address without the signature, its time and its prompt. If none of
 *   these is known again, they are no use: the history as it is counts as seen, so that nothing floods n8n.
 * - An entry in the making is looked for on the pages after the first one, too, while it should be there.
 */

/** How far back one look goes, in entries and in pages. */
const MAX_ENTRIES = 600;
const MAX_LOOK_PAGES = 30;
/** Fewer entries than this, on a page that is the last, are the whole history: no page is smaller. */
const MIN_PAGE_SIZE = 20;

/** `unsure`: only what comes after it can tell whether it is old or new. */
type Standing = 'known' | 'old' | 'new' | 'unsure';

/** One look into the history, page by page, and what it says. Pure. */
export class Look {
	/** In the order of the history. */
	private readonly seen = new Map<string, HistoryEntry>();
	private pages = 0;
	private isWhole = false;
	private isCut = false;
	private readonly newestKnown: number;

	/** `baseUrl` resolves relative addresses; at least `reach` pages are to be read. */
	constructor(
		private readonly remembered: EntryStore,
		private readonly baseUrl: string,
		private readonly reach = 1,
	) {
		this.newestKnown = remembered.newest;
	}

	/** Takes the next page, as it came. True when the one after it is worth reading. */
	add(page: Page): boolean {
		this.pages++;
		const before = this.seen.size;
		const items = newestOf(page);
		for (const entry of inPlace(readHistory(items, this.baseUrl))) {
			const mark = markOf(entry);
			if (!this.seen.has(mark)) this.seen.set(mark, { ...entry, place: this.seen.size });
		}
		const isLast = isLastPage(page, this.seen.size, MAX_PAGE_SIZE);
		const isAll = page.total !== undefined && this.seen.size >= page.total;
		this.isWhole = isLast && (isAll || this.seen.size < MIN_PAGE_SIZE);
		if (isLast || this.seen.size === before) return false;
		const isFull = this.seen.size >= MAX_ENTRIES || this.pages >= MAX_LOOK_PAGES;
		this.isCut = isFull && this.endsAmongNew();
		return !isFull && this.isNextWanted();
	}

	/** To be called once all pages are there. */
	outcome(): Outcome {
		const { isEmpty, isComplete, floor, size } = this.remembered;
		const marks = new Map([...this.seen].map(([mark, entry]) => [entry, mark]));
		const awaited = new Set(this.remembered.awaited().map(([mark]) => mark));
		const standings = this.standings();
		const hasAnchor = this.hasKnown(standings) || (isComplete && size === 0);
		const outcome: Outcome = {
			ready: [],
			failed: [],
			making: [],
			passed: [],
			hasLostTrack: false,
			isCut: this.isCut,
			reach: 1,
			seen: new Set([...this.seen.keys()].reverse()),
		};
		if (isEmpty || Number.isNaN(floor)) {
			outcome.baseline = { floor: this.oldest(), isComplete: this.isWhole };
		}
		let hasNew = false;
		for (const entry of oldestFirst([...this.seen.values()])) {
			const mark = marks.get(entry)!;
			let standing = standings.get(mark)!;
			if (!hasAnchor && standing !== 'old') standing = this.isLater(entry) ? 'new' : 'unsure';
			if (isEmpty) standing = 'unsure';
			if (standing === 'old' || (standing === 'known' && !awaited.has(mark))) continue;
			hasNew ||= standing === 'new';
			const found = { mark, entry };
			if (entry.files.length === 0 && !entry.failed) outcome.making.push(found);
			else if (standing === 'unsure') outcome.passed.push(found);
			else (entry.failed ? outcome.failed : outcome.ready).push(found);
		}
		outcome.hasLostTrack = !isEmpty && !hasAnchor && outcome.passed.length > 0;
		if (hasNew && this.pages > 1) outcome.reach = this.pages;
		return outcome;
	}

	private isNextWanted(): boolean {
		if (this.pages < this.reach) return true;
		const last = [...this.seen.values()].at(-1)!;
		if (this.remembered.isEmpty) return last.createdAt >= Math.max(...this.times()) - FOLLOWED_MS;
		const isMissing = ([mark, createdAt]: [string, number]) =>
			!this.seen.has(mark) && !(last.createdAt < createdAt);
		return this.remembered.awaited().some(isMissing) || this.endsAmongNew();
	}

	private endsAmongNew(): boolean {
		const standings = this.standings();
		const [last] = standings.values();
		const lowest = [...this.seen.values()].at(-1)!;
		// Named anew each time: what was made later stands above.
		if (!this.hasKnown(standings) && lowest.createdAt <= this.newestKnown) return false;
		return last === 'new' || (last === 'unsure' && !this.hasKnown(standings));
	}

	/** The standing of each entry, as far as it is clear at this point. */
	private standings(): Map<string, Standing> {
		const { floor, isComplete } = this.remembered;
		const all = [...this.seen];
		const times = all.map(([, { createdAt }]) => createdAt);
		const isSorted = times.every((time, index) => index === 0 || time <= times[index - 1]!);
		const standings = new Map<string, Standing>();
		let follows = false;
		for (const [mark, { createdAt }] of all.reverse()) {
			const isKnown = this.remembered.has(mark);
			const isOld = createdAt < floor;
			const isNew = isComplete || follows || (isSorted && createdAt > floor);
			standings.set(mark, isKnown ? 'known' : isOld ? 'old' : isNew ? 'new' : 'unsure');
			follows ||= isKnown || isOld;
		}
		return standings;
	}

	/** Where nothing is known again, only an id and a time tell that an entry is not merely named differently. */
	private isLater({ id, createdAt }: HistoryEntry): boolean {
		return id !== undefined && createdAt > Math.max(this.remembered.floor, this.newestKnown);
	}

	private hasKnown(standings: Map<string, Standing>): boolean {
		return [...standings.values()].includes('known');
	}

	/** -Infinity when the history has no times, or is known as a whole. */
	private oldest(): number {
		const times = this.times();
		return this.isWhole || times.length === 0 ? -Infinity : Math.min(...times);
	}

	private times(): number[] {
		return [...this.seen.values()].map(({ createdAt }) => createdAt).filter(Number.isFinite);
	}
}

const inPlace = (entries: HistoryEntry[]) => [...entries].sort((a, b) => a.place - b.place);

/** The part of a page that is looked at: a bare array may hold all that was ever made, in any order. */
function newestOf({ items, bare }: Page): ServiceRecord[] {
	const timed = bare ? items.map((item) => ({ item, time: asTime(item.created_at) })) : [];
	if (timed.length === 0 || timed.some(({ time }) => Number.isNaN(time))) {
		return items.slice(0, MAX_ENTRIES);
	}
	const sorted = timed.sort((a, b) => b.time - a.time);
	return sorted.slice(0, MAX_ENTRIES).map(({ item }) => item);
}

/** What an entry is known again by: the same for an id that is a number here and a text there. */
function markOf({ id, files, record, prompt }: HistoryEntry): string {
	const [file] = files;
	const parts =
		id === undefined
			? [file ? unsigned(file.fileUrl) : '', asText(record.created_at) ?? '', prompt]
			: [id];
	return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 12);
}
