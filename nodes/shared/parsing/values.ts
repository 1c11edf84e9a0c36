import type { ServiceRecord } from '../contract';
import { MAX_ID_CHARS, MAX_JSON_DEPTH } from '../limits';

/* Reads single values of an answer, and accepts the types that different deployments of the service use for them. */

/** True for an object that is neither an array nor null. */
export const isRecord = (value: unknown): value is ServiceRecord =>
	typeof value === 'object' && value !== null && !Array.isArray(value);

/** Truncates a text to `maxLength` characters, “…” included. Redact it first, or part of the token may stay. */
export const truncate = (text: string, maxLength: number): string =>
	text.length <= maxLength
		? text
		: text.slice(0, maxLength - 1).replace(/[\ud800-\udbff]$/, '') + '…';

/** True if a text is empty or has only invisible characters, such as white space. */
export const isBlank = (text: string): boolean =>
	/^[\s\u2800\p{Cc}\p{Default_Ignorable_Code_Point}]*$/u.test(text);

/**
 * Returns a text without lone surrogates, and without control characters other than tabs and line breaks, because
 * parsers may refuse them.
 */
export const toWellFormed = (text: string): string =>
	text
		.replace(/\p{Surrogate}/gu, '\ufffd')
		.replace(/[\v\f\u0085]/g, '\n')
		.replace(/[^\P{Cc}\t\n\r]/gu, '');

/** A text that begins with this many letters of another one is probably that text, cut off. */
const MIN_CUT_OFF_LETTERS = 40;

/**
 * True if a service may show the text `sent` as `shown`: with other white space, punctuation or capitals, or shortened.
 */
export function isSameText(shown: string, sent: string): boolean {
	const [shownLetters, sentLetters] = [lettersOf(shown), lettersOf(sent)];
	const mayBeCutOff = /(?:…|\.\.\.)$/.test(shown) || shownLetters.length >= MIN_CUT_OFF_LETTERS;
	return mayBeCutOff ? sentLetters.startsWith(shownLetters) : shownLetters === sentLetters;
}

/** Returns the letters, digits and symbols of a text, in lower case. */
const lettersOf = (text: string) =>
	text
		.normalize('NFC')
		.toLowerCase()
		.replace(/[^\p{L}\p{M}\p{N}\p{S}]+/gu, '');

/** Returns a trimmed string, or a number as a string; undefined for a blank string or any other value. */
export function asText(value: unknown): string | undefined {
	if (typeof value === 'number' && Number.isFinite(value)) return String(value);
	return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
}

/** Returns an id as a string; undefined if it is empty, too long, or cannot be part of a URL. */
export function asId(value: unknown): string | undefined {
	const text = asText(value);
	const isUnusable =
		text === undefined || text.length > MAX_ID_CHARS || /\p{Surrogate}/u.test(text);
	return isUnusable ? undefined : text;
}

/** Returns a finite number, or the number in a string; undefined for anything else. */
export function asNumber(value: unknown): number | undefined {
	const text = asText(value);
	const number = text === undefined ? NaN : Number(text);
	return Number.isFinite(number) ? number : undefined;
}

/** Matches a time in ISO 8601 that has no zone. */
const TIME_WITHOUT_ZONE = /\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?$/;

/** True if `value` is a time without a zone. It may be the local time of anywhere. */
export const hasNoZone = (value: unknown): boolean => TIME_WITHOUT_ZONE.test(asText(value) ?? '');

/** Returns a time in ms since 1970, from a number of s or ms, or a text (UTC without a zone); NaN if it is no time. */
export function asTime(value: unknown): number {
	const text = asText(value) ?? '';
	if (!/^\d{9,13}(?:\.\d+)?$/.test(text)) {
		return Date.parse(text.replace(TIME_WITHOUT_ZONE, '$&Z'));
	}
	const number = Number(text);
	return number < 1e11 ? number * 1000 : number;
}

/** Returns an http(s) URL, resolved against `base` if that is given; undefined for any other text or scheme. */
export function asWebUrl(text: string, base?: string): URL | undefined {
	const url = URL.canParse(text, base) ? new URL(text, base) : undefined;
	return url && /^https?:$/.test(url.protocol) ? url : undefined;
}

/** Returns progress (§6.2) in percent, as a whole number from 0 to 100; undefined if `value` is no number. */
export function asPercentage(value: unknown): number | undefined {
	const number = asNumber(asText(value)?.replace(/%$/, ''));
	// The number is rounded down, because 100 % means that the task has ended.
	return number === undefined ? undefined : Math.floor(Math.min(100, Math.max(0, number)));
}

/** Finds ids in JSON that may be too large to keep all digits as a number. */
const LARGE_ID = /("\w{0,40}id"\s{0,3}:\s{0,3})(\d{16,})(?=\s{0,3}[,}])/gi;

/** Parses JSON, with large ids as strings. Returns undefined for a text that is no JSON, or is nested too deeply. */
export function parseJson(text: string): unknown {
	try {
		const value: unknown = JSON.parse(text.replace(/^\uFEFF/, '').replace(LARGE_ID, '$1"$2"'));
		return isDeeperThan(value, MAX_JSON_DEPTH) ? undefined : value;
	} catch {
		return undefined;
	}
}

/** True if a value is nested deeper than `levels`. */
function isDeeperThan(value: unknown, levels: number): boolean {
	if (typeof value !== 'object' || value === null) return false;
	return levels === 0 || Object.values(value).some((entry) => isDeeperThan(entry, levels - 1));
}

/** True if a text begins like a web page or XML, such as the error page of a proxy. */
export const looksLikeHtml = (text: string): boolean =>
	/^\s*<(?:!--|\?|(?:!doctype|html|head|body|h[1-6]|div|center|p|title|script)\b)/i.test(text);

/** Returns a URL without its query and fragment. */
export const withoutQuery = (url: string): string => url.split(/[?#]/, 1)[0]!;
