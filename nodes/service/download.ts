import type { IBinaryData, IExecuteFunctions, ITriggerFunctions } from 'n8n-workflow';
import { readErrorText } from './answers';
import { abortReason, pause } from './clock';
import { Failure, isTransient } from './failure';
import { fileNameOf, fileTypeOf, SNIFF_BYTES, whyNoFile, type MediaKind } from './fileTypes';
import { exchange, readText, type ByteStream, type HttpAnswer } from './http';
import { backOffMs } from './pacing';
import type { Requests } from './requests';

/** Milliseconds until a file host must answer, and the longest silence while a file comes. */
const SILENCE_MS = 60_000;
const MAX_ATTEMPTS = 5;

/** Any n8n context that may store a file. */
export type FileContext = IExecuteFunctions | ITriggerFunctions;

export interface FileToFetch {
	url: string;
	kind: MediaKind;
	/** Task or item id: the file name is `<kind>-<id>.<ext>`, the same each time. */
	id: string;
}

const badFile = (text: string, transient: boolean, status?: number) =>
	new Failure('badFile', { text, transient, status });

/** Reads the first bytes of a stream and puts them back, unless they are all there is. */
async function peek(stream: ByteStream): Promise<{ head: Buffer; whole: boolean }> {
	const parts: Uint8Array[] = [];
	let size = 0;
	let ended = false;
	while (size < SNIFF_BYTES && !ended) {
		const part = stream.read();
		if (part !== null) {
			parts.push(part);
			size += part.length;
			continue;
		}
		if (stream.readableEnded) break;
		ended = await new Promise<boolean>((resolve, reject) => {
			const settle = () => {
				stream.removeListener('readable', onReadable);
				stream.removeListener('end', onEnd);
				stream.removeListener('close', onClose);
				stream.removeListener('error', onError);
			};
			const onReadable = () => (settle(), resolve(false));
			const onEnd = () => (settle(), resolve(true));
			const onClose = () => (settle(), reject(new Error('closed')));
			const onError = (error: Error) => (settle(), reject(error));
			stream.on('readable', onReadable);
			stream.on('end', onEnd);
			stream.on('close', onClose);
			stream.on('error', onError);
		});
	}
	const head = Buffer.concat(parts);
	const whole = ended || stream.readableEnded === true;
	if (!whole) stream.unshift(head);
	return { head, whole };
}

async function refuseErrorStatus(answer: HttpAnswer<ByteStream>, signal: AbortSignal) {
	if (answer.status >= 200 && answer.status < 300) return;
	const text = await readText(answer, signal, 64 * 1024).catch(() => '');
	const said = readErrorText(text);
	// A file just made may take a moment to reach the file host.
	const transient = ![401, 410].includes(answer.status) && answer.status !== 416;
	throw badFile(
		`the file host answered ${answer.status}${said ? ` (${said})` : ''}`,
		transient,
		answer.status,
	);
}

/**
 * Calls `onSilence` once no byte has come for a while. The socket's own count is looked at: a
 * listener on the stream would start it before n8n's storage reads it.
 */
async function watchSilence(stream: ByteStream, over: AbortSignal, onSilence: () => void) {
	let before: number | undefined;
	while (!over.aborted) {
		await pause(SILENCE_MS, over);
		const now = stream.socket?.bytesRead;
		if (now === undefined) return;
		if (now === before && !over.aborted) return onSilence();
		before = now;
	}
}

/** Fetches once. Bytes go from the socket into n8n's binary storage; none are kept here. */
async function fetchOnce(
	context: FileContext,
	requests: Requests,
	file: FileToFetch,
	signal: AbortSignal,
): Promise<IBinaryData> {
	const silence = new AbortController();
	const watched = AbortSignal.any([signal, silence.signal]);
	const over = new AbortController();
	try {
		const answer = await exchange(context, {
			method: 'GET',
			url: file.url,
			accept: '*/*',
			timeoutMs: SILENCE_MS,
			signal: watched,
			tokenOrigin: requests.address.origin,
			follow: 'any',
		});
		void watchSilence(answer.body, over.signal, () => silence.abort());
		await refuseErrorStatus(answer, watched);
		const { head, whole } = await peek(answer.body);
		const contentType = answer.headers['content-type'];
		const wrong = whyNoFile(head, contentType);
		if (wrong !== undefined) throw badFile(wrong, true);

		const type = fileTypeOf(head, contentType, answer.url, file.kind);
		const name = fileNameOf(file.kind, file.id, type.extension);
		const stored = await context.helpers.prepareBinaryData(
			whole ? head : (answer.body as unknown as Buffer),
			name,
			type.mimeType,
		);
		const announced = Number(answer.headers['content-length'] ?? NaN);
		const received = stored.bytes ?? announced;
		if (!answer.headers['content-encoding'] && announced > received) {
			throw badFile(`only ${received} of ${announced} bytes came`, true);
		}
		return stored;
	} finally {
		over.abort();
		// Closes the connection when the file was given up; after its end there is nothing to close.
		silence.abort(new Failure('canceled'));
	}
}

/**
 * Fetches a generated file into n8n's binary storage, streamed, with the type that its bytes show.
 * Follows redirects; the token goes to the API's origin only. Repeated while the failure may pass,
 * within the signal's deadline. Throws a Failure of kind badFile with the address, or the signal's.
 */
export async function download(
	context: FileContext,
	requests: Requests,
	file: FileToFetch,
	signal: AbortSignal,
): Promise<IBinaryData> {
	for (let attempt = 0; ; attempt++) {
		const outcome = await fetchOnce(context, requests, file, signal).then(
			(stored) => ({ stored }),
			(error: unknown) => ({ error }),
		);
		if ('stored' in outcome) return outcome.stored;
		if (signal.aborted) throw withFile(abortReason(signal), file);
		const failure =
			outcome.error instanceof Failure && outcome.error.kind !== 'noAnswer'
				? outcome.error
				: storageOrConnection(outcome.error);
		if (!isTransient(failure) || attempt + 1 >= MAX_ATTEMPTS) throw withFile(failure, file);
		await pause(backOffMs(attempt), signal);
	}
}

const withFile = (failure: Failure, file: FileToFetch) => failure.with({ fileUrl: file.url });

const CONNECTION = /^(?:ECONN|EPIPE|ETIMEDOUT|ERR_STREAM|ERR_CANCELED|HPE_|ABORT_ERR|UND_)/;

/** A connection that broke on the way passes; what n8n's own storage says does not. */
function storageOrConnection(error: unknown): Failure {
	const { code, name, message } = error as { code?: string; name?: string; message?: string };
	const isConnection =
		error instanceof Failure ||
		CONNECTION.test(code ?? '') ||
		/abort|cancel/i.test(name ?? '') ||
		/abort|closed|hang up/i.test(message ?? '');
	return isConnection
		? badFile('the connection broke while the file came', true)
		: badFile(`n8n could not store it: ${message ?? 'no reason given'}`, false);
}
