import { steadyNow, throwIfAborted, whenAborted } from '../async/deadline';
import { readAllPages } from '../api/pagination';
import type { Api } from '../api/api';
import { isFailure } from '../failure';
import { asTime } from '../parsing/coerce';
import { oldestFirst, readHistory, type HistoryEntry } from './historyEntries';

/** How long a look is fresh enough for everyone, in ms. */
const FRESH_MS = 8_000;
/** How many entries a look reads at most. */
const MAX_ENTRIES = 2000;

/** What was in the history when it was read. */
interface HistoryLook {
	/** The oldest first, their times by our clock. */
	entries: HistoryEntry[];
	/** It goes back so far: in ms since 1970 by our clock. */
	since: number;
	readAt: number;
}

/** The history (§4.9) of an account, in which lost results are looked up: one look serves all that wait. */
export class HistoryReader {
	private last: HistoryLook | undefined;
	/** That of one of those who wait. */
	private underWay: Promise<HistoryLook> | undefined;

	/**
	 * The entries made after `since`, in ms since 1970 by our clock, and perhaps older ones, the oldest first;
	 * read at `asOf` or later, by `steadyNow`: some seconds ago unless given. Throws a Failure.
	 */
	async look(api: Api, since: number, signal: AbortSignal, asOf?: number): Promise<HistoryEntry[]> {
		const oldest = asOf ?? steadyNow() - FRESH_MS;
		while (!this.last || this.last.readAt < oldest || this.last.since > since) {
			throwIfAborted(signal);
			if (this.underWay) {
				await Promise.race([this.underWay, whenAborted(signal)]).catch((error: unknown) => {
					// Where only that one's time was up, the next one looks.
					if (!isFailure(error, 'canceled', 'timedOut')) throw error;
				});
				continue;
			}
			this.underWay = readBackTo(api, since, signal).finally(() => (this.underWay = undefined));
			this.last = await this.underWay;
		}
		return this.last.entries;
	}
}

/** Reads back to `since`, or as far as a look goes. */
async function readBackTo(api: Api, since: number, signal: AbortSignal): Promise<HistoryLook> {
	const look = { since: -Infinity, readAt: steadyNow() };
	/** The service's clock minus ours. */
	let clockOffsetMs = 0;
	const items = await readAllPages({
		first: 1,
		limit: MAX_ENTRIES,
		fetch: async (page, pageSize) => {
			const found = await api.listHistory({ page, page_size: pageSize }, signal);
			({ clockOffsetMs } = found);
			return found;
		},
		isEnough: ({ items }) => {
			const isEnough = !(asTime(items.at(-1)?.created_at) >= since + clockOffsetMs);
			if (isEnough) look.since = since;
			return isEnough;
		},
	});
	const entries = readHistory(items, api.credential.baseUrl);
	for (const entry of entries) entry.createdAt -= clockOffsetMs;
	return { ...look, entries: oldestFirst(entries) };
}
