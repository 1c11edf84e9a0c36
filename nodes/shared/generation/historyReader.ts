import { steadyNow } from '../async/deadline';
import { MAX_PAGE_SIZE, readAllPages } from '../api/pagination';
import { singleFlightOf, type Api } from '../api/api';
import { asTime } from '../parsing/coerce';
import type { Page } from '../parsing/responses';
import { readHistory, type HistoryEntry } from './historyEntries';
import { sinceOf } from './historyMatching';
import type { SentRequest } from '../contract';

/** How long a look is fresh enough for everyone, in ms. */
const FRESH_MS = 8_000;
/** How many entries a look reads at most. */
const MAX_ENTRIES = 2000;

/** What was in the history when it was read. */
export interface HistoryLook {
	/** The oldest first. */
	entries: HistoryEntry[];
	/** The service's clock minus ours, in ms. */
	clockOffsetMs: number;
	/** It goes back so far: in ms since 1970 by the service's clock. */
	since: number;
	readAt: number;
}

/** The history (§4.9) of an account, in which lost results are looked up: one look serves all that wait. */
export class HistoryReader {
	private last: HistoryLook | undefined;

	/**
	 * A look back to the first of `requests`, at most some seconds old, and made at `asOf` or later, by
	 * `steadyNow`. Throws a Failure.
	 */
	async look(
		api: Api,
		requests: SentRequest[],
		signal: AbortSignal,
		asOf = 0,
	): Promise<HistoryLook> {
		const oldest = Math.max(asOf, steadyNow() - FRESH_MS);
		const since = (offsetMs: number) =>
			requests.reduce((least, request) => Math.min(least, sinceOf(request, offsetMs)), Infinity);
		const isEnough = (look: HistoryLook) =>
			look.readAt >= oldest && look.since <= since(look.clockOffsetMs);
		while (!this.last || !isEnough(this.last)) {
			this.last = await singleFlightOf(api.credential).share(
				'look',
				signal,
				async (over) => await readBackTo(api, since, over),
			);
		}
		return this.last;
	}
}

/** Reads back to `since`, or as far as a look goes; that depends on the service's clock minus ours. */
async function readBackTo(
	api: Api,
	since: (clockOffsetMs: number) => number,
	signal: AbortSignal,
): Promise<HistoryLook> {
	const look = { entries: [], clockOffsetMs: 0, since: -Infinity, readAt: steadyNow() };
	const items = await readAllPages({
		first: 1,
		limit: MAX_ENTRIES,
		fetch: async (page, pageSize) => {
			const found = await api.listHistory({ page, page_size: pageSize }, signal);
			look.clockOffsetMs = found.clockOffsetMs;
			return found;
		},
		isEnough: ({ items }) => {
			const wanted = since(look.clockOffsetMs);
			const isEnough = items.length > 0 && !(asTime(items.at(-1)?.created_at) >= wanted);
			if (isEnough) look.since = wanted;
			return isEnough;
		},
	});
	return { ...look, entries: readHistory(items, api.credential.baseUrl) };
}

/** The history of an account as its triggers read it, again and again: one reading serves them all. */
export class HistoryPages {
	/** All triggers read at this time and whole intervals later, in ms since 1970. */
	private readonly firstRead = steadyNow();

	/** Milliseconds until the next reading, at least half an interval. */
	msToNext(intervalMs: number): number {
		const soonest = steadyNow() + intervalMs / 2;
		const intervals = Math.ceil((soonest - this.firstRead) / intervalMs);
		return this.firstRead + intervals * intervalMs - steadyNow();
	}

	/** One page (§4.9), the first being 1; it waits for its turn among the readings. Throws a Failure. */
	async read(api: Api, page: number, signal: AbortSignal): Promise<Page> {
		const flights = singleFlightOf(api.credential);
		return await flights.share(`history ${page}`, signal, async (over) => {
			await api.pace.turns.watch(over);
			return await api.listHistory({ page, page_size: MAX_PAGE_SIZE }, over);
		});
	}
}
