import { steadyNow } from '../async/deadline';
import { MAX_PAGE_SIZE, readAllPages } from '../api/pagination';
import { singleFlightOf, type Api } from '../api/api';
import { asTime } from '../parsing/coerce';
import type { Page } from '../parsing/responses';
import { readHistory, type HistoryEntry } from './historyEntries';

/** How long a look is fresh enough for everyone, in ms. */
const FRESH_MS = 8_000;
/** A look goes back further by so many ms: the next request's, sent a moment before, is served as well. */
const SLACK_MS = 5_000;
/** How many entries a look reads at most. */
const MAX_ENTRIES = 2000;

/** How far back a look goes, in ms since 1970: by our clock, or by the service's where that is known. */
export interface Reach {
	ours: number;
	service: number;
}

/** The history (§4.9) as a run reads it: one look serves all items that wait. */
export class HistoryReader {
	private look: Promise<HistoryEntry[]> | undefined;
	private lookedAt = 0;
	private reach: Reach = { ours: Infinity, service: Infinity };

	constructor(private readonly api: Api) {}

	/**
	 * The entries made since `since`, the oldest first, as they were at `asOf` or later; `signal` is the one
	 * of all items together.
	 */
	async newest(since: Reach, signal: AbortSignal, asOf = 0): Promise<HistoryEntry[]> {
		const oldest = Math.max(asOf, steadyNow() - FRESH_MS);
		const { ours, service } = this.reach;
		const isFresh = this.lookedAt >= oldest && ours <= since.ours && service <= since.service;
		if (!this.look || !isFresh) {
			this.lookedAt = steadyNow();
			this.reach = {
				ours: Math.min(since.ours - SLACK_MS, ours),
				service: Math.min(since.service - SLACK_MS, service),
			};
			this.look = this.readBackTo(this.reach, signal);
			this.look.catch(() => (this.look = undefined));
		}
		return await this.look;
	}

	private async readBackTo({ ours, service }: Reach, signal: AbortSignal): Promise<HistoryEntry[]> {
		let clockOffsetMs = 0;
		const items = await readAllPages({
			first: 1,
			limit: MAX_ENTRIES,
			idField: 'id',
			fetch: async (page, pageSize) => {
				const found = await this.api.listHistory({ page, page_size: pageSize }, signal);
				({ clockOffsetMs } = found);
				return found;
			},
			isEnough: (page) => {
				const oldest = asTime(page.items.at(-1)?.created_at);
				return !(oldest >= Math.min(service, ours + clockOffsetMs));
			},
		});
		return readHistory(items, this.api.credential.baseUrl, clockOffsetMs);
	}
}

interface ReadPage {
	page: Page;
	readAt: number;
}

/** The history of an account as its triggers read it, again and again: one reading serves them all. */
export class HistoryPages {
	private first: ReadPage | undefined;

	/**
	 * One page (§4.9), the first being 1; that one may have been read up to `maxAgeMs` ago. Others wait for
	 * their turn among the trigger's readings. Throws a Failure.
	 */
	async read(api: Api, page: number, maxAgeMs: number, signal: AbortSignal): Promise<ReadPage> {
		if (page === 1 && this.first && steadyNow() - this.first.readAt < maxAgeMs) return this.first;
		const flights = singleFlightOf(api.credential);
		return await flights.share(`history ${page}`, signal, async (over) => {
			await api.pace.turns.watch(over);
			const readAt = steadyNow();
			const found = await api.listHistory({ page, page_size: MAX_PAGE_SIZE }, over);
			const read = { page: found, readAt };
			if (page === 1) this.first = read;
			return read;
		});
	}
}
