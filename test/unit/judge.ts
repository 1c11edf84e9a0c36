import type { ServiceRecord } from '../../nodes/shared/contract';
import type { Claims } from '../../nodes/shared/generation/claims';
import { readHistory, type HistoryEntry } from '../../nodes/shared/generation/historyEntries';
import type { Claim } from '../../nodes/shared/generation/historyMatching';

const recordsOf = (entries: HistoryEntry[]) => entries.map(({ record }) => record);

/** What of `history`, newest first, is `claim`'s; `offsetMs` is the service's clock minus ours. */
export function judge(claims: Claims, claim: Claim, history: ServiceRecord[], offsetMs = 0) {
	const verdict = claims.judge(claim, readHistory(history, 'https://media.example.com', offsetMs));
	const { own, candidates } = verdict;
	return { ...verdict, own: recordsOf(own), candidates: recordsOf(candidates) };
}
