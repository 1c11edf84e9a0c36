import { Failure, isFailure, type FailureFacts } from '../failure';
import { MAX_REASON_CHARS } from '../limits';
import { asText, clip, isRecord, looksLikeHtml, parseJson } from './coerce';
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
	const told = REASONS_UNDER.map((key) => record[key]).filter((reason) => !saysNothing(reason));
	const reasons = told.map(within).filter((reason) => reason !== undefined);
	return reasons.find((reason) => !SAYS_LITTLE.test(reason)) ?? reasons[0];
}

/** Text without mark-up and control characters, not too long; undefined when nothing is left. */
function plainText(text = ''): string | undefined {
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

const oneOf = (...patterns: RegExp[]) =>
	new RegExp(patterns.map(({ source }) => source).join('|'), 'i');

/* What texts mean, their words apart by single spaces. Repetitions are bounded: long texts take long. */
const CREDIT = oneOf(
	/insufficient (?:\w{1,40} )?(?:credit|quota|balance|fund)/,
	/enough (?:\w{1,40} )?(?:credit|quota|balance)/,
	/out of (?:credit|quota)|no credits? left/,
	/(?:credit|quota|balance)s?\b[^.]{0,40}(?:exceeded|exhausted|used up|too low|not enough)/,
	/(?:exceed|exhaust)\w{0,10}[^.]{0,30}(?:credit|quota|balance)|payment required/,
);
const VOICE = oneOf(
	/voice[^.]{0,80}?(?:invalid|not (?:be )?found|unknown|not exist|missing|required)/,
	/(?:invalid|unknown|unsupported) voice/,
);
const TOKEN = oneOf(
	/(?:invalid|expired|missing|wrong|revoked) (?:(?:api|access|bearer) )?(?:token|key)/,
	/(?:token|api key)\b[^.]{0,30}(?:expired|invalid|revoked|not valid)|unauthori[sz]ed/,
);
const TOO_MUCH = oneOf(
	/too many (?:\w{1,20} ){0,2}(?:requests|tasks|jobs|generations|at once)|\b429\b/,
	/rate limit|overload|throttl|at capacity|queue (?:is )?full|high demand|\bbusy\b/,
	/(?:concurren\w{0,10}|simultaneous|parallel)[^.]{0,40} (?:limit|max|reached)/,
	/(?:limit|max)[^.]{0,40} (?:concurren|simultaneous|parallel)/,
);
const AT_ONCE = /concurren|simultaneous|parallel|at once|in progress/i;

/** With words of `machine_words`, `MachineWords` and `machine-words` apart. */
const wordsOf = (text = ''): string =>
	text.replace(/[\s_-]+/g, ' ').replace(/([a-z])([A-Z])/g, '$1 $2');

/** The longest wait that Retry-After can ask for, in ms: a day. */
const MAX_RETRY_AFTER_MS = 86_400_000;

/** True when a text says that too much is under way or asked for. */
export const saysTooMuch = (text?: string): boolean => TOO_MUCH.test(wordsOf(text));

/** True when a text says that too much is under way at once. */
export const saysAtOnce = (text?: string): boolean => AT_ONCE.test(wordsOf(text));

/** True where something was begun, and has failed because too much was under way. */
export const isOverload = (error: unknown): boolean =>
	isFailure(error, 'taskFailed', 'generationFailed') && saysTooMuch(error.facts.text);

/** Retry-After, seconds or a date by the clock of the answer, in ms from 0 to a day; undefined if senseless. */
export function readRetryAfter(headers: Record<string, string | undefined>): number | undefined {
	const text = asText(headers['retry-after']);
	if (text === undefined) return undefined;
	const seconds = Number(text);
	const now = Date.parse(headers.date ?? '') || Date.now();
	const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(text) - now;
	return Number.isFinite(ms) ? Math.min(MAX_RETRY_AFTER_MS, Math.max(0, ms)) : undefined;
}

/** True where the token itself is refused: 403 may also be about a plan, a voice or a captcha. */
export const meansToken = ({ kind, facts: { status, text = 'forbidden' } }: Failure): boolean =>
	kind === 'tokenRefused' &&
	(status !== 403 || SAYS_LITTLE.test(text) || TOKEN.test(wordsOf(text)));

/** The reason in an error body: from JSON, however nested, or plain text; undefined for a page. */
export function readErrorText(body: string): string | undefined {
	const json = parseJson(body);
	if (json !== undefined) return readReason(json);
	return looksLikeHtml(body) ? undefined : readReason(body);
}

/** The Failure that a text of the service means, whatever channel it came over. */
export function failureOfText(text: string | undefined, facts: FailureFacts = {}): Failure {
	const [words, withText] = [wordsOf(text), { ...facts, text }];
	if (CREDIT.test(words)) return new Failure('outOfCredit', withText);
	if (TOKEN.test(words)) return new Failure('tokenRefused', withText);
	if (VOICE.test(words)) return new Failure('invalidVoice', withText);
	return new Failure('rejected', withText);
}

/**
 * True for an error, `text` its reason, that says in words or as 429 that too much is under way. With an
 * id, anywhere, something may have been begun that was too much.
 */
export function saysRefused(error: unknown, text: string | undefined): boolean {
	const json = JSON.stringify(error);
	if (/"(?:task_?)?id":(?!null|"")/i.test(json)) return false;
	const isTooMuch = saysTooMuch(text) || /"(?:code|status)":"?429\b/i.test(json);
	return isTooMuch && failureOfText(text).kind === 'rejected';
}

/** The Failure of an answer with an HTTP error status. `body`, which is cut here, has to be redacted. */
export function failureOfStatus(status: number, body: string): Failure {
	const text = readErrorText(body);
	const facts = { status, text };
	if (status >= 300 && status < 400) return new Failure('redirected', facts);
	if (status === 402) return new Failure('outOfCredit', facts);
	const passing = { ...facts, transient: true };
	if (status === 429 || (status < 500 && saysTooMuch(text))) {
		// A quota that is exceeded may be one of requests, which passes.
		const isOut = /insufficient|credit|balance/i.test(text ?? '') && CREDIT.test(wordsOf(text));
		return isOut ? new Failure('outOfCredit', facts) : new Failure('rateLimited', passing);
	}
	const isRefused = status === 401 || status === 403;
	// A web page with 401 or 403 comes from an edge in front of the service, and passes.
	if (status === 408 || (isRefused && looksLikeHtml(body))) {
		return new Failure('unavailable', passing);
	}
	const said = failureOfText(text, facts);
	if (said.kind === 'outOfCredit') return said;
	if (isRefused) return new Failure('tokenRefused', facts);
	if (status >= 500) return new Failure('unavailable', passing);
	if (said.kind !== 'rejected' || (status !== 404 && status !== 410)) return said;
	// What is no JSON comes from an ingress while the service is away, unless the address is wrong.
	const isPage = status === 404 && body.trim() !== '' && parseJson(body) === undefined;
	return isPage ? new Failure('notTheService', passing) : new Failure('notFound', facts);
}

/**
 * What `read` finds in the JSON of an answer with a success status. Throws the Failure that the answer
 * reports instead, or notTheService.
 */
export function readAnswer<T>(
	body: string,
	redact: Redactor,
	read: (raw: unknown) => T | undefined,
): T {
	const raw = parseJson(body);
	const found = read(raw);
	if (found !== undefined) return found;
	if (!isFailed(raw)) throw new Failure('notTheService', { transient: true });
	const text = readReason(redact.value(raw)) ?? 'no reason given';
	if (saysRefused(raw, text)) throw new Failure('rateLimited', { text, transient: true });
	throw failureOfText(text);
}
