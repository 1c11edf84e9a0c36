import type { IBinaryData, IExecuteFunctions, ITriggerFunctions } from 'n8n-workflow';
import type { Credential } from './credential';
import { readErrorText, readRetryAfter } from '../parsing/errors';
import { peek, readErrorBody } from './bodies';
import { abortReason, backOffMs, sleep, monotonicNow, watchIdle } from '../async/deadline';
import { Failure, isTransient, type FailureFacts } from '../failure';
import type { FileType, MediaKind } from '../contract';
import {
	fileNameOf,
	fileTypeOf,
	SNIFF_BYTES,
	subtitleTypeOf,
	invalidFileReason,
} from '../parsing/fileType';
import { codeOf, sendRequest, type ByteStream, type HttpResponse } from './request';
import { MAX_SUBTITLES_BYTES, MAX_UNANNOUNCED_BYTES } from '../limits';

/** How long a file host may take to answer, and be silent while a file comes, in ms. */
const IDLE_TIMEOUT_MS = 60_000;
const MAX_DOWNLOAD_ATTEMPTS = 5;
/** How long a file is asked for, in ms, while its host is away, … */
const OUTAGE_RETRY_MS = 60_000;
/** … while it does not know the file, which may be new, and while it refuses for rate or load. */
const NOT_FOUND_RETRY_MS = 20_000;
const THROTTLED_RETRY_MS = 300_000;
/** The longest pause that it can ask for, in ms: some ask for a day. */
const MAX_DOWNLOAD_COOLDOWN_MS = 60_000;

/** Any n8n context that may store a file. */
export type FileContext = IExecuteFunctions | ITriggerFunctions;

export interface FileToFetch {
	url: string;
	kind: MediaKind;
	/** The file is always named `<kind>-<id>.<ext>`. */
	id: string;
	/** The subtitles of a speech instead of its sound. */
	isSubtitles?: boolean;
	/** Called at each attempt; what it returns gets the bytes as they come. */
	listen?(): (bytes: Uint8Array) => void;
	/** How large it may be; by default as large as announced. */
	maxBytes?: number;
	/** Looks up its address as it is now, once this one is refused. */
	renew?(): Promise<string>;
}

const downloadFailed = (text: string, transient: boolean, facts: FailureFacts = {}) =>
	new Failure('downloadFailed', { text, transient, ...facts });

/** Throws the Failure of an answer that is not the whole file: no part was asked for. */
async function refuseErrorStatus(answer: HttpResponse, signal: AbortSignal): Promise<void> {
	const { status, headers } = answer;
	if (status >= 200 && status < 300 && status !== 206) return;
	const reason = readErrorText(await readErrorBody(answer, signal).catch(() => ''));
	// Redirects have been followed by now. A page with 401 or 403 comes from an edge, and passes.
	const isFinal = status === 401 || status === 410 || (status >= 300 && status < 400);
	const isEdge = [401, 403].includes(status) && /html/i.test(headers['content-type'] ?? '');
	const text = `the file host responded with ${status}${reason ? ` (${reason})` : ''}`;
	throw downloadFailed(text, isEdge || !isFinal, {
		status: isEdge ? undefined : status,
		isRefused: [400, 401, 403, 404, 410].includes(status),
		retryAfterMs: readRetryAfter(headers),
	});
}

/**
 * Measures how much comes in, and when, in ms since 1970, and passes it to `listen`. A
 * listener on the stream would start it before n8n's storage reads it. Ends it with `tooMuch` beyond
 * `maxBytes` bytes.
 */
function countBytes(
	stream: ByteStream,
	maxBytes: number,
	tooMuch: Failure,
	listen: (bytes: Uint8Array) => void = () => {},
) {
	const received = { bytes: 0, lastAt: monotonicNow() };
	const push = stream.push.bind(stream);
	const take = (chunk: Uint8Array) => {
		listen(chunk);
		received.bytes += chunk.length;
	};
	// An older n8n hands out the socket's stream: what came with the headers is in it already.
	const first: Uint8Array | null = stream.readableLength > 0 ? stream.read() : null;
	if (first) {
		take(first);
		stream.unshift(first);
	}
	stream.push = (chunk: Uint8Array | null, ...args) => {
		if (chunk) take(chunk);
		received.lastAt = monotonicNow();
		if (received.bytes <= maxBytes) return push(chunk, ...args);
		stream.destroy(tooMuch);
		return false;
	};
	return received;
}

/** The type of a file, by its first bytes; throws a Failure when it is something else. */
function detectType(
	{ kind, isSubtitles }: FileToFetch,
	head: Buffer,
	contentType: string,
	url: string,
): FileType {
	const subtitles = isSubtitles && subtitleTypeOf(head.toString());
	if (subtitles) return subtitles;
	// Subtitles are text, whatever their header says.
	const wrong = invalidFileReason(head, contentType, isSubtitles);
	if (!wrong && !isSubtitles) return fileTypeOf(head, contentType, url, kind);
	const mayPass = url !== 'data:';
	// … and in another form they mostly stay.
	throw downloadFailed(
		wrong ?? 'it is neither SRT nor VTT',
		mayPass,
		isSubtitles ? { status: 200 } : {},
	);
}

/** Fetches once. The bytes go straight into n8n's binary storage. */
async function fetchOnce(
	context: FileContext,
	credential: Credential,
	file: FileToFetch,
	signal: AbortSignal,
): Promise<IBinaryData> {
	const nameFor = ({ extension }: FileType) =>
		fileNameOf(file.kind, credential.redact.text(file.id), extension);
	const [start, inlineType] = /^data:(.*?);base64,/.exec(file.url) ?? [];
	if (start !== undefined) {
		const bytes = Buffer.from(file.url.slice(start.length), 'base64');
		const type = detectType(file, bytes.subarray(0, SNIFF_BYTES), inlineType!, 'data:');
		return await context.helpers.prepareBinaryData(bytes, nameFor(type), type.mimeType);
	}
	const answer = await sendRequest(context, {
		method: 'GET',
		url: file.url,
		accept: '*/*',
		isFile: true,
		timeoutMs: IDLE_TIMEOUT_MS,
		signal,
		credential,
	});
	const announced = Number(answer.headers['content-length']) || 0;
	// A file that is compressed anyway announces its compressed size.
	const limitBytes = file.isSubtitles ? MAX_SUBTITLES_BYTES : file.maxBytes;
	const maxBytes = limitBytes ?? Math.max(announced, MAX_UNANNOUNCED_BYTES);
	const megabytes = Math.round(maxBytes / 1024 / 1024);
	const tooLarge = downloadFailed(`it is too large: more than ${megabytes} MB`, false);
	const received = countBytes(answer.body, maxBytes, tooLarge, file.listen?.());
	const finished = new AbortController();
	const until = () => received.lastAt + IDLE_TIMEOUT_MS;
	void watchIdle(until, finished.signal, () => answer.close());
	try {
		await refuseErrorStatus(answer, signal);
		const { head, whole } = await peek(answer.body, SNIFF_BYTES);
		const contentType = answer.redact.text(answer.headers['content-type'] ?? '');
		const type = detectType(file, head, contentType, answer.url);
		const body = whole ? head : answer.body;
		return await context.helpers
			.prepareBinaryData(body, nameFor(type), type.mimeType)
			.catch((error: unknown) => {
				throw received.bytes > maxBytes ? tooLarge : error;
			});
	} finally {
		finished.abort();
		// Closes the connection if the file was given up.
		answer.close();
	}
}

/** For how long, in ms since the first attempt, a file is asked for however often it was. */
function retryWindowMs({ facts: { status, retryAfterMs } }: Failure): number {
	if (status === 429 || (status === 503 && retryAfterMs !== undefined)) return THROTTLED_RETRY_MS;
	if (status === 404) return NOT_FOUND_RETRY_MS;
	return status === undefined || status >= 500 ? OUTAGE_RETRY_MS : 0;
}

/**
 * Fetches a generated file into n8n's binary storage, streamed, with the type that its bytes show.
 * Follows redirects; the token goes to the API's origin only. Repeated a few times while the failure
 * may pass, and for as long as `retryWindowMs` says; a refused address is renewed once. Throws a Failure of
 * kind downloadFailed with the address, or the signal's.
 */
export async function download(
	context: FileContext,
	credential: Credential,
	file: FileToFetch,
	signal: AbortSignal,
): Promise<IBinaryData> {
	const began = monotonicNow();
	let { url, renew } = file;
	let lastFailure: Failure | undefined;
	for (let attempt = 0; ; attempt++) {
		const result = await fetchOnce(context, credential, { ...file, url }, signal).catch(
			toDownloadFailure,
		);
		if (!(result instanceof Failure)) return result;
		if (signal.aborted) {
			const reason = abortReason(signal);
			// What the host has said tells more than that the time is up.
			const reported = reason.kind === 'timedOut' ? (lastFailure ?? reason) : reason;
			throw reported.withDefaults({ fileUrl: url });
		}
		lastFailure = result;
		if (renew && result.facts.isRefused) {
			url = await renew();
			renew = undefined;
			if (url !== file.url) continue;
		}
		const isAwaited = monotonicNow() - began < retryWindowMs(result);
		if (!isTransient(result) || (attempt + 1 >= MAX_DOWNLOAD_ATTEMPTS && !isAwaited)) {
			throw result.withDefaults({ fileUrl: url });
		}
		const toldMs = Math.min(MAX_DOWNLOAD_COOLDOWN_MS, result.facts.retryAfterMs ?? 0);
		await sleep(Math.max(toldMs, backOffMs(attempt)), signal);
	}
}

const CONNECTION =
	/^(?:ECONN|EPIPE|ETIMEDOUT|ERR_STREAM|HPE_|UND_|Z_)|abort|cancel|closed|hang up|timed out/i;

/** Why a file was not stored. A broken connection may pass; an error of n8n's storage does not. */
function toDownloadFailure(error: unknown): Failure {
	if (error instanceof Failure && error.kind !== 'noResponse') return error;
	const { name = '', message = '' } = error as Partial<Error>;
	const isConnection = CONNECTION.test(`${codeOf(error)} ${name} ${message}`);
	return error instanceof Failure || isConnection
		? downloadFailed('the connection broke during the download', true)
		: downloadFailed(`n8n could not store it: ${message || 'no reason given'}`, false);
}
