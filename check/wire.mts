/* Records all traffic with the service: a local proxy server stands in for each of its origins. */
import { once } from 'node:events';
import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { pipeline, type Duplex } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { WebSocket, WebSocketServer } from 'ws';
import { FakeService, type Handler, type Upgrade } from '../test/service/fakeService.mts';
import { shared } from './shared.mts';

/** A part of an answer, or one WebSocket message. */
export interface Piece {
	/** When it arrived, in ms since its exchange began. */
	ms: number;
	text?: string;
	/** The first bytes of a file, in place of `text`. */
	base64?: string;
}

/** One request and its answer, or one WebSocket. */
export interface Exchange {
	by: 'check' | 'node';
	/** When the exchange began, in ms since the check began. */
	at: number;
	origin: string;
	method: string;
	/** The path with its query; without it for a WebSocket, because that query contains the token. */
	path: string;
	body?: string;
	/** 0 if there was no answer; 101 for an open WebSocket. */
	status: number;
	http: string;
	headers: IncomingHttpHeaders;
	pieces: Piece[];
	/** The size of the decoded body, in bytes. */
	bytes: number;
	/** When the exchange ended, in ms since it began. */
	ended?: number;
	/** Why the exchange ended early; for a WebSocket, why it ended. */
	broke?: string;
	/** The close code of a WebSocket. */
	code?: number;
}

/** The `broke` of an exchange that the node has ended, or that was open when the recording ended. */
export const ENDED_BY_NODE = 'ended by the node';
/** The `broke` of an event stream that the check has cut on purpose. */
export const CUT = 'cut by the check';
/** How much of a file is recorded, in bytes. */
const RECORDED_BYTES = 1024;
/** Matches the origin of a URL in JSON. Its slashes may be escaped, and its scheme may be missing. */
const ORIGIN = /(?:(https?:)|(?<=^|"))(\\?\/\\?\/)([\w.:[\]-]+)/g;
/** Matches the start of an answer that is JSON or a web page, and so no event stream. */
const NO_STREAM = /^\s*[[{<]/;
const DECODERS = { gzip: createGunzip, br: createBrotliDecompress, deflate: createInflate };

export const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
export const textOf = ({ pieces }: Exchange) => pieces.map(({ text }) => text ?? '').join('');
/** True if the node reads the answer to a create call as an event stream. */
export const isStream = (exchange: Exchange) =>
	exchange.status === 200 && !NO_STREAM.test(textOf(exchange));

const decoderOf = ({ headers }: IncomingMessage) =>
	DECODERS[headers['content-encoding'] as keyof typeof DECODERS];

function decoded(answer: IncomingMessage) {
	const decoder = decoderOf(answer);
	return decoder ? pipeline(answer, decoder(), () => {}) : answer;
}

/** Refuses a WebSocket handshake with an HTTP status. */
export const refuse = (socket: Duplex, status: number) =>
	void socket.end(`HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);

/**
 * Closes a WebSocket with the close code of another one. Some codes, such as 1006, mean that no close frame was sent;
 * then the connection is cut.
 */
export function closeWith(socket: WebSocket, code = 1006): void {
	try {
		socket.close(code);
	} catch {
		socket.terminate();
	}
}

/** The local proxy servers, and the exchanges that went through them. */
export class Wire {
	readonly exchanges: Exchange[] = [];
	/** Who sends the requests at present. */
	by: Exchange['by'] = 'node';
	/** True to cut each event stream after its first events, on the side of the node and of the service. */
	cutStreams = false;
	readonly #began = performance.now();
	readonly #servers = new Map<string, Promise<FakeService>>();
	readonly #sockets = new WebSocketServer({ noServer: true });
	/** The origins of the service, by the URLs of the local servers that stand in for them. */
	readonly #origins = new Map<string, string>();

	/** Resolves with the local URL that stands in for a URL of the service, without its query. */
	async localUrlOf(address: string): Promise<string> {
		const { origin, pathname } = new URL(address.replace(/^ws/, 'http'));
		const server =
			this.#servers.get(origin) ??
			FakeService.start(this.#onRequest(origin), this.#onUpgrade(origin));
		this.#servers.set(origin, server);
		const { url } = await server;
		this.#origins.set(url, origin);
		return url + pathname.replace(/\/$/, '');
	}

	/** Returns a text of the node with the service's origins in place of the local URLs. */
	withRealOrigins = (text: string) =>
		[...this.#origins].reduce(
			(all, [local, origin]) =>
				// An error may name only the host.
				all.replaceAll(local, origin).replaceAll(new URL(local).host, new URL(origin).host),
			text,
		);

	/** Stops the local servers, and ends the exchanges that are still open. */
	async close(): Promise<void> {
		for (const server of this.#servers.values()) await (await server).stop();
		for (const exchange of this.exchanges) this.#end(exchange, ENDED_BY_NODE);
	}

	/** Starts the record of an exchange. */
	#startExchange(origin: string, method: string, path: string): Exchange {
		const blank = { status: 0, http: '', headers: {}, pieces: [], bytes: 0 };
		const at = Math.round(performance.now() - this.#began);
		const exchange: Exchange = { by: this.by, at, origin, method, path, ...blank };
		this.exchanges.push(exchange);
		return exchange;
	}

	#since = ({ at }: Exchange) => Math.round(performance.now() - this.#began - at);

	/** Records the end of an exchange. Only the first call for an exchange counts. */
	#end(exchange: Exchange, broke?: string, code?: number): void {
		if (exchange.ended !== undefined) return;
		Object.assign(exchange, { ended: this.#since(exchange), broke: exchange.broke ?? broke, code });
	}

	#onUpgrade = (origin: string): Upgrade => {
		return (request, socket, early) => {
			const exchange = this.#startExchange(origin, 'WEBSOCKET', request.url!.split('?')[0]!);
			const address = origin.replace(/^http/, 'ws') + request.url;
			const upstream = new WebSocket(address, { handshakeTimeout: 10_000 });
			const disconnect = () => upstream.terminate();
			upstream.on('unexpected-response', (_, { statusCode = 0, headers }) => {
				Object.assign(exchange, { status: statusCode, headers });
				this.#end(exchange, `HTTP ${statusCode}`);
				refuse(socket, statusCode);
				disconnect();
			});
			upstream.on('error', (error) => this.#end(exchange, causeOf(error)));
			upstream.on('close', (code) => {
				this.#end(exchange, `closed by the service (${code})`, code);
				if (exchange.status === 0) socket.destroy();
			});
			socket.on('close', () => {
				this.#end(exchange, ENDED_BY_NODE);
				disconnect();
			});
			upstream.on('open', () => {
				exchange.status = 101;
				this.#sockets.handleUpgrade(request, socket, early, (opened) => {
					opened.on('error', disconnect);
					upstream.on('message', (data: Buffer) => opened.send(data.toString('utf8')));
					upstream.on('close', (code) => closeWith(opened, code));
				});
			});
			upstream.on('message', (data: Buffer) => {
				exchange.pieces.push({ ms: this.#since(exchange), text: data.toString('utf8') });
			});
		};
	};

	#onRequest = (origin: string): Handler => {
		return async (request, response) => {
			const exchange = this.#startExchange(origin, request.method!, request.url!);
			const closing = new AbortController();
			response.on('close', () => {
				if (!response.writableFinished) this.#end(exchange, ENDED_BY_NODE);
				closing.abort();
			});
			try {
				const body = Buffer.concat((await request.toArray()) as Buffer[]);
				if (body.length > 0) exchange.body = body.toString('utf8');
				const send = origin.startsWith('https:') ? httpsRequest : httpRequest;
				const headers = { ...request.headers, host: new URL(origin).host };
				const { signal } = closing;
				const onward = send(origin + request.url, { method: request.method, headers, signal });
				onward.end(body);
				const [answer] = (await once(onward, 'response')) as [IncomingMessage];
				onward.on('error', () => {});
				exchange.status = answer.statusCode!;
				exchange.http = answer.httpVersion;
				exchange.headers = answer.headers;
				const coding = answer.headers['content-encoding'];
				if (coding) answer.headers['content-encoding'] = coding.toLowerCase().replace(/^x-/, '');
				await this.#forward(exchange, answer, response);
				this.#end(exchange);
				response.end();
			} catch (error) {
				this.#end(exchange, causeOf(error));
				if (response.headersSent) request.socket.destroySoon();
				else request.socket.resetAndDestroy();
			}
		};
	};

	/**
	 * Forwards an answer to the node. Text is forwarded in whole events or, without a stream, all at once, because a
	 * URL that is torn apart could not be replaced.
	 */
	async #forward(exchange: Exchange, answer: IncomingMessage, response: Parameters<Handler>[1]) {
		const decoder = new TextDecoder();
		let isFile = false;
		let unsentText = '';
		const isCreate = exchange.method === 'POST';
		const sendHead = async () => {
			if (response.headersSent) return;
			const headers = { ...answer.headers };
			delete headers['transfer-encoding'];
			// Decoding and replaced URLs change the length of the body.
			if (!isFile || headers['content-encoding']) delete headers['content-length'];
			if (decoderOf(answer)) delete headers['content-encoding'];
			if (headers.location)
				headers.location = await this.#withLocalUrls(exchange, headers.location);
			response.writeHead(exchange.status, headers);
			response.flushHeaders();
		};
		const sendText = async (text: string) => {
			if (text === '') return;
			exchange.pieces.push({ ms: this.#since(exchange), text });
			const local = await this.#withLocalUrls(exchange, text);
			await sendHead();
			response.write(local);
		};
		// The head is forwarded at once, because the node measures from there how long a stream has been open.
		if (isCreate) await sendHead();
		const body = decoded(answer);
		const { head, isWhole } = await shared.peek(body, isCreate ? 0 : RECORDED_BYTES);
		// Only the bytes show if it is a file: a Content-Type may be wrong, and URLs in any text must be replaced.
		isFile = !isCreate && shared.invalidFileReason(head, undefined) === undefined;
		for await (const part of (isWhole ? [head] : body) as AsyncIterable<Buffer>) {
			exchange.bytes += part.length;
			if (isFile) {
				await sendHead();
				if (!response.write(part)) await once(response, 'drain');
				continue;
			}
			unsentText += decoder.decode(part, { stream: true });
			if (!isCreate || NO_STREAM.test(unsentText)) continue;
			const end = /^[^]*(?:\n\n|\r\r|\n\r\n)/.exec(unsentText)?.[0].length ?? 0;
			await sendText(unsentText.slice(0, end));
			unsentText = unsentText.slice(end);
			if (this.cutStreams && exchange.pieces.length > 0) throw new Error(CUT);
		}
		await sendText(unsentText + decoder.decode());
		const base64 = head.toString('base64', 0, RECORDED_BYTES);
		if (isFile) exchange.pieces.push({ ms: this.#since(exchange), base64 });
		await sendHead();
	}

	/** Resolves with the text in which local URLs replace the origins. */
	async #withLocalUrls({ origin: from }: Exchange, text: string): Promise<string> {
		const local = new Map<string, string>();
		for (const [whole, scheme = new URL(from).protocol, , host] of text.matchAll(ORIGIN)) {
			const origin = URL.parse(`${scheme}//${host}`)?.origin;
			if (origin) local.set(whole, await this.localUrlOf(origin));
		}
		return text.replace(ORIGIN, (whole, _, slashes: string) => {
			return local.get(whole)?.replace('//', slashes) ?? whole;
		});
	}
}

const causeOf = (error: unknown) =>
	(error as NodeJS.ErrnoException).code ?? (error as Error).message;
