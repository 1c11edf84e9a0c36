import type { IBinaryData, IExecuteFunctions, ITriggerFunctions } from 'n8n-workflow';
import type { Credential } from './credential';
import { readErrorText, readRetryAfter } from '../parsing/errorResponses';
import { peek, readErrorBody } from './bodies';
import { abortReason, sleep, steadyNow, watchSilence } from '../async/deadline';
import { Failure, isTransient, type FailureFacts } from '../failure';
import type { FileType, MediaKind } from '../media';
import {
	fileNameOf,
	fileTypeOf,
	SNIFF_BYTES,
	subtitleTypeOf,
	whyNoFile,
} from '../parsing/fileType';
import { codeOf } from './networkErrors';
import { sendRequest, type ByteStream, type HttpResponse } from './request';
import { MAX_SUBTITLES_BYTES, MAX_UNANNOUNCED_BYTES } from '../limits';
import { backOffMs } from '../async/backOff';
import { hostPaces } from '../pace/hostPaces';

/** How long a file host may take to answer, and be silent while a file comes, in ms. */
const SILENCE_MS = 60_000;
const MAX_ATTEMPTS = 5;
/** How long a new file may be unknown to its host, and the longest pause meanwhile, in ms. */
const JUST_MADE_MS = 20_000;
const MAX_PAUSE_MS = 4000;
/** How long a host may refuse for rate or load a file that others wait for, in ms. */
const MAX_REFUSED_MS = 300_000;

/** Any n8n context that may store a file. */
export type FileContext = IExecuteFunctions | ITriggerFunctions;

export interface FileToFetch {
	url: string;
	kind: MediaKind;
	/** The file is always named `<kind>-<id>.<ext>`. */
	id: string;
	/** True if it was made a moment ago and may not have reached its host yet. */
	justMade?: boolean;
	/** The subtitles of a speech instead of its sound. */
	isSubtitles?: boolean;
	/** True if others wait for it: a host that refuses for rate or load is not asked until the deadline. */
	othersWait?: boolean;
}

const badFile = (text: string, transient: boolean, facts: FailureFacts = {}) =>
	new Failure('badFile', { text, transient, ...facts });

/** From the first byte to the one named first, of as many as are named second. */
const WHOLE_RANGE = /^bytes 0-(\d+)\/(\d+)$/;

async function refuseErrorStatus(answer: HttpResponse, signal: AbortSignal) {
	// No part was asked for: a cache that answers with one would pass off a piece as the file.
	const [, last, size] = WHOLE_RANGE.exec(answer.headers['content-range'] ?? '') ?? [];
	if (answer.status === 206 && Number(last) + 1 !== Number(size)) {
		throw badFile('the file host sent only a part of it', true, { status: 206 });
	}
	if (answer.status >= 200 && answer.status < 300) return;
	const text = await readErrorBody(answer, signal).catch(() => '');
	const said = readErrorText(text);
	// A new file may take a moment to reach its host. Redirects have been followed by now.
	const transient = answer.status >= 400 && ![401, 410, 416].includes(answer.status);
	throw badFile(
		`the file host responded with ${answer.status}${said ? ` (${said})` : ''}`,
		transient,
		{ status: answer.status, retryAfterMs: retryAfterOf(answer) },
	);
}

const retryAfterOf = ({ headers }: HttpResponse) =>
	readRetryAfter(headers['retry-after'], Date.now());

/** True where a host refuses for rate or load, which passes. */
const isRefusal = ({ status, retryAfterMs }: FailureFacts) =>
	status === 429 || (status === 503 && retryAfterMs !== undefined);

/** Asks for a file at its host's pace. */
async function ask(
	context: FileContext,
	credential: Credential,
	{ url }: FileToFetch,
	signal: AbortSignal,
): Promise<HttpResponse> {
	const { origin } = new URL(url);
	const pace = hostPaces().of(origin);
	if (pace && !(await pace.waitForSlot(signal))) {
		throw badFile('its host refuses so many requests', true, { status: 429 });
	}
	const sentAt = steadyNow();
	const answer = await sendRequest(context, {
		method: 'GET',
		url,
		accept: '*/*',
		isFile: true,
		timeoutMs: SILENCE_MS,
		signal,
		credential,
	}).finally(() => pace?.answered());
	const retryAfterMs = retryAfterOf(answer);
	if (isRefusal({ status: answer.status, retryAfterMs })) {
		hostPaces().refused(origin, sentAt, retryAfterMs);
	} else hostPaces().accepted(origin, sentAt);
	return answer;
}

/**
 * Measures how much comes in, and when, in ms since 1970. n8n hands out a stream of its own, not the
 * socket's, and a listener would start it before n8n's storage reads it. Ends it with `tooMuch` beyond
 * `most` bytes.
 */
function meter(stream: ByteStream, most: number, tooMuch: Failure) {
	const received = { bytes: 0, lastAt: steadyNow() };
	const push = stream.push.bind(stream);
	stream.push = (chunk, ...rest) => {
		received.bytes += chunk?.length ?? 0;
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
	const type = isSubtitles
		? subtitleTypeOf(head.toString())
		: fileTypeOf(head, contentType, url, kind);
	// Subtitles are text, whatever their header says.
	const wrong = isSubtitles && type ? undefined : whyNoFile(head, isSubtitles ? '' : contentType);
	if (type && wrong === undefined) return type;
	throw badFile(wrong ?? 'it is neither SRT nor VTT', true);
}

/** Fetches once. The bytes go straight into n8n's binary storage. */
async function fetchOnce(
	context: FileContext,
	credential: Credential,
	file: FileToFetch,
	signal: AbortSignal,
): Promise<IBinaryData> {
	const answer = await ask(context, credential, file, signal);
	const announced = Number(answer.headers['content-length']) || 0;
	// A file that is compressed anyway announces its compressed size.
	const most = file.isSubtitles ? MAX_SUBTITLES_BYTES : Math.max(announced, MAX_UNANNOUNCED_BYTES);
	const than = file.isSubtitles ? 'subtitles are' : 'announced';
	const megabytes = Math.round(most / 1024 / 1024);
	const tooLarge = badFile(`it is larger than ${than}: more than ${megabytes} MB`, false);
	const received = meter(answer.body, most, tooLarge);
	const over = new AbortController();
	const lastAt = () => received.lastAt;
	void watchSilence(lastAt, SILENCE_MS, over.signal, () => answer.close());
	try {
		await refuseErrorStatus(answer, signal);
		const { head, whole } = await peek(answer.body, SNIFF_BYTES);
		const contentType = answer.redact.text(answer.headers['content-type'] ?? '');
		const type = typeFound(file, head, contentType, answer.url);
		const name = fileNameOf(file.kind, credential.redact.text(file.id), type.extension);
		const body = whole ? head : (answer.body as unknown as Buffer);
		return await context.helpers
			.prepareBinaryData(body, name, type.mimeType)
			.catch((error: unknown) => {
				throw received.bytes > most ? tooLarge : error;
			});
	} finally {
		over.abort();
		// Closes the connection if the file was given up.
		answer.close();
	}
}

/**
 * Fetches a generated file into n8n's binary storage, streamed, with the type that its bytes show.
 * Follows redirects; the token goes to the API's origin only. Repeated a few times while the failure
 * may pass, and, where the host refuses for rate or load, within the signal's deadline. Throws a Failure
 * of kind badFile with the address, or the signal's.
 */
export async function download(
	context: FileContext,
	credential: Credential,
	file: FileToFetch,
	signal: AbortSignal,
): Promise<IBinaryData> {
	const began = steadyNow();
	let last: Failure | undefined;
	for (let attempt = 0; ; attempt++) {
		const outcome = await fetchOnce(context, credential, file, signal).catch(failureOf);
		if (!(outcome instanceof Failure)) return outcome;
		if (signal.aborted) {
			const reason = abortReason(signal);
			// What the host has said tells more than that the time is up.
			const said = last ?? (isRefusal(outcome.facts) && outcome);
			throw aboutFile((reason.kind === 'timedOut' && said) || reason, file);
		}
		const isRefused = isRefusal(outcome.facts);
		const isNew = file.justMade && outcome.facts.status === 404;
		const patienceMs = isRefused ? (file.othersWait ? MAX_REFUSED_MS : Infinity) : JUST_MADE_MS;
		const isAwaited = (isRefused || isNew) && steadyNow() - began < patienceMs;
		const isLast = attempt + 1 >= MAX_ATTEMPTS && !isAwaited;
		if (!isTransient(outcome) || isLast) throw aboutFile(outcome, file);
		last = outcome;
		const told = isRefused && outcome.facts.retryAfterMs;
		await sleep(Math.max(told || 0, backOffMs(attempt, MAX_PAUSE_MS)), signal);
	}
}

const aboutFile = (failure: Failure, file: FileToFetch) => failure.with({ fileUrl: file.url });

const CONNECTION = /^(?:ECONN|EPIPE|ETIMEDOUT|ERR_STREAM|ERR_CANCELED|HPE_|ABORT_ERR|UND_)/;

/** Why a file was not stored. A broken connection may pass; an error of n8n's storage does not. */
function failureOf(error: unknown): Failure {
	if (error instanceof Failure && error.kind !== 'noAnswer') return error;
	const { name, message } = error as { name?: string; message?: string };
	const code = codeOf(error);
	if (code.startsWith('Z_')) return badFile('it arrived damaged', true);
	const isConnection =
		error instanceof Failure ||
		CONNECTION.test(code) ||
		/abort|cancel/i.test(name ?? '') ||
		/abort|closed|hang up|timed out/i.test(message ?? '');
	return isConnection
		? badFile('the connection broke during the download', true)
		: badFile(`n8n could not store it: ${message ?? 'no reason given'}`, false);
}
