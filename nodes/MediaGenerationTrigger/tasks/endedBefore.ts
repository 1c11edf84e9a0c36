import type { SpeechTask } from '../../shared/contract';
import { asText, asTime } from '../../shared/parsing/coerce';

/** The times, and the clock in the service's answers, may be cut to the second, in ms. */
const CUT_MS = 2000;
const END_KEY = /^(?:completed|finished|ended|updated)_?at$/i;

/** True when the record of a completed task says that it ended before `since`, in ms since 1970. */
export function endedBefore({ fields, clockOffsetMs = 0 }: SpeechTask, since: number): boolean {
	// Some services never update the time of the last change.
	const created = fields.created_at ?? fields.createdAt;
	const ends = Object.entries(fields)
		.filter(([key, value]) => END_KEY.test(key) && value !== created)
		.map(([, value]) => timeOf(value))
		.filter(Number.isFinite);
	return ends.length > 0 && Math.max(...ends) - clockOffsetMs + CUT_MS < since;
}

/** In ms since 1970; NaN for a mere date, and for a time without a zone, which may be hours off. */
function timeOf(value: unknown): number {
	const text = asText(value) ?? '';
	const isExact = /^[\d.]+$|\d:\d\d.*(?:z|gmt|utc|[+-]\d\d:?\d\d)$/i.test(text);
	return isExact ? asTime(text) : NaN;
}
