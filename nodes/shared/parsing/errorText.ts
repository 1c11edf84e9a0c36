import { MAX_REASON_CHARS } from '../limits';
import { asText, clip, isRecord, parseJson } from './coerce';

/** What the service says went wrong, in readable form. Pure. */

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
	const reasons = REASON_KEYS.filter((key) => !saysNothing(value[key]))
		.map((key) => readReason(value[key], depth + 1))
		.filter((reason) => reason !== undefined && reason !== 'true');
	return reasons.find((reason) => !SAYS_LITTLE.test(reason!)) ?? reasons[0];
}

/** What services put into `error` when there is none. */
const WORD_FOR_NOTHING =
	/^(?:none|null|undefined|ok|success|false|0|no[\s_-]?errors?|\{\s*\}|\[\s*\])?$/i;

/** True when the value of an `error` field means no error, as "none" or `{ code: 0, message: "" }`. */
export function saysNothing(value: unknown): boolean {
	if (typeof value === 'string') return WORD_FOR_NOTHING.test(value.trim());
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

/** The most telling first. */
const REASON_KEYS = [
	...['error', 'error_message', 'message', 'detail', 'details'],
	...['errors', 'msg', 'reason', 'title', 'code'],
];

/** Texts that say less than others beside them: a status, or its name. */
const SAYS_LITTLE =
	/^(?:\d+|error|failed|bad request|unauthorized|payment required|forbidden|not found|unprocessable entity|internal server error)$/i;

/** A reason in JSON that was cut off. */
const CUT_OFF = /"(?:message|detail|error|msg|reason)"\s*:\s*"((?:[^"\\]|\\.){1,2000})/;

function readReasonText(text: string, depth: number): string | undefined {
	if (depth > 4 || !/^[[{]/.test(text)) return plainText(text);
	const json = parseJson(text);
	const reason = json === undefined ? CUT_OFF.exec(text)?.[1] : readReason(json, depth + 1);
	return plainText(reason ?? text);
}

/** Text without mark-up and control characters, not too long; undefined when nothing is left. */
export function plainText(text: string): string | undefined {
	// The service's stack trace helps nobody who builds a workflow.
	let plain = clip(text, 4000).replace(/\n\s{0,20}at [^\n]{1,300}(?::\d+|>)\)?(?=\n|$)/g, '');
	// Removing a nested tag can leave a new one behind.
	for (let before = ''; before !== plain;) {
		before = plain;
		plain = plain.replace(/<[/!]?[a-z][^<>]*>/gi, ' ');
	}
	return asText(clip(plain.replace(/[\s\p{Cc}]+/gu, ' ').trim(), MAX_REASON_CHARS));
}
