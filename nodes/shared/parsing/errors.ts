import { Failure, isFailure, type FailureKind, type Meaning } from '../failure';
import { MAX_REASON_CHARS } from '../limits';
import { asText, truncate, isRecord, looksLikeHtml, parseJson } from './values';
import { meaningOf, signOf } from './errorTable';
import type { Redactor } from './redaction';

/** What the service says went wrong, and what that means. Pure; the shapes: docs/contract.md, “HTTP”. */

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
	if (depth > 4) return plainText(text);
	const within = (inner: unknown) => readReason(inner, depth + 1);
	if (text !== undefined) {
		const json = /^[[{]/.test(text) ? (parseJson(text) ?? CUT_OFF.exec(text)?.[1]) : undefined;
		return within(json) ?? plainText(text);
	}
	if (Array.isArray(value)) {
		return plainText(value.map(within).filter(Boolean).slice(0, 3).join('; '));
	}
	const record = isRecord(value) ? value : {};
	const values = REASONS_UNDER.map((key) => record[key]).filter((reason) => !saysNothing(reason));
	const reasons = values.map(within).filter((reason) => reason !== undefined);
	return reasons.find((reason) => !SAYS_LITTLE.test(reason)) ?? reasons[0];
}

/** Text without mark-up and control characters, not too long; undefined when nothing is left. */
function plainText(text = ''): string | undefined {
	const plain = truncate(text, 4000).replace(/<[/!]?[a-z][^<>]*>/gi, ' ');
	return asText(truncate(plain.replace(/[\s\p{Cc}]+/gu, ' ').trim(), MAX_REASON_CHARS));
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
	/^(?:media_generation_status_)?(?:error|failed|filtered|cancell?ed)$/i.test(asText(value) ?? '');

/** True for a record that has failed, or reports a failure. */
export const isFailed = (record: unknown): boolean =>
	saysFailure(record) || (isRecord(record) && isFailureWord(record.status));

/** The longest wait that Retry-After can ask for, in ms: a day. */
const MAX_RETRY_AFTER_MS = 86_400_000;

/** True where something was begun, and has failed because too much was under way. */
export const isOverload = (error: unknown): boolean =>
	isFailure(error, 'taskFailed', 'generationFailed') &&
	(error.facts.means ?? meaningOf(error.facts.text)) === 'throttled';

/** Retry-After, seconds or a date by the clock of the answer, in ms from 0 to a day; undefined if senseless. */
export function readRetryAfter(headers: Record<string, string | undefined>): number | undefined {
	const text = asText(headers['retry-after']);
	if (text === undefined) return undefined;
	const seconds = Number(text);
	const now = Date.parse(headers.date ?? '') || Date.now();
	const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(text) - now;
	return Number.isFinite(ms) ? Math.min(MAX_RETRY_AFTER_MS, Math.max(0, ms)) : undefined;
}

/** The reason in an error body: from JSON, however nested, or plain text; undefined for a page. */
export function readErrorText(body: string): string | undefined {
	const json = parseJson(body);
	if (json !== undefined) return readReason(json);
	return looksLikeHtml(body) ? undefined : readReason(body);
}

/** What each meaning is as a refusal. Others are rejections of what was asked for. */
const REFUSAL_KINDS: Partial<Record<Meaning, FailureKind>> = {
	throttled: 'rateLimited',
	quota: 'rateLimited',
	credit: 'outOfCredit',
	token: 'tokenRefused',
	voice: 'invalidVoice',
};

/**
 * The Failure that an answer (its JSON, or its text) means which refuses a request, whatever channel it
 * came over. It has to be redacted.
 */
export function failureOfAnswer(answer: unknown, status?: number): Failure {
	const means = meaningOf(answer, status);
	const kind = (means && REFUSAL_KINDS[means]) ?? 'rejected';
	const transient = kind === 'rateLimited' || undefined;
	const text = readReason(answer) ?? plainText(signOf(answer));
	return new Failure(kind, { means, status, text, transient });
}

/**
 * True for an answer that refuses as 429 does: what was asked for has surely not been begun. With an id,
 * anywhere, something may have been begun that was too much.
 */
export const saysRefused = (answer: unknown): boolean =>
	['throttled', 'quota'].includes(meaningOf(answer) ?? '') &&
	!/"(?:task_?)?id":(?!null|"")/i.test(JSON.stringify(answer));

/** They leave no doubt that nothing was begun, or comes of it, even with a server error or no error. */
const SURE: ReadonlyArray<Meaning | undefined> = ['quota', 'credit', 'not_allowed', 'moderation'];
/** Server errors whose JSON may also say that the service has too much to do. */
const OVERLOAD_STATUSES = [503, 529];

/** A reason that is named as one, as in `raiMediaFilteredReasons` or `failureReason`. */
const NAMED_REASON = /"\w{0,40}(?:filter|fail|block|reject|refus)\w{0,40}reasons?":\[?"[^"]/i;

/** True for a result without a file, or one that may be in progress, that says why nothing comes of it. */
export const saysWhy = (result: unknown): boolean =>
	SURE.includes(meaningOf(result)) || NAMED_REASON.test(JSON.stringify(result) ?? '');

/** The Failure of an answer with an HTTP error status. `body`, which is cut here, has to be redacted. */
export function failureOfStatus(status: number, body: string): Failure {
	const json = parseJson(body);
	const isPage = looksLikeHtml(body);
	const reported = failureOfAnswer(json === undefined && !isPage ? body : json, status);
	const { text, means } = reported.facts;
	const facts = { status, text, means };
	const passing = { ...facts, transient: true };
	if (status >= 300 && status < 400) return new Failure('redirected', facts);
	const isSure = SURE.includes(means);
	if (status >= 500) {
		const isAgain = OVERLOAD_STATUSES.includes(status) && saysRefused(json);
		const isRefused = reported.kind === 'rateLimited' ? isAgain : isSure;
		return json !== undefined && isRefused ? reported : new Failure('unavailable', passing);
	}
	// A web page with 401 or 403 comes from an edge in front of the service, and passes.
	if (status === 408 || (isPage && (status === 401 || status === 403))) {
		return new Failure('unavailable', passing);
	}
	if (isSure || reported.kind !== 'rejected' || (status !== 404 && status !== 410)) return reported;
	// What is no JSON comes from an ingress while the service is away, unless the address is wrong.
	const isOther = status === 404 && body.trim() !== '' && json === undefined;
	return isOther ? new Failure('foreignServer', passing) : new Failure('notFound', facts);
}

/**
 * What `read` finds in the JSON of an answer with a success status. Throws the Failure that the answer
 * reports instead, or foreignServer.
 */
export function readAnswer<T>(
	body: string,
	redact: Redactor,
	read: (raw: unknown) => T | undefined,
): T {
	const raw = parseJson(body);
	const found = read(raw);
	if (found !== undefined) return found;
	if (!isFailed(raw)) throw new Failure('foreignServer', { transient: true });
	const { kind, facts } = failureOfAnswer(redact.value(raw));
	const { means, text = 'no reason given' } = facts;
	const isBegun = kind === 'rateLimited' && !saysRefused(raw);
	throw isBegun ? new Failure('rejected', { means, text }) : new Failure(kind, { ...facts, text });
}
