import type { Api } from '../api/api';
import { readAllPages } from '../api/pagination';
import { monotonicNow } from '../async/deadline';
import { asTime } from '../parsing/values';
import { sortOldestFirst, toHistoryEntries, type HistoryEntry } from './historyEntries';

/** The greatest age of a snapshot, in ms, unless the caller sets another limit. */
const SNAPSHOT_TTL_MS = 8_000;
/** The maximum number of entries in a snapshot. */
const MAX_SNAPSHOT_ENTRIES = 2000;

/**
 * Resolves with the entries of the history (§4.9) since a time, oldest first, but at most with the newest
 * MAX_SNAPSHOT_ENTRIES. There may be older entries among them. Throws a Failure if the history cannot be read, and the
 * reason of `signal`.
 *
 * @param since how far back the snapshot must go, in ms since 1970 by our clock
 * @param minReadAt the earliest time at which the read of the snapshot may have started, from `monotonicNow`
 */
export async function readHistorySince(
	api: Api,
	since: number,
	signal: AbortSignal,
	minReadAt = monotonicNow() - SNAPSHOT_TTL_MS,
): Promise<HistoryEntry[]> {
	const { coalescedReads } = api;
	const read = async (sharedSignal: AbortSignal) => await readSnapshot(api, since, sharedSignal);
	// The loop waits for a read in flight even if its result will be too old, because several reads at the same time
	// would make a slow service slower.
	for (let startedAfter = -Infinity; ;) {
		const snapshot = await coalescedReads.share('history snapshot', startedAfter, signal, read);
		const isTooOld = snapshot.readAt < minReadAt || snapshot.since > since;
		if (!isTooOld) return snapshot.entries;
		startedAfter = snapshot.readAt;
	}
}

/** Reads the newest part of the history. It goes back to `since`, but has at most MAX_SNAPSHOT_ENTRIES entries. */
async function readSnapshot(api: Api, since: number, signal: AbortSignal) {
	const coverage = {
		/**
		 * The snapshot has all entries since this time, in ms since 1970 by our clock. It is -Infinity if the read has gone
		 * back as far as it can: to the end of the history, or to MAX_SNAPSHOT_ENTRIES entries.
		 */
		since: -Infinity,
		/** When the read started, from `monotonicNow`. */
		readAt: monotonicNow(),
	};
	/** The service's clock minus ours, in ms. */
	let clockOffsetMs = 0;
	const items = await readAllPages({
		firstPage: 1,
		limit: MAX_SNAPSHOT_ENTRIES,
		fetch: async (pageNumber, pageSize) => {
			const historyPage = await api.listHistory({ page: pageNumber, page_size: pageSize }, signal);
			({ clockOffsetMs } = historyPage);
			return historyPage;
		},
		shouldStop: ({ items }) => {
			const [firstAt, lastAt] = [items[0], items.at(-1)].map((item) => asTime(item?.created_at));
			// A service may list the oldest first, so that the newest entries are on the last page.
			const isOldestFirst = firstAt! < lastAt!;
			const hasReachedSince = !isOldestFirst && !(lastAt! >= since + clockOffsetMs);
			if (hasReachedSince) coverage.since = since;
			return hasReachedSince;
		},
	});
	const entries = toHistoryEntries(items, api.credential.baseUrl);
	for (const entry of entries) entry.createdAt -= clockOffsetMs;
	return { ...coverage, entries: sortOldestFirst(entries) };
}
