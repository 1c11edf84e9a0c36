import type { IBinaryData, IExecuteFunctions, ITriggerFunctions } from 'n8n-workflow';
import type { Credential } from './credential';
import { readErrorText, readRetryAfter } from '../parsing/errors';
import { peek, readErrorBody } from './bodies';
import { abortReason, backoffMs, sleep, monotonicNow, watchIdle } from '../async/deadline';
import { Failure, isTransient, type FailureFacts } from '../failure';
import type { MediaKind } from '../contract';
import {
	fileNameOf,
	fileTypeOf,
	SNIFF_BYTES,
	subtitleTypeOf,
	invalidFileReason,
	type FileType,
} from '../parsing/fileType';
import { codeOf, sendRequest, type ByteStream, type HttpResponse } from './request';
import { MAX_UNANNOUNCED_BYTES } from '../limits';

/** How long a file host may be silent before an attempt ends, in ms. */
const IDLE_TIMEOUT_MS = 60_000;
/** The maximum number of attempts to download a file, outside of a retry window. */
const MAX_DOWNLOAD_ATTEMPTS = 5;
/** The retry window (see `retryWindowMs`) while the file's host is unavailable, in ms. */
const OUTAGE_RETRY_WINDOW_MS = 60_000;
/** The retry window while the host responds with 404, in ms. A new file may take some seconds to appear. */
const NOT_FOUND_RETRY_WINDOW_MS = 20_000;
/** The retry window (see `retryWindowMs`) while the host refuses for rate or load, in ms. */
const THROTTLED_RETRY_WINDOW_MS = 300_000;
/** The longest pause that a host's `Retry-After` can cause, in ms. */
const MAX_DOWNLOAD_RETRY_AFTER_MS = 60_000;

/** The n8n contexts that can store files. */
export type FileContext = IExecuteFunctions | ITriggerFunctions;

/** A file to download: where it is, what is expected of it, and how it is named. */
export interface FileToFetch {
	/** An absolute http(s) URL, or a `data:` URL in base64. */
	url: string;
	kind: MediaKind;
	/** The file is named `<kind>-<id>.<extension>`. */
	id: string;
	/** True if the file contains the subtitles of a speech. */
	isSubtitles?: boolean;
	/** True if the file is an input whose URL the user has set, so that the name of its host may be mistyped. */
	isInput?: boolean;
	/** Is called for each response. The returned function gets the bytes of this attempt as they arrive. */
	onAttempt?(): (bytes: Uint8Array) => void;
	maxBytes?: number;
	/** Resolves with the current URL of the file. Is called at most once, after the host has refused `url`. */
	renewUrl?(): Promise<string>;
}

const downloadFailure = (reason: string, transient: boolean, facts: FailureFacts = {}) =>
	new Failure('downloadFailed', { reason, transient, ...facts });

/** Throws a Failure unless the status says that the response is the whole file. */
async function throwOnErrorStatus(response: HttpResponse, signal: AbortSignal): Promise<void> {
	const { status, headers } = response;
	if (status >= 200 && status < 300 && status !== 206) return;
	const reason = readErrorText(await readErrorBody(response, signal).catch(() => ''));
	const isPermanentStatus = status === 401 || status === 410 || (status >= 300 && status < 400);
	// A web page with 401 or 403 probably comes from a proxy, so the failure is transient.
	const isProxyPage = [401, 403].includes(status) && /html/i.test(headers['content-type'] ?? '');
	const text = `the file host responded with ${status}${reason ? ` (${reason})` : ''}`;
	throw downloadFailure(text, isProxyPage || !isPermanentStatus, {
		status: isProxyPage ? undefined : status,
		isUrlRefused: status >= 300 && status < 500 && ![408, 429].includes(status),
		retryAfterMs: readRetryAfter(headers),
	});
}

/**
 * Counts the bytes of a stream as they arrive, and destroys the stream with a Failure once there are more than
 * `maxBytes`. `onBytes` is called with each chunk. Returns a function that tells until when the host may be silent, by
 * `monotonicNow`.
 *
 * The function wraps the stream's `push`, because a 'data' listener would start the stream before n8n's storage reads
 * it.
 */
function monitorStream(
	stream: ByteStream,
	maxBytes: number,
	onBytes: (bytes: Uint8Array) => void = () => {},
) {
	let receivedBytes = 0;
	let lastChunkAt = monotonicNow();
	const push = stream.push.bind(stream);
	const countChunk = (chunk: Uint8Array) => {
		onBytes(chunk);
		receivedBytes += chunk.length;
	};
	// In older versions of n8n, the stream already holds the bytes that arrived together with the headers.
	const bufferedChunk: Uint8Array | null = stream.readableLength > 0 ? stream.read() : null;
	if (bufferedChunk) {
		countChunk(bufferedChunk);
		stream.unshift(bufferedChunk);
	}
	stream.push = (chunk: Uint8Array | null, ...args) => {
		if (chunk) countChunk(chunk);
		lastChunkAt = monotonicNow();
		if (receivedBytes <= maxBytes) return push(chunk, ...args);
		const megabytes = Math.round(maxBytes / 1024 / 1024);
		const tooLargeFailure = downloadFailure(`it is larger than ${megabytes} MB`, false);
		stream.destroy(tooLargeFailure);
		return false;
	};
	return () => lastChunkAt + IDLE_TIMEOUT_MS;
}

/** Returns the type of a file. Throws a Failure if the file is something else, such as an error page of the host. */
function detectType(
	{ kind, isSubtitles }: FileToFetch,
	head: Buffer,
	contentType: string,
	url: string,
): FileType {
	const subtitleType = isSubtitles ? subtitleTypeOf(head.toString()) : undefined;
	if (subtitleType) return subtitleType;
	const invalidReason = isSubtitles
		? 'the file is neither SRT nor VTT'
		: invalidFileReason(head, contentType);
	if (!invalidReason) return fileTypeOf(head, contentType, url, kind);
	// A `data:` URL would give the same bytes again, and a host rarely sends missing subtitles later.
	const mayChange = url !== 'data:' && !isSubtitles;
	// A host may also say with the status 200 that a signed URL has expired.
	throw downloadFailure(invalidReason, mayChange, { isUrlRefused: true });
}

/** Tries once to download a file. Throws a Failure, or an error of the connection or of n8n's storage. */
async function fetchOnce(
	context: FileContext,
	credential: Credential,
	file: FileToFetch,
	signal: AbortSignal,
): Promise<IBinaryData> {
	const store = async (body: Buffer | ByteStream, { extension, mimeType }: FileType) => {
		const name = fileNameOf(file.kind, credential.redact.text(file.id), extension);
		return await context.helpers.prepareBinaryData(body, name, mimeType);
	};
	const [prefix, inlineType] = /^data:(.*?);base64,/.exec(file.url) ?? [];
	if (prefix !== undefined) {
		const bytes = Buffer.from(file.url.slice(prefix.length), 'base64');
		const type = detectType(file, bytes.subarray(0, SNIFF_BYTES), inlineType!, 'data:');
		return await store(bytes, type);
	}
	const response = await sendRequest(context, {
		method: 'GET',
		url: file.url,
		accept: '*/*',
		isFile: true,
		timeoutMs: IDLE_TIMEOUT_MS,
		signal,
		credential,
	});
	const announcedBytes = Number(response.headers['content-length']) || 0;
	// A host may compress the file unasked: Content-Length is then too small, so it only raises the limit.
	const maxBytes = file.maxBytes ?? Math.max(announcedBytes, MAX_UNANNOUNCED_BYTES);
	const idleAt = monitorStream(response.body, maxBytes, file.onAttempt?.());
	const downloadEnded = new AbortController();
	void watchIdle(idleAt, downloadEnded.signal, () => response.close());
	try {
		await throwOnErrorStatus(response, signal);
		const { head, isWhole } = await peek(response.body, SNIFF_BYTES);
		const contentType = response.redact.text(response.headers['content-type'] ?? '');
		const type = detectType(file, head.subarray(0, SNIFF_BYTES), contentType, response.url);
		return await store(isWhole ? head : response.body, type);
	} finally {
		downloadEnded.abort();
		// Closes the connection if the download was abandoned.
		response.close();
	}
}

/** Returns for how many ms after the first attempt a failure is retried without a limit on the number of attempts. */
function retryWindowMs(
	{ facts: { status, retryAfterMs, unreachableCause } }: Failure,
	{ isInput }: FileToFetch,
): number {
	// A resolver may also say during an outage that there is no such host, so a result is waited for.
	if (isInput && unreachableCause === 'unknownHost') return 0;
	if (status === 429 || (status === 503 && retryAfterMs !== undefined))
		return THROTTLED_RETRY_WINDOW_MS;
	if (status === 404) return NOT_FOUND_RETRY_WINDOW_MS;
	return status === undefined || status >= 500 ? OUTAGE_RETRY_WINDOW_MS : 0;
}

/**
 * Downloads a file into n8n's binary storage, with retries after transient failures, and resolves with its binary data.
 * Throws a Failure. After an abort of `signal`, it is the signal's reason, or the last failure if that reason is a
 * timeout.
 */
export async function download(
	context: FileContext,
	credential: Credential,
	file: FileToFetch,
	signal: AbortSignal,
): Promise<IBinaryData> {
	const startedAt = monotonicNow();
	let { url, renewUrl } = file;
	let lastFailure: Failure | undefined;
	for (let attempt = 0; ; attempt++) {
		const result = await fetchOnce(context, credential, { ...file, url }, signal).catch(
			toDownloadFailure,
		);
		if (!(result instanceof Failure)) return result;
		if (signal.aborted) {
			const reason = abortReason(signal);
			// The last failure of an attempt tells the user more than a timeout does.
			const failureToReport = reason.kind === 'timedOut' ? (lastFailure ?? reason) : reason;
			throw failureToReport.withDefaults({ fileUrl: url });
		}
		lastFailure = result;
		if (renewUrl && result.facts.isUrlRefused) {
			url = await renewUrl();
			renewUrl = undefined;
			if (url !== file.url) continue;
		}
		const isInRetryWindow = monotonicNow() - startedAt < retryWindowMs(result, file);
		if (!isTransient(result) || (attempt + 1 >= MAX_DOWNLOAD_ATTEMPTS && !isInRetryWindow)) {
			throw result.withDefaults({ fileUrl: url });
		}
		const retryAfterMs = Math.min(MAX_DOWNLOAD_RETRY_AFTER_MS, result.facts.retryAfterMs ?? 0);
		await sleep(Math.max(retryAfterMs, backoffMs(attempt)), signal);
	}
}

/** Matches the code, the name or the message of an error that comes from the connection, not from n8n's storage. */
const CONNECTION_ERROR =
	/^(?:ECONN|EPIPE|ETIMEDOUT|ERR_STREAM|HPE_|UND_|Z_)|abort|cancel|closed|hang up|timed out/i;

/** Returns the Failure for an error of a connection or of n8n's storage. */
export function toDownloadFailure(error: unknown): Failure {
	if (error instanceof Failure && error.kind !== 'noResponse') return error;
	const { name = '', message = '' } = error as Partial<Error>;
	const isConnectionError = CONNECTION_ERROR.test(`${codeOf(error)} ${name} ${message}`);
	return error instanceof Failure || isConnectionError
		? downloadFailure('the connection was lost during the download', true)
		: downloadFailure(`n8n could not store it (${message || 'no reason given'})`, false);
}
