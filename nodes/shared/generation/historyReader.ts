import { steadyNow, throwIfAborted, whenAborted } from '../async/deadline';
import { readAllPages } from '../api/pagination';
import type { Api } from '../api/api';
import { isFailure } from '../failure';
import { asTime } from '../parsing/coerce';
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
	/** That of one of those who wait. */
	private underWay: Promise<HistoryLook> | undefined;

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
			throwIfAborted(signal);
			if (this.underWay) {
				await Promise.race([this.underWay, whenAborted(signal)]).catch((error: unknown) => {
					// Where only that one's time was up, the next one looks.
					if (!isFailure(error, 'canceled', 'timedOut')) throw error;
				});
				continue;
			}
			this.underWay = readBackTo(api, since, signal);
			this.last = await this.underWay.finally(() => (this.underWay = undefined));
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
