import type { ServiceRecord } from '../contract';
import { MAX_ID_CHARS, MAX_JSON_LEVELS } from '../limits';

/** Reads single values of an answer tolerantly. Pure. */

export const isRecord = (value: unknown): value is ServiceRecord =>
	typeof value === 'object' && value !== null && !Array.isArray(value);

/** A text cut to `length` characters, "…" included. Redact it first: half a token would not be found. */
export const truncate = (text: string, length: number): string =>
	text.length <= length ? text : text.slice(0, length - 1).replace(/[\ud800-\udbff]$/, '') + '…';

/** Whether a text shows nothing: white space, control and zero-width characters, the blank of braille. */
export const isBlank = (text: string): boolean =>
	/^[\s\u2800\p{Cc}\p{Default_Ignorable_Code_Point}]*$/u.test(text);

/**
 * A text as any parser and database takes it: half a surrogate pair becomes U+FFFD, as in
 * `String.prototype.toWellFormed`, another program's line or page break becomes a line feed, and other
 * control characters are left out.
 */
export const wellFormed = (text: string): string =>
	text
		.replace(/\p{Surrogate}/gu, '\ufffd')
		.replace(/[\v\f\u0085]/g, '\n')
		.replace(/[^\P{Cc}\t\n\r]/gu, '');

/** A non-empty string, or a number as a string; else undefined. */
export function asText(value: unknown): string | undefined {
	if (typeof value === 'number' && Number.isFinite(value)) return String(value);
	return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
}

/** An identifier, always as a string; undefined for what can't be part of a request's path. */
export function asId(value: unknown): string | undefined {
	const text = asText(value);
	const isUnusable =
		text === undefined || text.length > MAX_ID_CHARS || /\p{Surrogate}/u.test(text);
	return isUnusable ? undefined : text;
}

/** A number, or the number a string holds, else undefined. */
export function asNumber(value: unknown): number | undefined {
	const text = asText(value);
	const number = text === undefined ? NaN : Number(text);
	return Number.isFinite(number) ? number : undefined;
}

/** A time in ms since 1970: of ISO 8601, in UTC if it names no zone, or of seconds or ms; else NaN. */
export function asTime(value: unknown): number {
	const text = asText(value) ?? '';
	if (!/^\d{9,13}(?:\.\d+)?$/.test(text)) {
		return Date.parse(text.replace(/\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?$/, '$&Z'));
	}
	const number = Number(text);
	return number < 1e11 ? number * 1000 : number;
}

/** A web address, resolved against `base` if given; undefined for any other, such as `file:`. */
export function asWebUrl(text: string, base?: string): URL | undefined {
	const url = URL.canParse(text, base) ? new URL(text, base) : undefined;
	return url && /^https?:$/.test(url.protocol) ? url : undefined;
}

/** §6.2: progress as a whole number from 0 to 100; a text may end with a percent sign. */
export function asPercentage(value: unknown): number | undefined {
	const number = asNumber(asText(value)?.replace(/%$/, ''));
	// Rounded down: only 100 itself announces the outcome.
	return number === undefined ? undefined : Math.floor(Math.min(100, Math.max(0, number)));
}

/** An id beyond 2^53, which would lose its last digits as a number. */
const LARGE_ID = /("(?:task_)?id"\s{0,3}:\s{0,3})(\d{16,})(?=\s{0,3}[,}])/g;

/** The value of a JSON text; undefined if it is no JSON, or nested too deeply. */
export function parseJson(text: string): unknown {
	try {
		const value: unknown = JSON.parse(text.replace(/^\uFEFF/, '').replace(LARGE_ID, '$1"$2"'));
		return isDeeper(value, MAX_JSON_LEVELS) ? undefined : value;
	} catch {
		return undefined;
	}
}

/** JSON.parse takes any number of levels; recursive readers don't. */
function isDeeper(value: unknown, levels: number): boolean {
	if (typeof value !== 'object' || value === null) return false;
	return levels === 0 || Object.values(value).some((entry) => isDeeper(entry, levels - 1));
}

/** True for a web page (an edge's error page, a login page) instead of an API's answer. */
export const looksLikeHtml = (text: string): boolean =>
	/^\s*<(?:!--|\?|(?:!doctype|html|head|body|h[1-6]|div|center|p|title|script)\b)/i.test(text);

/** An address without its query, which holds a signature that changes each time. */
export const withoutQuery = (address: string): string => address.split(/[?#]/, 1)[0]!;
