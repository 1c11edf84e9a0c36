import {
	TASK_MESSAGE,
	type GeneratedFile,
	type ServiceRecord,
	type SpeechTask,
	type TaskState,
} from '../contract';
import { MAX_ADDRESS_CHARS, MAX_REASON_CHARS } from '../limits';
import { isFailed, isFailureWord, readReason, saysFailure } from './errors';
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
} from './values';

/** Tolerant readers: raw answer → task, files, pages. Pure; docs/contract.md names each variation. */

export interface ReaderContext {
	/** Relative addresses are resolved against it. */
	baseUrl: string;
	/** Takes the token out of what is shown, before it is cut. */
	redact: Redactor;
}

/** Where an object may hold an address, the most certain first. */
const ADDRESS_KEYS = ['file_url', 'audio_url', 'result', 'url', 'audio', 'href', 'path', 'data'];

/**
 * The file address in a value, or anywhere within it, resolved against `baseUrl`; undefined if none. A
 * `data:` address holds the file itself: its size is limited with the answer's.
 */
export function readFileUrl(value: unknown, baseUrl: string): string | undefined {
	if (typeof value === 'object' && value !== null) {
		const inner = isRecord(value) ? ADDRESS_KEYS.map((key) => value[key]) : Object.values(value);
		return inner.map((entry) => readFileUrl(entry, baseUrl)).find((url) => url !== undefined);
	}
	const text = typeof value === 'string' ? value.trim() : '';
	if (/^data:[^,]{1,100};base64,/.test(text)) return text;
	if (text.length > MAX_ADDRESS_CHARS) return undefined;
	// A word or a sentence would resolve as well, to a meaningless path.
	if (!/^(?:https?:\/)?\/\S|^\S+\.\w{2,5}(?:\?\S*)?$/i.test(text)) return undefined;
	const url = asWebUrl(text, `${baseUrl}/`);
	return url && url.href.length <= MAX_ADDRESS_CHARS ? url.href : undefined;
}

/** The identifier of a file or an entry of the history. */
export const idOf = (value: unknown): string | undefined =>
	isRecord(value) ? (asId(value.id) ?? asId(value.task_id)) : undefined;

const STATES: readonly TaskState[] = ['pending', 'processing', 'completed', 'error'];
/** Words beside the contract's: of what goes on, and of what has ended badly. */
const ONGOING = /ing$|queue|pending|active|progress|start|wait|submit|creat|schedul|accept/;
const ENDED_BADLY =
	/abort|expire|reject|time_?d?_?out|moderat|block|refus|denied|terminat|kill|crash|invalid|fail|error|cancel/;

/** What an unknown status of a task seems to say: an end, beside an address or a reason. */
function endSaid(
	status: string,
	record: ServiceRecord,
	audioUrl?: string,
): SpeechTask['apparentEnd'] {
	if (ONGOING.test(status)) return undefined;
	const isBad = ENDED_BADLY.test(status);
	if (readReason(isBad ? record : record.error) !== undefined) return 'error';
	return audioUrl === undefined || isBad ? undefined : 'completed';
}

const unwrap = (raw: unknown, key: string): unknown => {
	if (!isRecord(raw)) return raw;
	const inner = raw.data ?? raw.task;
	return isRecord(inner) && (raw[key] === undefined || inner[key] !== undefined) ? inner : raw;
};

/** §4.1: the identifier of a created task, always a string; undefined when the answer has none. */
export function readCreatedTaskId(raw: unknown): string | undefined {
	const record = unwrap(raw, 'task_id');
	if (!isRecord(record)) return undefined;
	// Beside an error, an `id` alone belongs to the request or the error.
	const isRefused = saysFailure(raw) || saysFailure(record);
	return asId(record.task_id) ?? (isRefused ? undefined : asId(record.id));
}

/** §4.2: a speech task; undefined when the answer is none. */
export function readSpeechTask(
	raw: unknown,
	{ baseUrl, redact }: ReaderContext,
): SpeechTask | undefined {
	const record = unwrap(raw, 'status');
	if (!isRecord(record)) return undefined;
	const addressUnder = (...keys: string[]) =>
		keys.map((key) => readFileUrl(record[key], baseUrl)).find(Boolean);
	const audioUrl = addressUnder('audio_url', 'result', 'file_url', 'url');
	const word = asText(record.status);
	if (word === undefined) return undefined;
	const shown = truncate(redact.text(word.toLowerCase()), MAX_REASON_CHARS);
	const status = isFailureWord(shown) ? 'error' : shown;
	const known = STATES.find((state) => state === status);
	const state = known ?? 'processing';
	const seems = known ? undefined : endSaid(status, record, audioUrl);
	return {
		state,
		apparentEnd: seems,
		status,
		audioUrl,
		subtitleUrl: addressUnder('subtitle', 'subtitle_url'),
		percentage: asPercentage(record.process_percentage),
		message: (seems ?? state) === 'error' ? readReason(redact.value(record)) : undefined,
		raw: record,
	};
}

/** §6.2: one notification; undefined for anything else that comes over the socket. */
export function readNotification(
	text: string,
): { taskId: string; percentage: number | undefined } | undefined {
	const raw = parseJson(text);
	if (!isRecord(raw) || raw.type !== TASK_MESSAGE || !isRecord(raw.payload)) return undefined;
	const taskId = asId(raw.payload.task_id) ?? asId(raw.payload.id);
	if (taskId === undefined) return undefined;
	return { taskId, percentage: asPercentage(raw.payload.process_percentage) };
}

/** The generated files in a completion event, a JSON answer or a history entry (§2.3), one for each address. */
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
	const named = urlsOf([raw.file_url, raw.file_urls].flat());
	const urls = named.length > 0 ? named : urlsOf([raw.url, raw.result]).slice(0, 1);
	if (urls.length > 0) {
		return [...new Set(urls)].map((fileUrl) => ({ id, fileUrl, raw }));
	}
	for (const key of ['data', 'videos', 'images', 'files']) {
		const inner = readGeneratedFiles(raw[key], baseUrl);
		if (inner.length > 0) return inner;
	}
	return [];
}

/** How files are recognised: by their ids and addresses. */
export const identifiersOf = (files: GeneratedFile[]): string[] => [
	...new Set(files.flatMap(({ id, fileUrl }) => (id === undefined ? [fileUrl] : [id, fileUrl]))),
];

/** A record as it is put out: its identifiers are texts, its percentage is a number, and none is null. */
export function withTypes(record: ServiceRecord): ServiceRecord {
	const typed = (key: string, value: unknown) => {
		if (/^(?:(?:task|voice)_)?id$/.test(key)) return asId(value);
		return key === 'process_percentage' ? asNumber(asText(value)?.replace(/\s*%$/, '')) : value;
	};
	const fields = Object.entries(record).map(([key, value]) => [key, typed(key, value)] as const);
	return Object.fromEntries(fields.filter(([, value]) => value !== undefined));
}

export interface Page {
	items: ServiceRecord[];
	/** Number of all items, if the service says so. */
	total?: number;
	/** Items per page, if the service says so. */
	pageSize?: number;
	/** It came as an array alone, which may be the whole list however long. */
	isUnpagedArray: boolean;
}

/** A record that reports no failure (§4.10); else undefined. */
export const readRecord = (raw: unknown): ServiceRecord | undefined =>
	isRecord(raw) && !isFailed(raw) ? raw : undefined;

/** One page of a list (§4.4, §4.9): an array, alone or in a record; undefined when there is none. */
export function readPage(raw: unknown): Page | undefined {
	const { voices, data, items, total, page_size: pageSize } = readRecord(raw) ?? {};
	const list = [raw, voices, data, items].find((one) => Array.isArray(one));
	if (!list) return undefined;
	return {
		items: list.filter(isRecord),
		total: asNumber(total),
		pageSize: asNumber(pageSize),
		isUnpagedArray: list === raw,
	};
}
