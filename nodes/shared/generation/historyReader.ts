import { accountOf } from '../account';
import type { Api } from '../api/api';
import { readAllPages } from '../api/pagination';
import { monotonicNow } from '../async/deadline';
import { SharedReadings } from '../async/sharedReadings';
import { asTime } from '../parsing/values';
import { oldestFirst, readHistory, type HistoryEntry } from './historyEntries';

/** How long a look is fresh enough for everyone, in ms. */
const SNAPSHOT_TTL_MS = 8_000;
/** How many entries a look reads at most. */
const MAX_SNAPSHOT_ENTRIES = 2000;

/** What was in the history when it was read. */
interface HistorySnapshot {
	/** The oldest first, their times by our clock. */
	entries: HistoryEntry[];
	/** It goes back so far: in ms since 1970 by our clock. */
	since: number;
	readAt: number;
}

/**
 * The looks into the history (§4.9) of an account: one serves all that wait. The last one stays, however old: a
 * renewed address may be taken from a look of a minute ago.
 */
class HistoryLooks extends SharedReadings {}

/**
 * The entries of the history made after `since`, in ms since 1970 by our clock, and perhaps older ones, the
 * oldest first; read at `asOf` or later, by `monotonicNow`: some seconds ago unless given. Throws a Failure.
 */
export async function readHistorySince(
	api: Api,
	since: number,
	signal: AbortSignal,
	asOf = monotonicNow() - SNAPSHOT_TTL_MS,
): Promise<HistoryEntry[]> {
	const looks = accountOf(api.credential).get(HistoryLooks);
	const read = async (shared: AbortSignal) => await readBackTo(api, since, shared);
	let look: HistorySnapshot | undefined;
	// Also one that is too old is waited for: a slow history must not be read by several at a time.
	do look = await looks.share('', look?.readAt ?? -Infinity, signal, read);
	while (look.readAt < asOf || look.since > since);
	return look.entries;
}

/** Reads back to `since`, or as far as a look goes. */
async function readBackTo(api: Api, since: number, signal: AbortSignal): Promise<HistorySnapshot> {
	const look = { since: -Infinity, readAt: monotonicNow() };
	/** The service's clock minus ours. */
	let clockOffsetMs = 0;
	const items = await readAllPages({
		firstPage: 1,
		limit: MAX_SNAPSHOT_ENTRIES,
		fetch: async (page, pageSize) => {
			const found = await api.listHistory({ page, page_size: pageSize }, signal);
			({ clockOffsetMs } = found);
			return found;
		},
		shouldStop: ({ items }) => {
			const isEnough = !(asTime(items.at(-1)?.created_at) >= since + clockOffsetMs);
			if (isEnough) look.since = since;
			return isEnough;
		},
	});
	const entries = readHistory(items, api.credential.baseUrl);
	for (const entry of entries) entry.createdAt -= clockOffsetMs;
	return { ...look, entries: oldestFirst(entries) };
}
