import { MAX_REASON_CHARS } from '../limits';
import { asText, clip, isRecord, parseJson } from './coerce';

/** What the service says went wrong, in readable form. Pure. */

/** Where reasons are found, the most telling first. */
const REASONS_UNDER = 'error error_message message detail errors msg reason code'.split(' ');

/** Texts that say less than others beside them, as in `{ error: "Bad Request", message: "…" }`. */
const SAYS_LITTLE =
	/^(?:\d+|true|error|failed|bad request|unauthorized|payment required|forbidden|not found|unprocessable entity|internal server error)$/i;

/** A reason in JSON that is broken or was cut off. */
const CUT_OFF = /"(?:message|detail|error|msg|reason)"\s*:\s*"((?:[^"\\]|\\.){1,2000})/;

/** The reason given in `error`, `message`, `detail` or the like, however nested; else undefined. */
export function readReason(value: unknown, depth = 0): string | undefined {
	const text = asText(value);
	if (text !== undefined) return readReasonText(text, depth);
	if (depth > 4) return undefined;
	if (Array.isArray(value)) {
		const reasons = value.map((entry) => readReason(entry, depth + 1)).filter(Boolean);
		return plainText(reasons.slice(0, 3).join('; '));
	}
	if (!isRecord(value)) return undefined;
	const reasons = REASONS_UNDER.filter((key) => !saysNothing(value[key]))
		.map((key) => readReason(value[key], depth + 1))
		.filter((reason) => reason !== undefined);
	return reasons.find((reason) => !SAYS_LITTLE.test(reason)) ?? reasons[0];
}

function readReasonText(text: string, depth: number): string | undefined {
	if (depth > 4 || !/^[[{]/.test(text)) return plainText(text);
	const json = parseJson(text);
	const reason = json === undefined ? CUT_OFF.exec(text)?.[1] : readReason(json, depth + 1);
	return plainText(reason ?? text);
}

/** Text without mark-up and control characters, not too long; undefined when nothing is left. */
export function plainText(text: string): string | undefined {
	const plain = clip(text, 4000).replace(/<[/!]?[a-z][^<>]*>/gi, ' ');
	return asText(clip(plain.replace(/[\s\p{Cc}]+/gu, ' ').trim(), MAX_REASON_CHARS));
}

/** True when the value of an `error` field means no error, as null or `{ code: 0, message: "" }`. */
export function saysNothing(value: unknown): boolean {
	if (typeof value === 'string') return value.trim() === '';
	if (typeof value !== 'object' || value === null) return !value;
	return Object.values(value).every(saysNothing);
}

/** True when an answer says by itself that it is a failure: by its `error`, or `success: false`. */
export function saysFailure(value: unknown): boolean {
	return isRecord(value) && (!saysNothing(value.error) || value.success === false);
}

/** A status word that means failure; deployments have more than §3. */
export const isFailureWord = (value: unknown): boolean =>
	/^(?:media_generation_status_)?(?:error|failed|cancell?ed)$/i.test(asText(value) ?? '');

/** True for a record that has failed, or reports a failure. */
export const isFailed = (record: unknown): boolean =>
	saysFailure(record) || (isRecord(record) && isFailureWord(record.status));
