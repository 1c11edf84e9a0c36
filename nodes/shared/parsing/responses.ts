import {
	GENERATED_KINDS,
	MEDIA,
	TASK_MESSAGE_TYPE,
	type GeneratedFile,
	type MediaKind,
	type ServiceRecord,
	type SpeechTask,
} from '../contract';
import { MAX_URL_CHARS, MAX_REASON_CHARS } from '../limits';
import {
	isEmptyError,
	isErrorAnswer,
	isFailedGeneration,
	readReason,
	reportsError,
	statusOf,
} from './errors';
import { kindInType, topLevelType } from './fileType';
import type { Redactor } from './redaction';
import { statusKind } from './statusKind';
import {
	asId,
	asNumber,
	asPercentage,
	asText,
	asWebUrl,
	truncate,
	isRecord,
	parseJson,
	withoutQuery,
} from './values';

/* Reads tasks, files and pages, in the variants of many deployments (docs/contract.md, part 2). */

/** The parts of the credential that the readers need. */
export interface ReaderContext {
	/** The URL that relative URLs are resolved against. */
	baseUrl: string;
	/** Removes the token from texts for the user. */
	redact: Redactor;
}

/** The keys under which an object may have a URL, the most certain first. */
const URL_KEYS = ['file_url', 'audio_url', 'result', 'url', 'audio', 'href', 'path', 'data'];

/** True for a `data:` URL in base64, which contains a whole file. */
export const isInlineFile = (value: unknown): boolean =>
	typeof value === 'string' && /^\s*data:[^,]{0,100};base64,/i.test(value);

/** Returns the URL of a file in a value, made absolute with `baseUrl`; undefined if there is none. */
export function readFileUrl(value: unknown, baseUrl: string): string | undefined {
	if (typeof value === 'object' && value !== null) {
		const inner = isRecord(value) ? URL_KEYS.map((key) => value[key]) : Object.values(value);
		return inner.map((entry) => readFileUrl(entry, baseUrl)).find((url) => url !== undefined);
	}
	const text = typeof value === 'string' ? value.trim() : '';
	if (isInlineFile(text)) return text.replace(/^data:/i, 'data:');
	if (text.length > MAX_URL_CHARS) return undefined;
	// Any word could be resolved as a relative URL, so the text must look like a URL.
	if (!/^(?:https?:\/)?\/\S|^\S+\.\w{2,5}(?:\?\S*)?$/i.test(text)) return undefined;
	return asWebUrl(text, `${baseUrl}/`)?.href;
}

/** Returns the id of a record: its `id`, or else its `task_id`; undefined if there is none. */
export const idOf = (value: unknown): string | undefined =>
	isRecord(value) ? (asId(value.id) ?? asId(value.task_id)) : undefined;

/** How a speech task has ended, or seems to have ended, by the kind of its status. */
const ENDS = {
	completed: 'completed',
	failed: 'error',
	seemsFailed: 'error',
	inProgress: undefined,
} as const;

/** Returns the innermost record (in `data`, `task` or a list of one) with one of the fields, else the innermost. */
const unwrap = (raw: unknown, ...fields: string[]): unknown => {
	const record: unknown = Array.isArray(raw) && raw.length === 1 ? raw[0] : raw;
	if (!isRecord(record)) return record;
	const inner = unwrap(record.data ?? record.task, ...fields);
	const hasField = (each: ServiceRecord) => fields.some((field) => each[field] !== undefined);
	return isRecord(inner) && (!hasField(record) || hasField(inner)) ? inner : record;
};

/** Returns the id of a created task (§4.1); undefined if the answer has none. */
export function readCreatedTaskId(raw: unknown): string | undefined {
	const record = unwrap(raw, 'task_id');
	if (!isRecord(record)) return undefined;
	// In an error answer, `id` is probably the id of the request or of the error, not of a task.
	const isError = reportsError(raw) || reportsError(record);
	return asId(record.task_id) ?? (isError ? undefined : asId(record.id));
}

/** Reads a speech task (§4.2); undefined if the answer is none. */
export function readSpeechTask(
	raw: unknown,
	{ baseUrl, redact }: ReaderContext,
): SpeechTask | undefined {
	const record = unwrap(raw, 'status', 'state');
	if (!isRecord(record)) return undefined;
	const firstUrlIn = (...keys: string[]) =>
		keys.map((key) => readFileUrl(record[key], baseUrl)).find(Boolean);
	const audioUrl = firstUrlIn('audio_url', 'result', 'file_url', 'url');
	const rawStatus = asText(record.status ?? record.state);
	if (rawStatus === undefined) return undefined;
	const statusWord = truncate(redact.text(rawStatus.toLowerCase()), MAX_REASON_CHARS);
	const kind = statusKind(statusWord);
	// An unknown word decides nothing, but what comes with it may.
	const apparentEnd = !isEmptyError(record.error) ? 'error' : audioUrl ? 'completed' : undefined;
	const end = kind ? ENDS[kind] : apparentEnd;
	return {
		end,
		isEndCertain: kind === 'failed' || kind === 'completed',
		status: kind === 'failed' ? 'error' : statusWord,
		audioUrl,
		subtitleUrl: firstUrlIn('subtitle', 'subtitle_url'),
		percentage: asPercentage(record.process_percentage),
		reason: end === 'error' ? readReason(redact.value(record)) : undefined,
		raw: record,
	};
}

/** Reads a message about a speech task (§6.2); undefined for any other message. */
export function readNotification(
	text: string,
): { taskId: string; percentage: number | undefined } | undefined {
	const raw = parseJson(text);
	if (!isRecord(raw) || raw.type !== TASK_MESSAGE_TYPE || !isRecord(raw.payload)) return undefined;
	const taskId = asId(raw.payload.task_id) ?? asId(raw.payload.id);
	if (taskId === undefined) return undefined;
	return { taskId, percentage: asPercentage(raw.payload.process_percentage) };
}

/**
 * Returns the fields of a record that may contain the files of a generation. If its kind is known, lists of another kind
 * are left out: the `images` of a video are those of its request.
 */
const fileListKeys = (kind?: MediaKind) => [
	'data',
	...(kind ? [kind] : GENERATED_KINDS).map((one) => MEDIA[one].plural),
	'files',
	'items',
];

/** True for a status word that seems to mean “in progress”, and for an entry with such a word that has not failed. */
export const isInProgress = (entry: unknown): boolean =>
	!isFailedGeneration(entry) && statusKind(statusOf(entry)) === 'inProgress';

/**
 * Returns the entries that have a file, have failed or are in progress, of an array or of a record's first list of
 * files; none if it contains no such list. Any other entry says nothing that the record itself does not say.
 */
export function listedEntries(raw: unknown, baseUrl: string, kind: MediaKind): unknown[] {
	const record = isRecord(raw) ? raw : {};
	const lists = [raw, ...fileListKeys(kind).map((key) => record[key])];
	const list = lists.find((value) => Array.isArray(value)) ?? [];
	const hasFile = (entry: unknown) => readGeneratedFiles(entry, baseUrl, kind).length > 0;
	return list.filter((entry) => hasFile(entry) || isFailedGeneration(entry) || isInProgress(entry));
}

/** Reads the generated files (§2.3) in an event, an answer or a history entry. `kind`: their media kind, if known. */
export function readGeneratedFiles(
	raw: unknown,
	baseUrl: string,
	kind: MediaKind | undefined = kindInType(raw),
): GeneratedFile[] {
	if (Array.isArray(raw)) return raw.flatMap((entry) => readGeneratedFiles(entry, baseUrl, kind));
	if (typeof raw === 'string') {
		const isUrl = /^(?:data:|(?:https?:)?\/\/)/i.test(raw);
		const fileUrl = isUrl ? readFileUrl(raw, baseUrl) : undefined;
		return fileUrl === undefined ? [] : [{ fileUrl, raw: {} }];
	}
	if (!isRecord(raw)) return [];
	const id = idOf(raw);
	const urlsOf = (values: unknown[]) =>
		values.map((value) => readFileUrl(value, baseUrl)).filter((url) => url !== undefined);
	const toFiles = (urls: string[]) => [...new Set(urls)].map((fileUrl) => ({ id, fileUrl, raw }));
	const urlsNamedAfter = (word: string) =>
		urlsOf(['_url', '_urls', 'Url', 'Urls'].flatMap((end) => raw[word + end]));
	const fileUrls = urlsNamedAfter('file');
	const urls = fileUrls.length > 0 ? fileUrls : urlsOf([raw.url, raw.result]).slice(0, 1);
	if (urls.length > 0) return toFiles(urls);
	for (const key of fileListKeys(kind)) {
		const inner = readGeneratedFiles(raw[key], baseUrl, kind);
		if (inner.length > 0) return inner;
	}
	// The word of another kind may name an input of the request, as `image_url` may for a video. Beside a list, that of
	// this kind may name only the first file.
	const words = kind ? [kind, topLevelType(MEDIA[kind].mimeType)] : [];
	return toFiles(words.map(urlsNamedAfter).find(({ length }) => length > 0) ?? []);
}

/**
 * Returns the URL without its query, which the service may sign anew, as an identifier of a file. Returns nothing if the
 * path does not end in a file extension, because one path may then serve all files.
 */
export const pathIdentifiersOf = (fileUrl: string): string[] =>
	[withoutQuery(fileUrl)].filter((url) => /\.\w+$/.test(url));

/** What identifies a file in the history: its id, URL and path, because the history may have other ids than the stream. */
export const identifiersOf = ({ id, fileUrl }: GeneratedFile): string[] =>
	[id, fileUrl, ...pathIdentifiersOf(fileUrl)].filter((identifier) => identifier !== undefined);

/** One page of a list. */
export interface Page {
	items: ServiceRecord[];
	/** The number of records on all pages, if the service tells it. */
	total?: number;
	/** The number of pages, if the service tells it. */
	pageCount?: number;
}

/** Returns the answer if it is a record and reports no failure; otherwise undefined. */
export const readSuccessRecord = (raw: unknown): ServiceRecord | undefined =>
	isRecord(raw) && !isErrorAnswer(raw) ? raw : undefined;

/** Returns the JSON text of an answer. Some services answer 204, which has no body, while a list is empty. */
export const jsonTextOf = (status: number, body: string): string => (status === 204 ? '[]' : body);

/** Reads one page of a list (§4.4, §4.9); undefined if the answer has none. */
export function readPage(raw: unknown): Page | undefined {
	const { voices, data, items, total, total_pages } = readSuccessRecord(raw) ?? {};
	const list = [raw, voices, data, items].find((value) => Array.isArray(value));
	if (!list) return undefined;
	return { items: list.filter(isRecord), total: asNumber(total), pageCount: asNumber(total_pages) };
}
