import type { ServiceRecord } from '../contract';
import { Failure, isFailure, type FailureKind, type ErrorMeaning } from '../failure';
import { MAX_REASON_CHARS } from '../limits';
import { asNumber, asText, truncate, isRecord, looksLikeHtml, parseJson } from './values';
import { meaningOf, errorTextsIn, mentionsConcurrency } from './errorTable';
import type { Redactor } from './redaction';
import { statusKind } from './statusKind';

/* Reads the errors in answers of the service. Their shapes are described in docs/contract.md, “HTTP”. */

/** Matches texts that give no reason. */
const EMPTY_REASON = /^(?:-?\d+|true|(?:media_generation_status_)?(?:error|failed))$/i;
/** Matches codes and words that mean success, such as 0, 200, 20000000 (Alibaba) or NO_ERROR. */
const SUCCESS_VALUE =
	/^(?:0*|2\d\d|[12]0{4,}|ok|succe(?:ss|ed)\w*|none|null|false|n\/a|no[ _]?error|normal)$/i;
/** Matches a time, and reasons that only repeat an HTTP status. Any other reason in the same answer is better. */
const VAGUE_REASON =
	/^(?:bad request|request failed|unauthorized|payment required|forbidden|not found|too many requests|unprocessable entity|internal server error|service unavailable|\d{4}-\d\d-\d\d[t ][\d:.+-]+z?)$/i;
/** Matches sentences that only say that something has failed. Any other sentence in the same answer is better. */
const VAGUE_SENTENCE = /^(?:(?:\w+ ){1,3}failed|failed to(?: \w+){1,3})[.!]?$/i;

/**
 * Returns the reason in an error answer, for the user: the clearest sentence, or else the first word of a program.
 * Returns undefined if there is none. `isThrottled` is true if the answer refuses for rate, load or quota.
 */
export function readReason(value: unknown, isThrottled = false): string | undefined {
	// The status and the type of a record are words for programs, but a status is better than nothing. The description of
	// what has an id is about its content.
	const relevant = isRecord(value)
		? [
				{ ...value, status: undefined, type: undefined },
				value.status,
				(value.id ?? value.task_id) === undefined ? value.description : undefined,
			]
		: value;
	const texts = errorTextsIn(relevant).filter(
		(text) => !EMPTY_REASON.test(text) && !SUCCESS_VALUE.test(text),
	);
	const clearTexts = texts.filter((text) => !VAGUE_REASON.test(text));
	const sentences = clearTexts.filter((text) => /[\s\P{ASCII}]/u.test(text));
	// The throttle learns from the reason whether the number of simultaneous tasks is limited.
	const clearSentence =
		(isThrottled ? sentences.find(mentionsConcurrency) : undefined) ??
		sentences.find((text) => !VAGUE_SENTENCE.test(text));
	return plainText(clearSentence ?? sentences[0] ?? clearTexts[0] ?? texts[0]);
}

/** Returns a text for the user, without HTML tags and control characters; undefined if nothing remains. */
function plainText(text = ''): string | undefined {
	const cleaned = truncate(text, 4000).replace(/<[/!]?[a-z][^<>]*>/gi, ' ');
	return asText(truncate(cleaned.replace(/[\s\p{Cc}]+/gu, ' '), MAX_REASON_CHARS));
}

/** Matches the names of ids in an error field that are there without an error, too. */
const LOG_ID_FIELD = /^(?:request|log|trace)_?id$/i;

/** True if the value of an error field means that there is no error, such as null or `{ code: 0, message: "" }`. */
export function isEmptyError(value: unknown): boolean {
	if (typeof value !== 'object' || value === null)
		return !value || SUCCESS_VALUE.test(String(value).trim());
	return Object.entries(value).every(
		([key, field]) => LOG_ID_FIELD.test(key) || isEmptyError(field),
	);
}

/** Returns a record with its keys in lower case, because some deployments write `Code` and `Message`. */
const withLowerCaseKeys = (record: ServiceRecord): ServiceRecord =>
	Object.fromEntries(Object.entries(record).map(([key, field]) => [key.toLowerCase(), field]));

/**
 * Returns the HTTP status from 400 to 599 that an answer has in its `code`; undefined if it has none. Beside a message,
 * a code of 5 or 6 digits may begin with a usual one, such as 40101.
 */
function statusInCode(value: unknown): number | undefined {
	const { code, message, msg } = isRecord(value) ? withLowerCaseKeys(value) : {};
	const hasMessage = (message ?? msg) !== undefined;
	const pattern = hasMessage ? /^(?:[45]\d\d$|(?:4[0-2]\d|50\d)(?=\d{2,3}$))/ : /^[45]\d\d$/;
	const [status] = pattern.exec(asText(code) ?? '') ?? [];
	return status === undefined ? undefined : Number(status);
}

/** Matches the names of fields that contain an error, if they are not empty, such as `errors`, `ErrCode` or `base_resp`. */
const ERROR_FIELD = /^(?:errors?|err(?:or)?_?code|base_resp)$/i;

/**
 * True if an answer reports an error itself: by `error` or another field for it, `success: false`, `ok: false`, or a
 * `code` such as 401 or -1. Other codes and words prove nothing, because they may be about a task that has begun.
 */
export function reportsError(value: unknown): boolean {
	if (!isRecord(value)) return false;
	const { code, success, ok } = withLowerCaseKeys(value);
	const hasError = Object.entries(value).some(
		([key, field]) => ERROR_FIELD.test(key) && !isEmptyError(field),
	);
	const hasCode = (asNumber(code) ?? 0) < 0 || statusInCode(value) !== undefined;
	return hasError || hasCode || success === false || ok === false;
}

/** True if a task or a generation has failed because the service was overloaded. */
export const isOverload = (error: unknown): boolean =>
	isFailure(error, 'taskFailed', 'generationFailed') &&
	(error.facts.meaning ?? meaningOf(error.facts.reason)) === 'throttled';

/** A longer wait in Retry-After is cut to this many ms. */
const MAX_RETRY_AFTER_MS = 86_400_000;

/**
 * Returns the wait that the Retry-After header asks for, in ms; undefined if the header is missing or malformed. If the
 * header contains a date, the Date header of the same answer is taken as the current time, because our clock may differ
 * from the service's.
 */
export function readRetryAfter(headers: Record<string, string | undefined>): number | undefined {
	const text = asText(headers['retry-after']);
	if (text === undefined) return undefined;
	const seconds = Number(text);
	const now = Date.parse(headers.date ?? '') || Date.now();
	const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(text) - now;
	return Number.isFinite(ms) ? Math.min(MAX_RETRY_AFTER_MS, Math.max(0, ms)) : undefined;
}

/** Returns the reason in the body of an error answer; undefined for a web page, or if there is no reason. */
export function readErrorText(body: string): string | undefined {
	const json = parseJson(body);
	return readReason(json === undefined && !looksLikeHtml(body) ? body : json);
}

/** The kind of Failure for a refusal, by its meaning. A refusal with any other meaning is of kind `rejected`. */
const REFUSAL_KINDS: Partial<Record<ErrorMeaning, FailureKind>> = {
	throttled: 'throttled',
	quota: 'throttled',
	credit: 'outOfCredit',
	token: 'tokenRefused',
	voice: 'invalidVoice',
};

/**
 * Returns the Failure of an answer that refuses a request or reports a failure.
 *
 * @param answer its parsed JSON or its text; the token must have been removed before
 * @param status its HTTP status, if it has one
 */
export function failureOfAnswer(answer: unknown, status?: number): Failure {
	// The reason may stand only in a description.
	const meaning = meaningOf([answer, readReason(answer)], status);
	const kind = (meaning && REFUSAL_KINDS[meaning]) ?? 'rejected';
	const isThrottled = kind === 'throttled';
	const reason = readReason(answer, isThrottled);
	return new Failure(kind, { meaning, status, reason, transient: isThrottled || undefined });
}

/** Finds a sign that a task or a generation has begun: an id, a place in a queue, or a success. */
const SIGN_OF_START =
	/"(?:(?:(?:task|job|generation|video|image|operation)_?|uu)?ids?|queue_?position)":(?!null|""|\[\])|"(?:ok|success)":true/i;

/** Returns the status of an answer, an event or an entry; of a text, the text itself. */
export const statusOf = (answer: unknown): unknown =>
	isRecord(answer) ? (answer.status ?? answer.state ?? answer.task_status) : answer;

/** True if something in an answer shows that a task or a generation has begun. */
const showsStart = (answer: unknown): boolean =>
	(isRecord(answer) && statusKind(statusOf(answer)) === 'inProgress') ||
	SIGN_OF_START.test(JSON.stringify(answer));

/** True if an answer refuses for rate, load or quota, and nothing in it shows that something has begun. */
export const isThrottledAnswer = (answer: unknown): boolean =>
	['throttled', 'quota'].includes(meaningOf(answer) ?? '') && !showsStart(answer);

/** True if an answer seems to refuse with words alone, and nothing in it shows that something has begun. */
export function refusesInWords(answer: unknown): boolean {
	const words = wordsBesideNoResult(answer);
	if (words === undefined || showsStart(answer)) return false;
	const kind = statusKind(words);
	return kind === 'failed' || kind === 'seemsFailed' || (!kind && meaningOf(words) !== undefined);
}

/** After an error with one of these meanings, usually no file will follow. */
const FINAL_MEANINGS = new Set<ErrorMeaning | undefined>(['credit', 'not_allowed', 'moderation']);
/** Statuses that refuse for rate, load or quota if the JSON of the answer says so. */
const OVERLOAD_STATUSES = [503, 529];

/** Finds a field with the reason of a failure, such as `raiMediaFilteredReasons`. */
const REASON_FIELD =
	/"\w{0,40}(?:filter|fail|block|reject|refus)\w{0,40}reasons?":\[?"(?!(?:none|null|n\/a|\w*unspecified)?")/i;

/** Finds the text of a field for an error, such as `error_message` or `failMsg`. It may also tell of a success. */
const ERROR_MESSAGE_FIELD =
	/"\w{0,40}(?:err|fail)\w{0,40}(?:msg|message)":"((?:[^"\\]|\\.){1,1000})/i;

/** True if a result without a file has a field that says why there will be none. */
export function statesFinalReason(result: unknown): boolean {
	if (statusKind(statusOf(result)) === 'inProgress') return false;
	const json = JSON.stringify(result) ?? '';
	return (
		REASON_FIELD.test(json) || FINAL_MEANINGS.has(meaningOf(ERROR_MESSAGE_FIELD.exec(json)?.[1]))
	);
}

/** True if an answer reports an error, or its status is one of the usual words for failure; also for such a word. */
export const isErrorAnswer = (answer: unknown): boolean =>
	reportsError(answer) || statusKind(statusOf(answer)) === 'failed';

/**
 * True if an event or an entry says that a generation has failed. An error beside a status that means “in progress” may
 * be that of an attempt which the service repeats.
 */
export const isFailedGeneration = (entry: unknown): boolean =>
	isErrorAnswer(entry) &&
	(FINAL_MEANINGS.has(meaningOf(entry)) || statusKind(statusOf(entry)) !== 'inProgress');

/** Returns the Failure of an error status or a redirect. `body` must not contain the token. */
export function failureOfStatus(status: number, body: string): Failure {
	const json = parseJson(body);
	const isHtml = looksLikeHtml(body);
	const reportedFailure = failureOfAnswer(json === undefined && !isHtml ? body : json, status);
	const { kind, facts } = reportedFailure;
	const transientFacts = { ...facts, transient: true };
	if (status < 400) return new Failure('redirected', facts);
	const rulesOutResult = FINAL_MEANINGS.has(facts.meaning);
	if (status >= 500) {
		const isThrottled = OVERLOAD_STATUSES.includes(status) && isThrottledAnswer(json);
		const isSurelyRefused = kind === 'throttled' ? isThrottled : rulesOutResult;
		return json !== undefined && isSurelyRefused
			? reportedFailure
			: new Failure('unavailable', transientFacts);
	}
	// A web page with 401 or 403, or a number of Cloudflare's, comes from a proxy in front of the service, and may pass.
	const isOfProxy = isHtml || /^\s*error code: \d+\s*$/i.test(body);
	if (status === 408 || (isOfProxy && (status === 401 || status === 403))) {
		return new Failure('unavailable', transientFacts);
	}
	if (rulesOutResult || kind !== 'rejected' || (status !== 404 && status !== 410))
		return reportedFailure;
	// A 404 whose body is neither empty nor JSON probably comes from a proxy, or from another web server.
	const isForeignServer = status === 404 && body.trim() !== '' && json === undefined;
	return isForeignServer
		? new Failure('foreignServer', transientFacts)
		: new Failure('notFound', facts);
}

/**
 * Returns the Failure of an answer that reports an error with a success status. A status in its `code` counts like an
 * HTTP status, and words such as “Bad Gateway” like a server error. The token must have been removed from `answer`
 * before.
 */
export function failureOfReport(answer: unknown): Failure {
	const status = statusInCode(answer);
	// The words of such an answer tell more than a 429: a 429 for load is found by its words, too.
	if (status !== undefined && status !== 429)
		return failureOfStatus(status, JSON.stringify(answer));
	const failure = failureOfAnswer(answer);
	const { facts } = failure;
	return facts.meaning === 'unavailable'
		? new Failure('unavailable', { ...facts, transient: true })
		: failure;
}

/** Returns the words of an answer that has no result and reports no error. A status is no reason. */
export function wordsBesideNoResult(answer: unknown): string | undefined {
	if (Array.isArray(answer)) return undefined;
	const words = readReason(isRecord(answer) ? { ...answer, status: undefined } : answer);
	// A single word may be a status, or a mark such as [DONE].
	const isSentence = /[\s\P{ASCII}]/u.test(words ?? '');
	return isSentence || (isRecord(answer) && statusKind(words) !== 'inProgress') ? words : undefined;
}

/** Returns what `read` finds in a successful answer. Throws a Failure, without the token, if that is nothing. */
export function parseResponseBody<T>(
	body: string,
	redact: Redactor,
	read: (raw: unknown) => T | undefined,
): T {
	const raw = parseJson(body);
	const result = read(raw);
	if (result !== undefined) return result;
	if (!isErrorAnswer(raw)) {
		const reason = wordsBesideNoResult(redact.value(raw));
		throw new Failure('foreignServer', { transient: true, reason });
	}
	const { kind, facts } = failureOfReport(redact.value(raw));
	const { reason = 'no reason given' } = facts;
	// If the answer has an id, a task may exist, so it is unknown whether the call was accepted.
	const mayHaveStarted = kind === 'throttled' && !isThrottledAnswer(raw);
	throw new Failure(mayHaveStarted ? 'unavailable' : kind, { ...facts, reason });
}
