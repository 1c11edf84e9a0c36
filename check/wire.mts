/* Records all traffic with the service, as this process sends and receives it. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { brotliDecompressSync, constants, unzipSync } from 'node:zlib';
import { WebSocket as TellingWebSocket } from 'ws';
import { shared } from './shared.mts';

/** A text, or the first bytes of a file. */
interface Piece {
	/** When it arrived, in ms since its exchange began. */
	ms: number;
	text?: string;
	base64?: string;
}

/** One request and its answer, or one WebSocket. */
export type Exchange = Omit<LiveExchange, 'keep' | 'end' | 'fail' | 'answer'>;

/** How many bytes are kept of a file. Without a remainder, they can be part of a text in base64. */
export const FILE_START_BYTES = 24;
/** The `broke` of an exchange that the node has ended. */
export const ENDED_BY_NODE = 'ended by the node';
/** The `broke` of an event stream that the check has cut on purpose. */
export const CUT = 'cut by the check';
/** Matches where an event ends, by the form of the answer. */
const EVENT_END = { events: /(?<=\n\n|\r\r|\n\r\n)/, lines: /(?<=\n)/, plain: /(?!)/ };

/** Returns the text of an answer; '' for a file. */
export const textOf = ({ pieces }: Exchange) => pieces.map(({ text }) => text ?? '').join('');
/** True if an answer is a file. */
export const hasFile = ({ pieces }: Exchange) => pieces[0]?.base64 !== undefined;
/** Returns how the node reads an answer: the one to a create call as events, any other one as `plain`. */
export const formOf = ({ method, status }: Pick<Exchange, 'method' | 'status'>, text: string) =>
	method === 'POST' && status === 200 ? shared.formOf(text) : 'plain';

/** Decodes an answer, which may have been cut. */
function decode(bytes: Buffer, coding?: string): Buffer {
	if (coding === 'br')
		return brotliDecompressSync(bytes, { finishFlush: constants.BROTLI_OPERATION_FLUSH });
	const isZipped = coding === 'gzip' || coding === 'deflate';
	return isZipped ? unzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH }) : bytes;
}

/** An exchange that is being recorded. */
export class LiveExchange {
	/** When the exchange began, in ms since 1970. */
	at = Date.now();
	origin: string;
	method: string;
	/** The path with its query; without it for a WebSocket, because that query contains the token. */
	path: string;
	/** 0 if there was no answer; 101 for an open WebSocket. */
	status = 0;
	http = '';
	headers: IncomingHttpHeaders = {};
	/** When the exchange ended, in ms since it began; undefined if it has not ended. */
	ended?: number;
	/** Why the exchange ended early; for a WebSocket, why it ended. */
	broke?: string;
	readonly #parts: Array<{ ms: number; bytes: Buffer }> = [];

	constructor(method: string, url: URL) {
		this.method = method;
		this.origin = new URL(url.href.replace(/^ws/, 'http')).origin;
		this.path = method === 'WEBSOCKET' ? url.pathname : url.pathname + url.search;
	}

	/** Records a part of the answer, or a message. */
	keep(bytes: Buffer): void {
		this.#parts.push({ ms: Date.now() - this.at, bytes });
	}

	/** Records the end. Only the first call counts. */
	end(broke?: string): void {
		if (this.ended !== undefined) return;
		this.ended = Date.now() - this.at;
		this.broke = broke;
	}

	/** Records the end with an error. */
	fail = ({ code, message }: NodeJS.ErrnoException) => this.end(code ?? message);

	/** Records an answer, which somebody else has to read. `onPart` is called with each part. */
	answer(response: IncomingMessage, onPart = () => {}): void {
		this.status = response.statusCode!;
		this.http = response.httpVersion;
		// A copy, because the node's HTTP client removes some.
		this.headers = { ...response.headers };
		response.on('error', this.fail);
		response.on('end', () => this.end());
		// A listener for `data` would take the parts from the node.
		const push = response.push.bind(response);
		response.push = (part: Buffer | null, encoding) => {
			if (part) this.keep(part);
			onPart();
			return push(part, encoding);
		};
	}

	/** Returns the body without its compression. What cannot be decoded is kept as it is. */
	#body(count = this.#parts.length): Buffer {
		const bytes = Buffer.concat(this.#parts.slice(0, count).map((part) => part.bytes));
		try {
			return decode(bytes, this.headers['content-encoding']?.toLowerCase());
		} catch {
			return bytes;
		}
	}

	/** True for a file. Only the first bytes tell, because headers may be wrong. */
	#isFile(body: Buffer): boolean {
		const start = body.subarray(0, shared.SNIFF_BYTES);
		if (this.method !== 'GET') return shared.isMediaFile(start);
		return this.status !== 101 && shared.invalidFileReason(start, undefined) === undefined;
	}

	/** The size of a file; 0 for a text. */
	get bytes(): number {
		const body = this.#body();
		return this.#isFile(body) ? body.length : 0;
	}

	/** The events of a stream, the messages of a WebSocket, or the one piece of any other answer. */
	get pieces(): Piece[] {
		const parts = this.#parts;
		if (this.status === 101) return parts.map(({ ms, bytes }) => ({ ms, text: `${bytes}` }));
		const body = this.#body();
		if (this.#isFile(body))
			return [{ ms: parts[0]!.ms, base64: body.toString('base64', 0, FILE_START_BYTES) }];
		// One character for each byte, so that the lengths are those of the parts.
		const events = body.toString('latin1').split(EVENT_END[formOf(this, `${body}`)]);
		let last = events.length > 1 ? 0 : parts.length - 1;
		let size = 0;
		return events.filter(Boolean).map((event) => {
			size += event.length;
			while (last < parts.length - 1 && this.#body(last + 1).length < size) last++;
			return { ms: parts[last]!.ms, text: Buffer.from(event, 'latin1').toString() };
		});
	}
}

interface Recorder {
	exchanges: Exchange[];
	/** True to cut each event stream after its first events or comments. */
	cutsStreams?: boolean;
}

const recorders = new AsyncLocalStorage<Recorder>();

/** Runs `act`, and records what it and all that it starts exchange with the service. */
export const record = <T,>(recorder: Recorder, act: () => T): T => recorders.run(recorder, act);

subscribe('http.client.request.created', (message) => {
	const { request } = message as { request: ClientRequest };
	const recorder = recorders.getStore();
	if (!recorder || request.getHeader('upgrade') !== undefined) return;
	const origin = `${request.protocol}//${String(request.getHeader('host'))}`;
	// To a proxy, the path is a whole URL.
	const url = URL.parse(request.path) ?? new URL(origin + request.path);
	const exchange = new LiveExchange(request.method, url);
	recorder.exchanges.push(exchange);
	const destroy = request.destroy.bind(request);
	request.destroy = (error) => {
		exchange.end(ENDED_BY_NODE);
		return destroy(error);
	};
	request.prependListener('error', exchange.fail);
	const onPart = () => {
		const text = recorder.cutsStreams ? textOf(exchange) : '';
		if (!EVENT_END[formOf(exchange, text)].test(text)) return;
		exchange.end(CUT);
		setImmediate(() => request.socket?.destroy());
	};
	request.prependListener('response', (response) => exchange.answer(response, onPart));
});

/** Records a WebSocket, and returns its exchange. */
function recordSocket({ exchanges }: Recorder, socket: EventTarget, url: string): LiveExchange {
	const exchange = new LiveExchange('WEBSOCKET', new URL(url));
	exchanges.push(exchange);
	socket.addEventListener('open', () => (exchange.status = 101));
	socket.addEventListener('message', ({ data }: Event & { data?: unknown }) =>
		// A binary message is an ArrayBuffer or a Buffer, which `from` takes like a string.
		exchange.keep(Buffer.from(data as string)),
	);
	socket.addEventListener('close', ({ code, reason }: Event & Partial<CloseEvent>) => {
		const cause = [code, reason].filter(Boolean).join(' ');
		exchange.end(exchange.status === 101 ? `closed by the service (${cause})` : 'refused');
	});
	return exchange;
}

/** Records a WebSocket that is kept open for `forMs`. This one tells why it was refused. */
export async function holdSocket(url: string, forMs: number, recorder: Recorder): Promise<void> {
	const socket = new TellingWebSocket(url);
	const exchange = recordSocket(recorder, socket as unknown as EventTarget, url);
	socket.on('unexpected-response', (_, response) => {
		exchange.answer(response);
		response.resume();
	});
	socket.on('error', exchange.fail);
	await pause(forMs);
	exchange.end(ENDED_BY_NODE);
	socket.terminate();
}

globalThis.WebSocket = class extends WebSocket {
	#exchange: LiveExchange | undefined;

	constructor(url: string | URL) {
		super(url);
		const recorder = recorders.getStore();
		this.#exchange = recorder && recordSocket(recorder, this, String(url));
	}

	override close(code?: number): void {
		this.#exchange?.end(ENDED_BY_NODE);
		super.close(code);
	}
};
