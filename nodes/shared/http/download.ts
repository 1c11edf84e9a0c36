import type { IBinaryData, IExecuteFunctions, ITriggerFunctions } from 'n8n-workflow';
import type { Credential } from './credential';
import { readErrorText, readRetryAfter } from '../parsing/errors';
import { peek, readErrorBody } from './bodies';
import { abortReason, backOffMs, sleep, steadyNow, watchSilence } from '../async/deadline';
import { Failure, isTransient, type FailureFacts } from '../failure';
import type { FileType, MediaKind } from '../contract';
import {
	fileNameOf,
	fileTypeOf,
	SNIFF_BYTES,
	subtitleTypeOf,
	whyNoFile,
} from '../parsing/fileType';
import { codeOf, sendRequest, type ByteStream, type HttpResponse } from './request';
import { MAX_SUBTITLES_BYTES, MAX_UNANNOUNCED_BYTES } from '../limits';

/** How long a file host may take to answer, and be silent while a file comes, in ms. */
const SILENCE_MS = 60_000;
const MAX_ATTEMPTS = 5;
/** How long a file is asked for, in ms, while its host is away, … */
const AWAY_MS = 60_000;
/** … while it does not know the file, which may be new, and while it refuses for rate or load. */
const UNKNOWN_MS = 20_000;
const MAX_REFUSED_MS = 300_000;
/** The longest pause that it can ask for, in ms: some ask for a day. */
const MAX_TOLD_MS = 60_000;

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

const badFile = (text: string, transient: boolean, facts: FailureFacts = {}) =>
	new Failure('badFile', { text, transient, ...facts });

/** Throws the Failure of an answer that is not the whole file: no part was asked for. */
async function refuseErrorStatus(answer: HttpResponse, signal: AbortSignal): Promise<void> {
	const { status, headers } = answer;
	if (status >= 200 && status < 300 && status !== 206) return;
	const said = readErrorText(await readErrorBody(answer, signal).catch(() => ''));
	// Redirects have been followed by now. A page with 401 or 403 comes from an edge, and passes.
	const isFinal = status === 401 || status === 410 || (status >= 300 && status < 400);
	const isEdge = [401, 403].includes(status) && /html/i.test(headers['content-type'] ?? '');
	const text = `the file host responded with ${status}${said ? ` (${said})` : ''}`;
	throw badFile(text, isEdge || !isFinal, {
		status: isEdge ? undefined : status,
		isRefused: [400, 401, 403, 404, 410].includes(status),
		retryAfterMs: readRetryAfter(headers),
	});
}

/**
 * Measures how much comes in, and when, in ms since 1970, and passes it to `listen`. A
 * listener on the stream would start it before n8n's storage reads it. Ends it with `tooMuch` beyond
 * `most` bytes.
 */
function meter(
	stream: ByteStream,
	most: number,
	tooMuch: Failure,
	listen: (bytes: Uint8Array) => void = () => {},
) {
	const received = { bytes: 0, lastAt: steadyNow() };
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
	stream.push = (chunk: Uint8Array | null, ...rest) => {
		if (chunk) take(chunk);
		received.lastAt = steadyNow();
		if (received.bytes <= most) return push(chunk, ...rest);
		stream.destroy(tooMuch);
		return false;
	};
	return received;
}

/** The type of a file, by its first bytes; throws a Failure when it is something else. */
function typeFound(
	{ kind, isSubtitles }: FileToFetch,
	head: Buffer,
	contentType: string,
	url: string,
): FileType {
	const subtitles = isSubtitles && subtitleTypeOf(head.toString());
	if (subtitles) return subtitles;
	// Subtitles are text, whatever their header says.
	const wrong = whyNoFile(head, contentType, isSubtitles);
	if (!wrong && !isSubtitles) return fileTypeOf(head, contentType, url, kind);
	const mayPass = url !== 'data:';
	// … and in another form they mostly stay.
	throw badFile(wrong ?? 'it is neither SRT nor VTT', mayPass, isSubtitles ? { status: 200 } : {});
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
		const type = typeFound(file, bytes.subarray(0, SNIFF_BYTES), inlineType!, 'data:');
		return await context.helpers.prepareBinaryData(bytes, nameFor(type), type.mimeType);
	}
	const answer = await sendRequest(context, {
		method: 'GET',
		url: file.url,
		accept: '*/*',
		isFile: true,
		timeoutMs: SILENCE_MS,
		signal,
		credential,
	});
	const announced = Number(answer.headers['content-length']) || 0;
	// A file that is compressed anyway announces its compressed size.
	const maxBytes = file.isSubtitles ? MAX_SUBTITLES_BYTES : file.maxBytes;
	const most = maxBytes ?? Math.max(announced, MAX_UNANNOUNCED_BYTES);
	const megabytes = Math.round(most / 1024 / 1024);
	const tooLarge = badFile(`it is too large: more than ${megabytes} MB`, false);
	const received = meter(answer.body, most, tooLarge, file.listen?.());
	const over = new AbortController();
	const until = () => received.lastAt + SILENCE_MS;
	void watchSilence(until, over.signal, () => answer.close());
	try {
		await refuseErrorStatus(answer, signal);
		const { head, whole } = await peek(answer.body, SNIFF_BYTES);
		const contentType = answer.redact.text(answer.headers['content-type'] ?? '');
		const type = typeFound(file, head, contentType, answer.url);
		const body = whole ? head : answer.body;
		return await context.helpers
			.prepareBinaryData(body, nameFor(type), type.mimeType)
			.catch((error: unknown) => {
				throw received.bytes > most ? tooLarge : error;
			});
	} finally {
		over.abort();
		// Closes the connection if the file was given up.
		answer.close();
	}
}

/** For how long, in ms since the first attempt, a file is asked for however often it was. */
function patienceMs({ facts: { status, retryAfterMs } }: Failure): number {
	if (status === 429 || (status === 503 && retryAfterMs !== undefined)) return MAX_REFUSED_MS;
	if (status === 404) return UNKNOWN_MS;
	return status === undefined || status >= 500 ? AWAY_MS : 0;
}

/**
 * Fetches a generated file into n8n's binary storage, streamed, with the type that its bytes show.
 * Follows redirects; the token goes to the API's origin only. Repeated a few times while the failure
 * may pass, and for as long as `patienceMs` says; a refused address is renewed once. Throws a Failure of
 * kind badFile with the address, or the signal's.
 */
export async function download(
	context: FileContext,
	credential: Credential,
	file: FileToFetch,
	signal: AbortSignal,
): Promise<IBinaryData> {
	const began = steadyNow();
	let { url, renew } = file;
	let last: Failure | undefined;
	for (let attempt = 0; ; attempt++) {
		const made = await fetchOnce(context, credential, { ...file, url }, signal).catch(failureOf);
		if (!(made instanceof Failure)) return made;
		if (signal.aborted) {
			const reason = abortReason(signal);
			// What the host has said tells more than that the time is up.
			const told = reason.kind === 'timedOut' ? (last ?? reason) : reason;
			throw told.with({ fileUrl: url });
		}
		last = made;
		if (renew && made.facts.isRefused) {
			url = await renew();
			renew = undefined;
			if (url !== file.url) continue;
		}
		const isAwaited = steadyNow() - began < patienceMs(made);
		if (!isTransient(made) || (attempt + 1 >= MAX_ATTEMPTS && !isAwaited)) {
			throw made.with({ fileUrl: url });
		}
		const toldMs = Math.min(MAX_TOLD_MS, made.facts.retryAfterMs ?? 0);
		await sleep(Math.max(toldMs, backOffMs(attempt)), signal);
	}
}

const CONNECTION =
	/^(?:ECONN|EPIPE|ETIMEDOUT|ERR_STREAM|HPE_|UND_|Z_)|abort|cancel|closed|hang up|timed out/i;

/** Why a file was not stored. A broken connection may pass; an error of n8n's storage does not. */
function failureOf(error: unknown): Failure {
	if (error instanceof Failure && error.kind !== 'noAnswer') return error;
	const { name = '', message = '' } = error as Partial<Error>;
	const isConnection = CONNECTION.test(`${codeOf(error)} ${name} ${message}`);
	return error instanceof Failure || isConnection
		? badFile('the connection broke during the download', true)
		: badFile(`n8n could not store it: ${message || 'no reason given'}`, false);
}
