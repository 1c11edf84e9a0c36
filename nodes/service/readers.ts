import type { GeneratedFile, ServiceRecord, SpeechTask, TaskState } from './contract';
import {
	MAX_ADDRESS_CHARS,
	MAX_ID_CHARS,
	MAX_JSON_LEVELS,
	MAX_MESSAGE_CHARS,
	MAX_REASON_CHARS,
	MAX_WORD_CHARS,
} from './limits';

/** Tolerant readers: raw answer → task, files, pages. Pure; field notes name each variation. */

export const isRecord = (value: unknown): value is ServiceRecord =>
	typeof value === 'object' && value !== null && !Array.isArray(value);

/** The first `length` characters of a text; a character of two code units is not cut in two. */
export const clip = (text: string, length: number): string =>
	text.length <= length ? text : text.slice(0, length).replace(/[\ud800-\udbff]$/, '');

/** A non-empty string or a number as string, else undefined. */
export function asText(value: unknown): string | undefined {
	if (typeof value === 'number' && Number.isFinite(value)) return String(value);
	return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
}

/**
 * An identifier, always a string, since they are compared as such; undefined for what can't be one:
 * it has to stand in the path of a request.
 */
export function asId(value: unknown): string | undefined {
	const text = asText(value);
	return text === undefined || text.length > MAX_ID_CHARS || LONE_SURROGATE.test(text)
		? undefined
		: text;
}

const LONE_SURROGATE = /\p{Surrogate}/u;

/** A number, or the number a string holds, else undefined. */
export function asNumber(value: unknown): number | undefined {
	const text = asText(value);
	const number = text === undefined ? NaN : Number(text);
	return Number.isFinite(number) ? number : undefined;
}

/** §6.2: progress as a whole number from 0 to 100. */
export function asPercentage(value: unknown): number | undefined {
	const number = asNumber(value);
	// Rounded down: only 100 itself announces the outcome.
	return number === undefined ? undefined : Math.floor(Math.min(100, Math.max(0, number)));
}

/** JSON text → value; undefined when it is none, or one of more levels than any answer has. */
export function parseJson(text: string): unknown {
	try {
		const value: unknown = JSON.parse(text.replace(/^\uFEFF/, ''));
		return isDeeper(value, MAX_JSON_LEVELS) ? undefined : value;
	} catch {
		return undefined;
	}
}

/** JSON.parse takes any number of levels; what goes through them by recursion does not. */
function isDeeper(value: unknown, levels: number): boolean {
	if (typeof value !== 'object' || value === null) return false;
	return levels === 0 || Object.values(value).some((entry) => isDeeper(entry, levels - 1));
}

/** True when a body is a web page (an edge's error page, a login page) and not an API's answer. */
export function looksLikeHtml(text: string): boolean {
	return /^\s*<(?:!doctype|html|head|body|\?xml|!--|h[1-6]|div|center|p|title|script)\b/i.test(
		text.slice(0, 1000).replace(/^\s*<(?:!--|\?)/, '<html '),
	);
}

const ADDRESS_KEYS = ['file_url', 'audio_url', 'result', 'url', 'download_url', 'href', 'address'];

/**
 * The file address in a field's value: a string, or an object or array that holds one; a relative
 * path is resolved against `baseUrl`. Undefined when there is none.
 */
export function readFileUrl(value: unknown, baseUrl: string): string | undefined {
	if (Array.isArray(value)) {
		return value.map((entry) => readFileUrl(entry, baseUrl)).find((url) => url !== undefined);
	}
	if (isRecord(value)) {
		return readFileUrl(
			ADDRESS_KEYS.map((key) => value[key]).filter((entry) => entry !== undefined),
			baseUrl,
		);
	}
	const text = asText(value);
	if (text === undefined || typeof value === 'number') return undefined;
	if (text.length > MAX_ADDRESS_CHARS) return undefined;
	// A word or a sentence would also resolve, to a path that is none.
	const isAddress =
		/^(?:https?:\/\/|\/\S)/i.test(text) || (!/\s/.test(text) && /\/.|\.\w{2,5}$/.test(text));
	if (!isAddress || /^n\/a$/i.test(text) || !URL.canParse(text, `${baseUrl}/`)) return undefined;
	const url = new URL(text, `${baseUrl}/`);
	const isWeb = url.protocol === 'https:' || url.protocol === 'http:';
	return isWeb && url.href.length <= MAX_ADDRESS_CHARS ? url.href : undefined;
}

const STATES = new Map<string, TaskState>([
	['pending', 'pending'],
	['processing', 'processing'],
	['completed', 'completed'],
	['error', 'error'],
	['failed', 'error'],
	['cancelled', 'error'],
	['canceled', 'error'],
]);

/** A text that says why, from `error`, `message` or `detail`, however nested; else undefined. */
export function readReason(value: unknown, depth = 0): string | undefined {
	const text = asText(value);
	if (text !== undefined) return plainText(text);
	if (depth > 4) return undefined;
	if (Array.isArray(value)) {
		const reasons = value.map((entry) => readReason(entry, depth + 1)).filter(Boolean);
		return plainText(reasons.slice(0, 3).join('; '));
	}
	if (!isRecord(value)) return undefined;
	const reasons = REASON_KEYS.map((key) => readReason(value[key], depth + 1)).filter(
		(reason) => reason !== undefined && reason !== 'true',
	);
	return reasons.find((reason) => !SAYS_LITTLE.test(reason!)) ?? reasons[0];
}

const REASON_KEYS = [
	'error',
	'message',
	'detail',
	'details',
	'errors',
	'msg',
	'reason',
	'title',
	'code',
];

/** What stands beside a message that says more: a status, or its name. */
const SAYS_LITTLE =
	/^(?:\d+|error|failed|bad request|unauthorized|payment required|forbidden|not found|unprocessable entity|internal server error)$/i;

/** Text without mark-up and control characters, of bearable length; undefined when nothing is left. */
export function plainText(text: string): string | undefined {
	let plain = text.slice(0, 4000);
	// A tag within another leaves a new one behind.
	for (let before = ''; before !== plain;) {
		before = plain;
		plain = plain.replace(/<[/!]?[a-z][^<>]*>/gi, ' ');
	}
	return asText(clip(plain.replace(/[\s\p{Cc}]+/gu, ' ').trim(), MAX_REASON_CHARS));
}

const unwrap = (raw: unknown, key: string): unknown => {
	if (!isRecord(raw)) return raw;
	const inner = raw.data ?? raw.task;
	return isRecord(inner) && (raw[key] === undefined || inner[key] !== undefined) ? inner : raw;
};

/** §4.1: the identifier of a created task, always a string; undefined when the answer has none. */
export function readCreatedTaskId(raw: unknown): string | undefined {
	const record = unwrap(raw, 'task_id');
	return isRecord(record) ? (asId(record.task_id) ?? asId(record.id)) : undefined;
}

/** §4.2: a speech task; undefined when the answer is none. */
export function readSpeechTask(raw: unknown, baseUrl: string): SpeechTask | undefined {
	const record = unwrap(raw, 'status');
	if (!isRecord(record)) return undefined;
	const audioUrl = ['audio_url', 'result', 'file_url', 'url']
		.map((key) => readFileUrl(record[key], baseUrl))
		.find((url) => url !== undefined);
	// An address is proof enough where a deployment leaves the status out.
	const isDone = audioUrl !== undefined && !record.error;
	const word = asText(record.status) ?? (isDone ? 'completed' : undefined);
	if (word === undefined) return undefined;
	const status = clip(word.toLowerCase(), MAX_WORD_CHARS);
	const state = STATES.get(status) ?? 'processing';
	return {
		state,
		status: STATES.get(status) ?? status,
		audioUrl,
		percentage: asPercentage(record.process_percentage),
		message: state === 'error' ? readReason(record) : undefined,
		fields: record,
	};
}

/** §6.2: one notification; undefined for anything else that comes over the socket. */
export function readNotification(
	text: string,
): { taskId: string; percentage: number | undefined } | undefined {
	const raw = text.length > MAX_MESSAGE_CHARS ? undefined : parseJson(text);
	if (!isRecord(raw) || raw.type !== 'labs_status_updated' || !isRecord(raw.payload)) {
		return undefined;
	}
	const taskId = asId(raw.payload.task_id) ?? asId(raw.payload.id);
	if (taskId === undefined) return undefined;
	return { taskId, percentage: asPercentage(raw.payload.process_percentage) };
}

/**
 * The generated files in the data of a completion event, a JSON answer or a history item (§2.3):
 * one element per file address, so that `file_urls` of several are never lost. A relative address
 * is resolved against `baseUrl`.
 */
export function readGeneratedFiles(raw: unknown, baseUrl: string): GeneratedFile[] {
	if (Array.isArray(raw)) return raw.flatMap((entry) => readGeneratedFiles(entry, baseUrl));
	if (typeof raw === 'string') {
		const fileUrl = /^(?:https?:)?\/\//.test(raw) ? readFileUrl(raw, baseUrl) : undefined;
		return fileUrl === undefined ? [] : [{ fileUrl, fields: {} }];
	}
	if (!isRecord(raw)) return [];
	const id = asId(raw.id) ?? asId(raw.task_id);
	const many = Array.isArray(raw.file_urls) ? raw.file_urls : [raw.file_urls];
	const urlsOf = (values: unknown[]) =>
		values.map((value) => readFileUrl(value, baseUrl)).filter((url) => url !== undefined);
	const named = urlsOf([raw.file_url, ...many]);
	const own = named.length > 0 ? named : urlsOf([raw.url, raw.result]).slice(0, 1);
	if (own.length > 0) {
		return [...new Set(own)].map((fileUrl) => ({ id, fileUrl, fields: raw }));
	}
	for (const key of ['data', 'items', 'videos', 'images', 'files', 'results']) {
		const inner = readGeneratedFiles(raw[key], baseUrl);
		if (inner.length > 0) return inner;
	}
	return [];
}

export interface Page {
	items: ServiceRecord[];
	/** Number of all items, when the service tells. */
	total?: number;
	/** Items a page holds, when the service tells. */
	pageSize?: number;
	/** A bare array tells nothing about further pages. */
	bare: boolean;
}

/**
 * One page of a list (§4.4, §4.9): a bare array, or an object that holds one under `voices`, `data`
 * or `items`. Undefined when the answer is no list.
 */
export function readPage(raw: unknown): Page | undefined {
	if (Array.isArray(raw)) return { items: raw.filter(isRecord), bare: true };
	if (!isRecord(raw)) return undefined;
	for (const key of ['voices', 'data', 'items', 'histories', 'results']) {
		const value = raw[key];
		if (Array.isArray(value)) {
			return {
				items: value.filter(isRecord),
				total: asNumber(raw.total),
				pageSize: asNumber(raw.page_size),
				bare: false,
			};
		}
		if (isRecord(value)) {
			const inner = readPage(value);
			if (inner) return inner;
		}
	}
	return undefined;
}
