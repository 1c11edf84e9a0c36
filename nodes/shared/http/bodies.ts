import { startDeadline, throwIfAborted } from '../async/deadline';
import { Failure } from '../failure';
import type { ByteStream, HttpResponse } from './request';
import { MAX_ERROR_BYTES, MAX_JSON_BYTES } from '../limits';

/** Reads the bodies of answers as text, in bounded time and memory; whoever asked closes them. */

/** How long to wait for the body of an error answer. */
const ERROR_BODY_MS = 5000;

/** The whole body. Throws a Failure if it is too large or breaks off, or the signal's reason. */
export async function readText(answer: HttpResponse, signal: AbortSignal): Promise<string> {
	const { text, isCut, isBroken } = await readUpTo(MAX_JSON_BYTES, answer, signal);
	if (isBroken) throw new Failure('noAnswer', { host: new URL(answer.url).host, transient: true });
	if (!isCut) return text;
	const megabytes = MAX_JSON_BYTES / 1024 / 1024;
	throw new Failure('tooLarge', { text: `a response of more than ${megabytes} MB` });
}

/**
 * The beginning of an error answer's body, as far as it comes within a few seconds: the status alone
 * says enough to go on. Throws the signal's reason.
 */
export async function readErrorBody(answer: HttpResponse, signal: AbortSignal): Promise<string> {
	// The body of a redirect adds nothing to its headers.
	if (answer.status < 400) return '';
	const patience = startDeadline(ERROR_BODY_MS);
	patience.signal.addEventListener('abort', () => answer.close(), { once: true });
	const { text } = await readUpTo(MAX_ERROR_BYTES, answer, signal).finally(() => patience.stop());
	return answer.redact.text(text);
}

/** Reads the first `size` bytes of a stream and puts them back, unless they are all there is (`whole`). */
export async function peek(
	stream: ByteStream,
	size: number,
): Promise<{ head: Buffer; whole: boolean }> {
	const parts: Uint8Array[] = [];
	let left = size;
	for await (const part of stream.iterator({ destroyOnReturn: false })) {
		parts.push(part);
		left -= part.length;
		if (left <= 0) break;
	}
	const head = Buffer.concat(parts);
	const whole = left > 0 || stream.readableEnded;
	if (!whole) stream.unshift(head);
	return { head, whole };
}

async function readUpTo(maxBytes: number, answer: HttpResponse, signal: AbortSignal) {
	const chunks: Uint8Array[] = [];
	let size = 0;
	let isBroken = false;
	try {
		for await (const chunk of answer.body) {
			chunks.push(chunk);
			size += chunk.length;
			if (size > maxBytes) break;
		}
	} catch {
		isBroken = true;
	}
	throwIfAborted(signal);
	const text = Buffer.concat(chunks).toString('utf8', 0, maxBytes);
	return { text, isCut: size > maxBytes, isBroken };
}
