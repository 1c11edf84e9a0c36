import { raceTimeout, throwIfAborted } from '../async/deadline';
import { Failure } from '../failure';
import type { ByteStream, HttpResponse } from './request';
import { MAX_ERROR_BYTES, MAX_JSON_BYTES } from '../limits';

/** Reads the bodies of answers, in bounded time and memory; whoever asked closes them. */

/** How long to wait for the body of an error answer, in ms. */
const ERROR_BODY_MS = 5000;

/** The whole body as text. Throws a Failure if it is too large or breaks off, or the signal's reason. */
export async function readText(answer: HttpResponse, signal: AbortSignal): Promise<string> {
	const read = await peek(answer.body, MAX_JSON_BYTES).catch(() => undefined);
	throwIfAborted(signal);
	if (!read) throw new Failure('noResponse', { host: new URL(answer.url).host, transient: true });
	if (read.whole) return read.head.toString();
	const megabytes = MAX_JSON_BYTES / 1024 / 1024;
	throw new Failure('tooLarge', { text: `a response of more than ${megabytes} MB` });
}

/**
 * The beginning of an error answer's body, '' where it breaks off or does not come within a few seconds:
 * the status alone says enough to go on. Throws the signal's reason.
 */
export async function readErrorBody(answer: HttpResponse, signal: AbortSignal): Promise<string> {
	// The body of a redirect adds nothing to its headers.
	if (answer.status < 400) return '';
	const reading = peek(answer.body, MAX_ERROR_BYTES).catch(() => undefined);
	const read = await raceTimeout(ERROR_BODY_MS, signal, reading);
	throwIfAborted(signal);
	return answer.redact.text(read?.head.toString('utf8', 0, MAX_ERROR_BYTES) ?? '');
}

/** Reads the first `size` bytes of a stream and puts them back, unless they are all there is (`whole`). */
export async function peek(
	stream: ByteStream,
	size: number,
): Promise<{ head: Buffer; whole: boolean }> {
	const parts: Uint8Array[] = [];
	let remaining = size;
	for await (const part of stream.iterator({ destroyOnReturn: false })) {
		parts.push(part);
		remaining -= part.length;
		if (remaining <= 0) break;
	}
	const head = Buffer.concat(parts);
	const whole = remaining > 0 || stream.readableEnded;
	if (!whole) stream.unshift(head);
	return { head, whole };
}
