import {
	TASK_MESSAGE,
	type GeneratedFile,
	type ServiceRecord,
	type SpeechTask,
	type TaskState,
} from '../contract';
import { MAX_URL_CHARS, MAX_REASON_CHARS } from '../limits';
import { isFailed, isFailureWord, readReason, reportsError } from './errors';
import type { Redactor } from './redaction';
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

/*
 * Reads tasks, files and pages from the JSON of answers. The readers accept many variations of deployments (see
 * docs/contract.md, part 2).
 */

/** What readers need of the credential. */
export interface ReaderContext {
	/** The URL that relative URLs are resolved against. */
	baseUrl: string;
	/**
	 * Removes the token from texts for the user. It must run before they are truncated, or the start of the token could
	 * remain.
	 */
	redact: Redactor;
}

/** The keys under which an object may have a URL, the most certain first. */
const URL_KEYS = ['file_url', 'audio_url', 'result', 'url', 'audio', 'href', 'path', 'data'];

/**
 * The absolute URL of a file in a value, which may be nested; undefined if there is none. Relative URLs are resolved
 * against `baseUrl`. A `data:` URL holds the file itself, so MAX_URL_CHARS does not limit it.
 */
export function readFileUrl(value: unknown, baseUrl: string): string | undefined {
	if (typeof value === 'object' && value !== null) {
		const inner = isRecord(value) ? URL_KEYS.map((key) => value[key]) : Object.values(value);
		return inner.map((entry) => readFileUrl(entry, baseUrl)).find((url) => url !== undefined);
	}
	const text = typeof value === 'string' ? value.trim() : '';
	if (/^data:[^,]{1,100};base64,/.test(text)) return text;
	if (text.length > MAX_URL_CHARS) return undefined;
	// Any word could be resolved as a relative URL, so the text must look like a URL.
	if (!/^(?:https?:\/)?\/\S|^\S+\.\w{2,5}(?:\?\S*)?$/i.test(text)) return undefined;
	const url = asWebUrl(text, `${baseUrl}/`);
	return url && url.href.length <= MAX_URL_CHARS ? url.href : undefined;
}

/** The id of a record: its `id`, or else its `task_id`. Undefined if it has neither. */
export const idOf = (value: unknown): string | undefined =>
	isRecord(value) ? (asId(value.id) ?? asId(value.task_id)) : undefined;

/** The states of the contract (§3). */
const STATES: readonly TaskState[] = ['pending', 'processing', 'completed', 'error'];
/** Status words of deployments for a task in progress. */
const IN_PROGRESS_WORD =
	/ing$|queue|pending|active|progress|start|wait|submit|creat|schedul|accept/;
/** Status words of deployments for a task that has failed. */
const FAILURE_WORD =
	/abort|expire|reject|time_?d?_?out|moderat|block|refus|denied|terminat|kill|crash|invalid|fail|error|cancel/;

/**
 * The final state that an unknown status word of a task seems to mean. It is `error` if the record gives a reason for a
 * failure, and `completed` if it has an audio URL and the word does not mean failure. In any other case, and for a word
 * that means progress, it is undefined.
 */
function apparentEndOf(
	status: string,
	record: ServiceRecord,
	audioUrl?: string,
): SpeechTask['apparentEnd'] {
	if (IN_PROGRESS_WORD.test(status)) return undefined;
	const isFailureStatus = FAILURE_WORD.test(status);
	if (readReason(isFailureStatus ? record : record.error) !== undefined) return 'error';
	return audioUrl === undefined || isFailureStatus ? undefined : 'completed';
}

/**
 * Returns the record that an answer has under `data` or `task`. Returns the answer itself if it has no such record, or
 * if it has a field `key` and the record has none.
 */
const unwrap = (raw: unknown, key: string): unknown => {
	if (!isRecord(raw)) return raw;
	const inner = raw.data ?? raw.task;
	return isRecord(inner) && (raw[key] === undefined || inner[key] !== undefined) ? inner : raw;
};

/** The id of a created task (§4.1); undefined if the answer has none. */
export function readCreatedTaskId(raw: unknown): string | undefined {
	const record = unwrap(raw, 'task_id');
	if (!isRecord(record)) return undefined;
	// In an error answer, `id` is probably the id of the request or of the error, not of a task.
	const isErrorAnswer = reportsError(raw) || reportsError(record);
	return asId(record.task_id) ?? (isErrorAnswer ? undefined : asId(record.id));
}

/** Reads a speech task (§4.2); undefined if the answer is none. */
export function readSpeechTask(
	raw: unknown,
	{ baseUrl, redact }: ReaderContext,
): SpeechTask | undefined {
	const record = unwrap(raw, 'status');
	if (!isRecord(record)) return undefined;
	const urlUnder = (...keys: string[]) =>
		keys.map((key) => readFileUrl(record[key], baseUrl)).find(Boolean);
	const audioUrl = urlUnder('audio_url', 'result', 'file_url', 'url');
	const rawStatus = asText(record.status);
	if (rawStatus === undefined) return undefined;
	const statusWord = truncate(redact.text(rawStatus.toLowerCase()), MAX_REASON_CHARS);
	const status = isFailureWord(statusWord) ? 'error' : statusWord;
	const knownState = STATES.find((state) => state === status);
	const state = knownState ?? 'processing';
	const apparentEnd = knownState ? undefined : apparentEndOf(status, record, audioUrl);
	return {
		state,
		apparentEnd,
		status,
		audioUrl,
		subtitleUrl: urlUnder('subtitle', 'subtitle_url'),
		percentage: asPercentage(record.process_percentage),
		message: (apparentEnd ?? state) === 'error' ? readReason(redact.value(record)) : undefined,
		raw: record,
	};
}

/** Reads a message about a speech task (§6.2), with its progress in percent; undefined for any other message. */
export function readNotification(
	text: string,
): { taskId: string; percentage: number | undefined } | undefined {
	const raw = parseJson(text);
	if (!isRecord(raw) || raw.type !== TASK_MESSAGE || !isRecord(raw.payload)) return undefined;
	const taskId = asId(raw.payload.task_id) ?? asId(raw.payload.id);
	if (taskId === undefined) return undefined;
	return { taskId, percentage: asPercentage(raw.payload.process_percentage) };
}

/**
 * Reads the generated files in a completion event, a JSON answer or a history entry (§2.3), in the order in which they
 * are listed.
 */
export function readGeneratedFiles(raw: unknown, baseUrl: string): GeneratedFile[] {
	if (Array.isArray(raw)) return raw.flatMap((entry) => readGeneratedFiles(entry, baseUrl));
	if (typeof raw === 'string') {
		const fileUrl = /^(?:data:|(?:https?:)?\/\/)/.test(raw) ? readFileUrl(raw, baseUrl) : undefined;
		return fileUrl === undefined ? [] : [{ fileUrl, raw: {} }];
	}
	if (!isRecord(raw)) return [];
	const id = idOf(raw);
	const urlsOf = (values: unknown[]) =>
		values.map((value) => readFileUrl(value, baseUrl)).filter((url) => url !== undefined);
	const fileUrls = urlsOf([raw.file_url, raw.file_urls].flat());
	const urls = fileUrls.length > 0 ? fileUrls : urlsOf([raw.url, raw.result]).slice(0, 1);
	if (urls.length > 0) {
		return [...new Set(urls)].map((fileUrl) => ({ id, fileUrl, raw }));
	}
	for (const key of ['data', 'videos', 'images', 'files']) {
		const inner = readGeneratedFiles(raw[key], baseUrl);
		if (inner.length > 0) return inner;
	}
	return [];
}

/**
 * The ids and URLs of files, each once. They identify the files in the history. If the path of a URL ends in a file
 * extension, the URL without its query is an identifier, too: a history that lists no ids may sign the URL anew. Any
 * other URL counts only with its query, because different files may differ only there, as in /download?id=5.
 */
export const identifiersOf = (files: GeneratedFile[]): string[] => [
	...new Set(
		files.flatMap(({ id, fileUrl }) => {
			const unsigned = withoutQuery(fileUrl);
			const urls = /\.\w+$/.test(unsigned) ? [fileUrl, unsigned] : [fileUrl];
			return id === undefined ? urls : [id, ...urls];
		}),
	),
];

/**
 * Converts a record of the service for the node's output: ids become strings, the percentage a number. Those that
 * cannot be converted are omitted.
 */
export function toOutputRecord(record: ServiceRecord): ServiceRecord {
	const outputValue = (key: string, value: unknown) => {
		if (/^(?:(?:task|voice)_)?id$/.test(key)) return asId(value);
		return key === 'process_percentage' ? asNumber(asText(value)?.replace(/\s*%$/, '')) : value;
	};
	const fields = Object.entries(record).map(
		([key, value]) => [key, outputValue(key, value)] as const,
	);
	return Object.fromEntries(fields.filter(([, value]) => value !== undefined));
}

/** One page of a list that the service sends in pages. */
export interface Page {
	/** The records of this page. */
	items: ServiceRecord[];
	/** The number of records on all pages, if the service says so. */
	total?: number;
	/** The number of records per page, if the service says so. */
	pageSize?: number;
	/** True if the answer is just an array. Then it may be the whole list, however long. */
	isUnpagedArray: boolean;
}

/** Returns an answer that is a record and reports no failure, such as the account (§4.10); otherwise undefined. */
export const readRecord = (raw: unknown): ServiceRecord | undefined =>
	isRecord(raw) && !isFailed(raw) ? raw : undefined;

/** Reads one page of a list (§4.4, §4.9), which is an array or a record with one; undefined if there is none. */
export function readPage(raw: unknown): Page | undefined {
	const { voices, data, items, total, page_size: pageSize } = readRecord(raw) ?? {};
	const list = [raw, voices, data, items].find((value) => Array.isArray(value));
	if (!list) return undefined;
	return {
		items: list.filter(isRecord),
		total: asNumber(total),
		pageSize: asNumber(pageSize),
		isUnpagedArray: list === raw,
	};
}
