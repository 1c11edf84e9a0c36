import type { ServiceRecord, SpeechTask } from '../../shared/contract';
import { asText, asTime } from '../../shared/parsing/coerce';

/** The times, and the clock in the service's answers, may be cut to the second, in ms. */
const CUT_MS = 2000;
/** A record that only says when its task was created counts as ended this much later, in ms. */
const MAX_ORDINARY_MS = 120_000;
/** A time without a zone may be that of the westernmost one, this far behind UTC, in ms. */
const WESTERNMOST_MS = 12 * 3_600_000;

const END_KEYS = new Set(['completedat', 'finishedat', 'endedat', 'updatedat']);

/** True when the record of a completed task says that it ended before `since`, in ms since 1970. */
export function endedBefore({ fields, clockOffsetMs = 0 }: SpeechTask, since: number): boolean {
	const created = latestOf(fields, (key) => key === 'createdat');
	const touched = latestOf(fields, (key) => END_KEYS.has(key));
	// Some services never update the time of the last change.
	const ended = touched > created || created === -Infinity ? touched : created + MAX_ORDINARY_MS;
	return Number.isFinite(ended) && ended - clockOffsetMs + CUT_MS < since;
}

/** The latest time in the fields of these names (in small letters, without "_"), or -Infinity. */
function latestOf(fields: ServiceRecord, isOne: (key: string) => boolean): number {
	const times = Object.entries(fields)
		.filter(([key]) => isOne(key.replaceAll('_', '').toLowerCase()))
		.map(([, value]) => latestTime(value));
	return Math.max(-Infinity, ...times.filter(Number.isFinite));
}

/** The latest point in time that a value can mean, in ms since 1970; NaN for a mere date or none. */
function latestTime(value: unknown): number {
	const text = asText(value) ?? '';
	if (/^\d+(?:\.\d+)?$/.test(text)) return asTime(text);
	if (!/\d[T ]\d{1,2}:\d\d/.test(text)) return NaN;
	const hasZone = /(?:z|gmt|utc|[+-]\d\d:?\d\d)$/i.test(text);
	return hasZone ? Date.parse(text) : Date.parse(`${text}Z`) + WESTERNMOST_MS;
}
