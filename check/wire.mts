/* Records all traffic with the service, as this process sends and receives it. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { brotliDecompressSync, constants, unzipSync } from 'node:zlib';
import { WebSocket as TellingWebSocket } from 'ws';
import { shared } from './shared.mts';

/** A part of an answer, or one WebSocket message. */
interface Part {
	/** When it arrived, in ms since its exchange began. */
	ms: number;
	bytes: Buffer;
}

/** One request and its answer, or one WebSocket, as it was on the wire. */
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
}

/** An exchange whose answer can be read. */
export interface ReadExchange extends Omit<Exchange, 'parts'> {
	/** The events of a stream, the messages of a WebSocket, or the one piece of any other answer. */
	pieces: Piece[];
	/** The size of a file; 0 for a text. */
	bytes: number;
}

/** A text, or the first bytes of a file. */
interface Piece {
	ms: number;
	text?: string;
	base64?: string;
}

/** How many bytes are kept of a file. Without a remainder, they can be part of a text in base64. */
export const FILE_START_BYTES = 24;
/** The `broke` of an exchange that the node has ended. */
export const ENDED_BY_NODE = 'ended by the node';
/** The `broke` of an event stream that the check has cut on purpose. */
export const CUT = 'cut by the check';

interface Recorder {
	exchanges: Exchange[];
	/** True to cut each event stream after its first events or comments. */
	cutsStreams?: boolean;
}

const recorders = new AsyncLocalStorage<Recorder>();

/** Runs `act`, and records what it and all that it starts exchange with the service. */
export const record = <T,>(recorder: Recorder, act: () => T): T => recorders.run(recorder, act);

function startExchange({ exchanges }: Recorder, method: string, url: URL): Exchange {
	const path = method === 'WEBSOCKET' ? url.pathname : url.pathname + url.search;
	const { origin } = new URL(url.href.replace(/^ws/, 'http'));
	const blank = { status: 0, http: '', headers: {}, parts: [] };
	const exchange: Exchange = { at: Date.now(), origin, method, path, ...blank };
	exchanges.push(exchange);
	return exchange;
}

const since = ({ at }: Exchange) => Date.now() - at;

/** Records the end of an exchange. Only the first call for an exchange counts. */
function end(exchange: Exchange, broke?: string): void {
	if (exchange.ended !== undefined) return;
	exchange.ended = since(exchange);
	exchange.broke = broke;
}

/** Returns a listener that records the end of an exchange with an error. */
const onErrorOf =
	(exchange: Exchange) =>
	({ code, message }: NodeJS.ErrnoException) =>
		end(exchange, code ?? message);

const keep = (exchange: Exchange, bytes: Buffer) =>
	exchange.parts.push({ ms: since(exchange), bytes });

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
		if (!recorder.cutsStreams) return;
		const read = readExchange(exchange);
		if (!EVENT_END[formOf(read)].test(textOf(read))) return;
		end(exchange, CUT);
		setImmediate(() => request.socket?.destroy());
	};
	request.prependListener('response', (response) => recordAnswer(exchange, response, onPart));
});

/** Records an answer, which somebody else has to read. `onPart` is called with each part. */
function recordAnswer(exchange: Exchange, response: IncomingMessage, onPart = () => {}) {
	exchange.status = response.statusCode!;
	exchange.http = response.httpVersion;
	// A copy, because the node's HTTP client removes some.
	exchange.headers = { ...response.headers };
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

/** Records a WebSocket, and returns its exchange. */
function recordSocket(recorder: Recorder, socket: EventTarget, url: string): Exchange {
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

/** Keeps a WebSocket open for `forMs`, or until `stop` aborts. This one tells why it was refused. */
export async function holdSocket(url: string, forMs: number, stop: AbortSignal): Promise<Exchange> {
	const socket = new TellingWebSocket(url);
	const exchange = recordSocket({ exchanges: [] }, socket as unknown as EventTarget, url);
	socket.on('unexpected-response', (_, response) => {
		recordAnswer(exchange, response);
		response.resume();
	});
	socket.on('error', onErrorOf(exchange));
	await pause(forMs, undefined, { signal: stop }).catch(() => {});
	end(exchange, ENDED_BY_NODE);
	socket.terminate();
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

/** Decoders of compressed answers, which may have been cut. */
const DECODERS: Record<string, (bytes: Buffer) => Buffer> = {
	gzip: (bytes) => unzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH }),
	deflate: (bytes) => unzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH }),
	br: (bytes) => brotliDecompressSync(bytes, { finishFlush: constants.BROTLI_OPERATION_FLUSH }),
};

/** Returns the body of an answer without its compression. What cannot be decoded is kept as it is. */
function bodyOf({ headers, parts }: Exchange): Buffer {
	const bytes = Buffer.concat(parts.map((part) => part.bytes));
	try {
		return DECODERS[headers['content-encoding']?.toLowerCase() ?? '']?.(bytes) ?? bytes;
	} catch {
		return bytes;
	}
}

/** True if a body is a file. Only the first bytes tell, because headers may be wrong. */
function isFile(method: string, body: Buffer): boolean {
	const start = body.subarray(0, shared.SNIFF_BYTES);
	return method === 'GET'
		? shared.invalidFileReason(start, undefined) === undefined
		: shared.isMediaFile(start);
}

/** Matches where an event ends, by the form of the answer. */
const EVENT_END = { events: /(?<=\n\n|\r\r|\n\r\n)/, lines: /(?<=\n)/, plain: /(?!)/ };

/** Returns an exchange with its answer in pieces: a stream in its events, a WebSocket in its messages. */
export function readExchange({ parts, ...head }: Exchange): ReadExchange {
	const messages = parts.map(({ ms, bytes }) => ({ ms, text: bytes.toString() }));
	if (head.status === 101) return { ...head, bytes: 0, pieces: messages };
	const bodyUpTo = (count: number) => bodyOf({ ...head, parts: parts.slice(0, count) });
	const body = bodyUpTo(parts.length);
	if (isFile(head.method, body)) {
		const base64 = body.toString('base64', 0, FILE_START_BYTES);
		return { ...head, bytes: body.length, pieces: [{ ms: parts[0]!.ms, base64 }] };
	}
	const whole = { ...head, bytes: 0, pieces: [{ ms: 0, text: body.toString() }] };
	// One character for each byte, so that the lengths are those of the parts.
	const events = body.toString('latin1').split(EVENT_END[formOf(whole)]);
	let last = events.length > 1 ? 0 : parts.length - 1;
	let size = 0;
	const pieces = events.filter(Boolean).map((event) => {
		size += event.length;
		while (last < parts.length - 1 && bodyUpTo(last + 1).length < size) last++;
		return { ms: parts[last]!.ms, text: Buffer.from(event, 'latin1').toString() };
	});
	return { ...whole, pieces };
}

/** Returns the text of an answer; '' for a file. */
export const textOf = ({ pieces }: ReadExchange) => pieces.map(({ text }) => text ?? '').join('');

/** True if an answer is a file. */
export const hasFile = ({ pieces }: ReadExchange) => pieces[0]?.base64 !== undefined;

/** Returns how the node reads the answer to a create call as events; `plain` for any other answer. */
export const formOf = (exchange: ReadExchange) =>
	exchange.method === 'POST' && exchange.status === 200 && !hasFile(exchange)
		? shared.formOf(textOf(exchange))
		: 'plain';
