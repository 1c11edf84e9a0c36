/*
 * Everything that goes over the wire, noted down: what the check asks itself, and what the node asks
 * through a local server that stands in for each origin.
 */
import { once } from 'node:events';
import {
	createServer,
	request as httpRequest,
	type IncomingHttpHeaders,
	type IncomingMessage,
	type Server,
	type ServerResponse,
} from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { WebSocket, WebSocketServer } from 'ws';

/** A part of an answer, or one message, with the milliseconds since its exchange began. */
export interface Piece {
	ms: number;
	text?: string;
	base64?: string;
}

export interface Exchange {
	by: 'check' | 'node';
	/** Milliseconds since the check began. */
	at: number;
	origin: string;
	method: string;
	/** With its query. */
	path: string;
	body?: string;
	/** 0 if there was no answer; 101 for an open WebSocket. */
	status: number;
	http: string;
	headers: IncomingHttpHeaders;
	pieces: Piece[];
	/** Size of the decoded body. */
	bytes: number;
	/** Why it ended before its time. */
	broke?: string;
}

/** How much of a file is kept, in bytes. */
const KEPT = 1024;
const TEXT = /json|text\/|event-stream|xml/;
/** An address's origin within JSON, whose slashes may be escaped. */
const ORIGIN = /(https?):(\\?\/\\?\/)([\w.:[\]-]+)/g;

export const textOf = ({ pieces }: Exchange) => pieces.map(({ text }) => text ?? '').join('');
export const isStream = ({ headers }: Exchange) =>
	/event-stream/.test(headers['content-type'] ?? '');

function decoded(response: IncomingMessage) {
	const decoders = { gzip: createGunzip, br: createBrotliDecompress, deflate: createInflate };
	const make = decoders[response.headers['content-encoding'] as keyof typeof decoders];
	if (!make) return response;
	response.on('error', (error) => decoder.destroy(error));
	const decoder = response.pipe(make());
	return decoder;
}

export class Wire {
	readonly exchanges: Exchange[] = [];
	/** Ends each event stream to the node, and to the service, after its first piece. */
	cutStreams = false;
	readonly #began = performance.now();
	readonly #servers = new Map<string, Promise<{ server: Server; url: string }>>();
	readonly #sockets = new Set<Socket>();
	/** The origins behind the local servers' ones. */
	readonly aliases = new Map<string, string>();

	#note(by: Exchange['by'], origin: string, method: string, path: string): Exchange {
		const at = Math.round(performance.now() - this.#began);
		const blank = { status: 0, http: '', headers: {}, pieces: [], bytes: 0 };
		const exchange: Exchange = { by, at, origin, method, path, ...blank };
		this.exchanges.push(exchange);
		return exchange;
	}

	#since = ({ at }: Exchange) => Math.round(performance.now() - this.#began - at);

	/** Sends a request; resolves with the head of the answer, or throws what prevents it. */
	async #send(exchange: Exchange, headers: IncomingHttpHeaders, body?: Buffer, ms?: number) {
		const send = exchange.origin.startsWith('https:') ? httpsRequest : httpRequest;
		const { method, path } = exchange;
		const signal = ms === undefined ? undefined : AbortSignal.timeout(ms);
		const request = send(exchange.origin + path, { method, headers, signal });
		request.end(body);
		const [response] = (await once(request, 'response')) as [IncomingMessage];
		exchange.status = response.statusCode!;
		exchange.http = response.httpVersion;
		exchange.headers = response.headers;
		return response;
	}

	/** Reads an address by a GET of the check's own. Never throws: `broke` says why there is no answer. */
	async ask(url: string, headers: IncomingHttpHeaders, ms = 10_000): Promise<Exchange> {
		const { origin, pathname, search } = new URL(url);
		const exchange = this.#note('check', origin, 'GET', pathname + search);
		try {
			const response = await this.#send(
				exchange,
				{ 'accept-encoding': 'gzip, br', ...headers },
				undefined,
				ms,
			);
			const chunks: Buffer[] = [];
			for await (const chunk of decoded(response)) chunks.push(chunk as Buffer);
			const body = Buffer.concat(chunks);
			exchange.bytes = body.length;
			exchange.pieces.push({ ms: this.#since(exchange), text: body.toString('utf8') });
		} catch (error) {
			exchange.broke = messageOf(error);
		}
		return exchange;
	}

	/** Opens the WebSocket, listens for `ms` and closes it. `broke` says why it was not open so long. */
	async listen(url: string, ms: number): Promise<Exchange> {
		const { origin, pathname } = new URL(url.replace(/^ws/, 'http'));
		const exchange = this.#note('check', origin, 'WEBSOCKET', pathname);
		const socket = this.#connect(url, exchange);
		await new Promise<void>((resolve) => {
			const timer = setTimeout(() => socket.close(), ms);
			const late = setTimeout(() => {
				exchange.broke = 'never closed';
				socket.terminate();
			}, ms + 5000);
			socket.on('close', (code) => {
				if (this.#since(exchange) < ms) exchange.broke ??= `closed by the service (${code})`;
				clearTimeout(timer);
				clearTimeout(late);
				resolve();
			});
		});
		return exchange;
	}

	#connect(url: string, exchange: Exchange): WebSocket {
		const socket = new WebSocket(url, { handshakeTimeout: 10_000 });
		const note = (text: string) => exchange.pieces.push({ ms: this.#since(exchange), text });
		socket.on('unexpected-response', (_, response) => {
			exchange.status = response.statusCode!;
			exchange.headers = response.headers;
			exchange.broke = `HTTP ${response.statusCode}`;
			socket.terminate();
		});
		socket.on('open', () => (exchange.status = 101));
		socket.on('message', (data: Buffer) => note(data.toString('utf8')));
		socket.on('error', (error) => (exchange.broke ??= messageOf(error)));
		return socket;
	}

	/** The local address through which the node reaches an origin. */
	async through(origin: string): Promise<string> {
		const made = this.#servers.get(origin) ?? this.#open(origin);
		this.#servers.set(origin, made);
		return (await made).url;
	}

	async #open(origin: string) {
		const server = createServer((request, response) => void this.#pass(origin, request, response));
		server.on('connection', (socket) => {
			this.#sockets.add(socket);
			socket.on('close', () => this.#sockets.delete(socket));
		});
		const sockets = new WebSocketServer({ noServer: true });
		server.on('upgrade', (request, socket, head) => {
			this.#passSocket(sockets, origin, request, socket, head);
		});
		await once(server.listen(0, '127.0.0.1'), 'listening');
		const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
		this.aliases.set(url, origin);
		return { server, url };
	}

	#passSocket(
		server: WebSocketServer,
		origin: string,
		request: IncomingMessage,
		socket: Duplex,
		head: Buffer,
	) {
		const exchange = this.#note('node', origin, 'WEBSOCKET', request.url!.split('?')[0]!);
		const upstream = this.#connect(origin.replace(/^http/, 'ws') + request.url, exchange);
		upstream.on('close', () => socket.destroy());
		socket.on('error', () => socket.destroy());
		socket.on('close', () => upstream.terminate());
		upstream.on('open', () => {
			server.handleUpgrade(request, socket, head, (opened) => {
				upstream.on('message', (data: Buffer) => opened.send(data.toString('utf8')));
				opened.on('error', () => opened.terminate());
				opened.on('close', () => upstream.close());
			});
		});
	}

	async #pass(origin: string, request: IncomingMessage, response: ServerResponse) {
		const exchange = this.#note('node', origin, request.method!, request.url!);
		try {
			const chunks: Buffer[] = [];
			for await (const chunk of request) chunks.push(chunk as Buffer);
			const body = Buffer.concat(chunks);
			if (body.length > 0) exchange.body = body.toString('utf8');
			const headers = {
				...request.headers,
				host: new URL(origin).host,
				'accept-encoding': 'identity',
			};
			const answer = await this.#send(exchange, headers, body);
			response.on('close', () => {
				if (!response.writableFinished) exchange.broke ??= 'ended by the node';
				answer.destroy();
			});
			const {
				location,
				'content-encoding': encoding,
				'content-length': length,
				...rest
			} = answer.headers;
			const isText = TEXT.test(rest['content-type'] ?? '');
			const more = {
				...(location ? { location: await this.#rewritten(location) } : {}),
				...(length && !encoding && !isText ? { 'content-length': length } : {}),
			};
			delete rest['transfer-encoding'];
			response.writeHead(exchange.status, { ...rest, ...more }).flushHeaders();
			await (isText
				? this.#passText(exchange, answer, response)
				: this.#passFile(exchange, answer, response));
			response.end();
		} catch (error) {
			exchange.broke ??= messageOf(error);
			request.socket.resetAndDestroy();
		}
	}

	/** Text goes on by whole lines in a stream, else as a whole: no address in it may be torn apart. */
	async #passText(exchange: Exchange, answer: IncomingMessage, response: ServerResponse) {
		const decoder = new TextDecoder();
		let rest = '';
		const put = async (text: string) => {
			if (text === '') return;
			exchange.pieces.push({ ms: this.#since(exchange), text });
			response.write(await this.#rewritten(text));
		};
		for await (const chunk of decoded(answer)) {
			exchange.bytes += (chunk as Buffer).length;
			rest += decoder.decode(chunk as Buffer, { stream: true });
			if (!isStream(exchange)) continue;
			const end = rest.lastIndexOf('\n') + 1;
			await put(rest.slice(0, end));
			rest = rest.slice(end);
			if (!this.cutStreams || exchange.pieces.length === 0) continue;
			exchange.broke = 'cut by the check';
			throw new Error(exchange.broke);
		}
		await put(rest + decoder.decode());
	}

	async #passFile(exchange: Exchange, answer: IncomingMessage, response: ServerResponse) {
		let kept = Buffer.alloc(0);
		for await (const chunk of decoded(answer)) {
			exchange.bytes += (chunk as Buffer).length;
			if (kept.length < KEPT) kept = Buffer.concat([kept, chunk as Buffer]).subarray(0, KEPT);
			if (!response.write(chunk)) await once(response, 'drain');
		}
		exchange.pieces.push({ ms: this.#since(exchange), base64: kept.toString('base64') });
	}

	/** The text with the local servers' addresses in place of the origins'. */
	async #rewritten(text: string): Promise<string> {
		const local = new Map<string, string>();
		for (const [whole, scheme, , host] of text.matchAll(ORIGIN)) {
			const origin = URL.parse(`${scheme}://${host}`)?.origin;
			if (origin) local.set(whole, await this.through(origin));
		}
		return text.replace(ORIGIN, (whole, _, slashes: string) => {
			return local.get(whole)?.replace('//', slashes) ?? whole;
		});
	}

	async close(): Promise<void> {
		for (const made of this.#servers.values()) (await made).server.close();
		for (const socket of this.#sockets) socket.destroy();
	}
}

function messageOf(error: unknown): string {
	const { code, message, name } = error as NodeJS.ErrnoException;
	return name === 'AbortError' || name === 'TimeoutError'
		? 'no answer within 10 s'
		: (code ?? message);
}
