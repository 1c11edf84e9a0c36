/* Records all traffic with the service, as this process sends and receives it. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { brotliDecompressSync, constants, unzipSync } from 'node:zlib';
import { createParser } from 'eventsource-parser';
import type { Redactor } from '../nodes/shared/parsing/redaction.ts';
import { shared } from './shared.mts';

/** A part of an answer, or one WebSocket message. */
interface Part {
	/** When it arrived, in ms since its exchange began. */
	ms: number;
	bytes: Buffer;
}

/** One request and its answer, or one WebSocket. Of its fields, only `parts` may contain the token. */
export interface Exchange {
	/** When the exchange began, in ms since 1970. */
	at: number;
	origin: string;
	method: string;
	/** The path with its query; without it for a WebSocket, because that query contains the token. */
	path: string;
	/** 0 if there was no answer; 101 for an open WebSocket. */
	status: number;
	http: string;
	headers: IncomingHttpHeaders;
	parts: Part[];
	/** When the exchange ended, in ms since it began; undefined if it has not ended. */
	ended?: number;
	/** Why the exchange ended early; for a WebSocket, why it ended. */
	broke?: string;
	/** Removes the token from what is read of the `parts`. */
	redact: Redactor;
}

/** The `broke` of an exchange that the node has ended. */
export const ENDED_BY_NODE = 'ended by the node';
/** The `broke` of an event stream that the check has cut on purpose. */
export const CUT = 'cut by the check';
/**
 * Returns where the last whole event of a stream ends, after its empty line; 0 if there is none. `text` is what has
 * arrived of the stream in all.
 */
const endOfEvents = (body: Buffer, text: string): number =>
	(shared.formOf(text) === 'lines' ? ['\n'] : ['\n\n', '\r\r', '\n\r\n']).reduce((last, end) => {
		const at = body.lastIndexOf(end);
		return at < 0 ? last : Math.max(last, at + end.length);
	}, 0);

interface Recorder {
	exchanges: Exchange[];
	/** Removes the token. */
	redact: Redactor;
	/** True to cut each event stream after its first events or comments. */
	cutsStreams?: boolean;
}

const recorders = new AsyncLocalStorage<Recorder>();

/** Runs `act`, and records what it and all that it starts exchange with the service. */
export const record = <T,>(recorder: Recorder, act: () => T): T => recorders.run(recorder, act);

function startExchange({ exchanges, redact }: Recorder, method: string, url: URL): Exchange {
	const path = redact.text(method === 'WEBSOCKET' ? url.pathname : url.pathname + url.search);
	const blank = { status: 0, http: '', headers: {}, parts: [] };
	const { origin } = new URL(url.href.replace(/^ws/, 'http'));
	const exchange: Exchange = { at: Date.now(), origin, method, path, ...blank, redact };
	exchanges.push(exchange);
	return exchange;
}

const since = ({ at }: Exchange) => Date.now() - at;

/** Records the end of an exchange. Only the first call for an exchange counts. */
export function end(exchange: Exchange, broke?: string): void {
	if (exchange.ended !== undefined) return;
	exchange.ended = since(exchange);
	exchange.broke = broke && exchange.redact.text(broke);
}

subscribe('http.client.request.created', (message) => {
	const { request } = message as { request: ClientRequest };
	const recorder = recorders.getStore();
	const isWebSocket = request.getHeader('upgrade') !== undefined;
	if (!recorder || isWebSocket) return;
	const origin = `${request.protocol}//${String(request.getHeader('host'))}`;
	// To a proxy, the path is a whole URL.
	const url = URL.parse(request.path) ?? new URL(origin + request.path);
	const exchange = startExchange(recorder, request.method, url);
	const destroy = request.destroy.bind(request);
	request.destroy = (error) => {
		end(exchange, ENDED_BY_NODE);
		return destroy(error);
	};
	request.prependListener('error', onErrorOf(exchange));
	const onPart = () => {
		if (!recorder.cutsStreams || !isStream(exchange)) return;
		if (endOfEvents(bodyOf(exchange), fullTextOf(exchange)) === 0) return;
		end(exchange, CUT);
		setImmediate(() => request.socket?.destroy());
	};
	request.prependListener('response', (response) => recordAnswer(exchange, response, onPart));
});

/** Returns a listener that records the end of an exchange with an error. */
export const onErrorOf =
	(exchange: Exchange) =>
	({ code, message }: NodeJS.ErrnoException) =>
		end(exchange, code ?? message);

/** Records an answer, which somebody else has to read. `onPart` is called with each part. */
export function recordAnswer(exchange: Exchange, response: IncomingMessage, onPart = () => {}) {
	exchange.status = response.statusCode!;
	exchange.http = response.httpVersion;
	// A copy, because the node's HTTP client removes some.
	exchange.headers = exchange.redact.value(response.headers);
	response.on('error', onErrorOf(exchange));
	response.on('end', () => end(exchange));
	// A listener for `data` would take the parts from the node.
	const push = response.push.bind(response);
	response.push = (part: Buffer | null, encoding) => {
		if (part) keep(exchange, part);
		onPart();
		return push(part, encoding);
	};
}

const keep = (exchange: Exchange, bytes: Buffer) =>
	exchange.parts.push({ ms: since(exchange), bytes });

/** Records a WebSocket, and returns its exchange. */
export function recordSocket(recorder: Recorder, socket: EventTarget, url: string): Exchange {
	const exchange = startExchange(recorder, 'WEBSOCKET', new URL(url));
	socket.addEventListener('open', () => (exchange.status = 101));
	socket.addEventListener('message', ({ data }: Event & { data?: unknown }) =>
		// A binary message is an ArrayBuffer or a Buffer, which `from` takes like a string.
		keep(exchange, Buffer.from(data as string)),
	);
	socket.addEventListener('close', ({ code, reason }: Event & Partial<CloseEvent>) => {
		const why = [code, reason].filter(Boolean).join(' ');
		end(exchange, exchange.status === 101 ? `closed by the service (${why})` : 'refused');
	});
	return exchange;
}

globalThis.WebSocket = class extends WebSocket {
	#exchange: Exchange | undefined;

	constructor(url: string | URL) {
		super(url);
		const recorder = recorders.getStore();
		this.#exchange = recorder && recordSocket(recorder, this, String(url));
	}

	override close(code?: number): void {
		if (this.#exchange) end(this.#exchange, ENDED_BY_NODE);
		super.close(code);
	}
};

/** Returns the body of an answer that arrived with its first `count` parts, without its compression. */
function bodyOf({ headers, parts }: Exchange, count = parts.length): Buffer {
	const bytes = Buffer.concat(parts.slice(0, count).map((part) => part.bytes));
	const coding = headers['content-encoding']?.toLowerCase() ?? '';
	const options = { finishFlush: constants.Z_SYNC_FLUSH };
	try {
		if (/gzip|deflate/.test(coding)) return unzipSync(bytes, options);
		if (coding === 'br')
			return brotliDecompressSync(bytes, { finishFlush: constants.BROTLI_OPERATION_FLUSH });
	} catch {
		// What cannot be decoded is kept as it is.
	}
	return bytes;
}

/** Returns a file; undefined if the answer is text. Only the first bytes tell, because headers may be wrong. */
export function fileIn(exchange: Exchange): Buffer | undefined {
	const body = bodyOf(exchange);
	const start = body.subarray(0, shared.SNIFF_BYTES);
	const isFile =
		exchange.method === 'GET'
			? shared.invalidFileReason(start, undefined) === undefined
			: shared.isMediaFile(start);
	return isFile ? body : undefined;
}

const fullTextOf = (exchange: Exchange) => (fileIn(exchange) ? '' : bodyOf(exchange).toString());
/** Returns the whole text of an answer, without the token; '' for a file. */
export const textOf = (exchange: Exchange) => exchange.redact.text(fullTextOf(exchange));

/** True if the node reads the answer to a create call as an event stream. */
export const isStream = (exchange: Exchange) =>
	exchange.method === 'POST' &&
	exchange.status === 200 &&
	fileIn(exchange) === undefined &&
	shared.formOf(fullTextOf(exchange)) !== 'plain';

/**
 * Returns the text of an answer with times, without the token: of a stream, the events that arrived together; of a
 * WebSocket, each message.
 */
export function textPieces(exchange: Exchange): Array<{ ms: number; text: string }> {
	const { status, parts, redact } = exchange;
	if (status === 101)
		return parts.map(({ ms, bytes }) => ({ ms, text: redact.text(String(bytes)) }));
	const isEvents = isStream(exchange);
	const whole = fullTextOf(exchange);
	let begin = 0;
	return parts.flatMap(({ ms }, index) => {
		const next = parts[index + 1];
		// Unpacking anew for each of thousands of parts would take minutes, so what came within 20 ms is one piece.
		if (next && (!isEvents || Math.floor(next.ms / 20) === Math.floor(ms / 20))) return [];
		const body = bodyOf(exchange, index + 1);
		const stop = next ? endOfEvents(body, whole) : body.length;
		const text = redact.text(body.toString('utf8', begin, stop));
		begin = stop;
		return text === '' ? [] : [{ ms, text }];
	});
}

/** Returns the events of a stream. Those without a name are called `(no name)`. */
export function eventsOf(exchange: Exchange) {
	const events: Array<{ event: string; json: unknown; ms: number }> = [];
	const isLines = shared.formOf(textOf(exchange)) === 'lines';
	for (const { ms, text } of textPieces(exchange)) {
		createParser({
			onEvent: ({ event = '(no name)', data }) =>
				void events.push({ event, json: shared.parseEventData(data), ms }),
		}).feed(isLines ? text.replace(/^.+$/gm, 'data:$&\n') + '\n' : text);
	}
	return events;
}
