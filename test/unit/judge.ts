import type { ServiceRecord, SentRequest } from '../../nodes/shared/contract';
import type { Claims } from '../../nodes/shared/generation/claims';
import { readHistory, type HistoryEntry } from '../../nodes/shared/generation/historyEntries';
import type { Claim } from '../../nodes/shared/generation/historyMatching';

export const SENT_AT = Date.parse('2026-01-01T10:00:00Z');

let count = 0;

/** A request as it is kept, for one video of "P" unless `fields` say otherwise. */
export const sent = (fields: Partial<SentRequest> = {}): SentRequest => ({
	key: `request ${count++}`,
	...{ prompt: 'P', kind: 'video', expected: 1, withImages: false, sentAt: SENT_AT, told: [] },
	...fields,
});

const recordsOf = (entries: HistoryEntry[]) => entries.map(({ record }) => record);

/** What of `history`, newest first, is `claim`'s; `offsetMs` is the service's clock minus ours. */
export function judge(claims: Claims, claim: Claim, history: ServiceRecord[], offsetMs = 0) {
	const entries = readHistory(history, 'https://media.example.com');
	const { own, candidates, isHopeless } = claims.match(claim, entries, offsetMs);
	return { own: recordsOf(own), candidates: recordsOf(candidates), isHopeless };
}
