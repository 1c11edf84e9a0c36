import { raceTimeout, throwIfAborted } from '../async/deadline';
import { Failure } from '../failure';
import type { ByteStream, HttpResponse } from './request';
import { MAX_ERROR_BYTES, MAX_JSON_BYTES } from '../limits';

/* Reads the bodies of responses in bounded memory. The caller closes the response. */

/** How long to wait for the body of a response with an error status, in ms. */
const ERROR_BODY_TIMEOUT_MS = 5000;

/** Reads the whole body, which may contain the token. Throws a Failure: tooLarge, noResponse, or `signal.reason`. */
export async function readText(response: HttpResponse, signal: AbortSignal): Promise<string> {
	const peeked = await peek(response.body, MAX_JSON_BYTES).catch(() => undefined);
	throwIfAborted(signal);
	if (!peeked)
		throw new Failure('noResponse', { host: new URL(response.url).host, transient: true });
	if (peeked.isWhole) return peeked.head.toString();
	const megabytes = MAX_JSON_BYTES / 1024 / 1024;
	throw new Failure('tooLarge', { reason: `more than ${megabytes} MB` });
}

/**
 * Reads the start of the body of a response with an error status, as text without the token. Resolves with '' for any
 * other status. Also resolves with '' if the body cannot be read in time, because the status alone tells the main
 * reason. Throws the reason of `signal` if that aborts.
 */
export async function readErrorBody(response: HttpResponse, signal: AbortSignal): Promise<string> {
	// Only a response with an error status has a body that gives a reason.
	if (response.status < 400) return '';
	const bodyStart = peek(response.body, MAX_ERROR_BYTES).catch(() => undefined);
	const peeked = await raceTimeout(ERROR_BODY_TIMEOUT_MS, signal, bodyStart);
	throwIfAborted(signal);
	return response.redact.text(peeked?.head.toString('utf8', 0, MAX_ERROR_BYTES) ?? '');
}

/**
 * Reads at least the first `size` bytes of a stream into `head`. If the stream ends before that, `isWhole` is true, and
 * `head` has all its bytes. Otherwise the bytes are put back into the stream. Throws the error of the stream.
 */
export async function peek(
	stream: ByteStream,
	size: number,
): Promise<{ head: Buffer; isWhole: boolean }> {
	const chunks: Uint8Array[] = [];
	let remaining = size;
	for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
		chunks.push(chunk);
		remaining -= chunk.length;
		if (remaining <= 0) break;
	}
	const head = Buffer.concat(chunks);
	const isWhole = remaining > 0 || stream.readableEnded;
	if (!isWhole) stream.unshift(head);
	return { head, isWhole };
}
