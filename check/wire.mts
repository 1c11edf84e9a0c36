/* Notes everything that goes over the wire: a local server stands in for each origin of the service. */
import { once } from 'node:events';
import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { pipeline, type Duplex } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { WebSocket, WebSocketServer } from 'ws';
import { FakeService, type Handler, type Upgrade } from '../test/service/fakeService.mts';
import { fileTypeOf, invalidFileReason, peek } from './reading.mts';

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
	/** Milliseconds until it ended. */
	ended?: number;
	/** Why it ended before its time; of a WebSocket with the code of its close frame. */
	broke?: string;
	code?: number;
}

/** Why an exchange ended that the other side had not ended. */
export const ENDED_BY_NODE = 'ended by the node';
/** Why an event stream ended that was to be cut. */
export const CUT = 'cut by the check';
/** How much of a file is kept, in bytes. */
const KEPT = 1024;
/** An address's origin within JSON, whose slashes may be escaped, and whose scheme may be left out. */
const ORIGIN = /(?:(https?:)|(?<=^|"))(\\?\/\\?\/)([\w.:[\]-]+)/g;
/** How an answer to a create call begins that is no event stream: as JSON or a page. */
const PLAIN = /^\s*[[{<]/;
const DECODERS = { gzip: createGunzip, br: createBrotliDecompress, deflate: createInflate };

export const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
export const textOf = ({ pieces }: Exchange) => pieces.map(({ text }) => text ?? '').join('');
/** Whether the node reads the answer to a create call as an event stream. */
export const isStream = (exchange: Exchange) =>
	exchange.status === 200 && !PLAIN.test(textOf(exchange));

const decoderOf = ({ headers }: IncomingMessage) =>
	DECODERS[headers['content-encoding'] as keyof typeof DECODERS];

function decoded(answer: IncomingMessage) {
	const decoder = decoderOf(answer);
	return decoder ? pipeline(answer, decoder(), () => {}) : answer;
}

/** Refuses a WebSocket's handshake. */
export const refuse = (socket: Duplex, status: number) =>
	void socket.end(`HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);

/** Closes a WebSocket with the code of another one; some codes say that there was no close frame. */
export function closeWith(socket: WebSocket, code = 1006): void {
	try {
		socket.close(code);
	} catch {
		socket.terminate();
	}
}

/** Whether the first bytes show a file's type: if not, the node believes the header, here one that no bytes show. */
const isMedia = (start: Buffer) =>
	fileTypeOf(start, 'audio/webm', 'http://file.invalid', 'video').mimeType !== 'audio/webm';

export class Wire {
	readonly exchanges: Exchange[] = [];
	/** Who asks. */
	by: Exchange['by'] = 'check';
	/** Ends each event stream to the node, and to the service, after its first events. */
	cutStreams = false;
	readonly #began = performance.now();
	readonly #locals = new Map<string, Promise<FakeService>>();
	readonly #sockets = new WebSocketServer({ noServer: true });
	/** By the local addresses that stand in for them. */
	readonly #origins = new Map<string, string>();

	/** The local address through which an address of the service is reached, without its query. */
	async through(address: string): Promise<string> {
		const { origin, pathname } = new URL(address.replace(/^ws/, 'http'));
		const made =
			this.#locals.get(origin) ?? FakeService.start(this.#pass(origin), this.#passSocket(origin));
		this.#locals.set(origin, made);
		const { url } = await made;
		this.#origins.set(url, origin);
		return url + pathname.replace(/\/$/, '');
	}

	/** A text of the node, which knows the service by the local addresses. */
	real = (text: string) =>
		[...this.#origins].reduce((all, [local, origin]) => all.replaceAll(local, origin), text);

	/** What is still open ends here, and is noted as such. */
	async close(): Promise<void> {
		for (const made of this.#locals.values()) await (await made).stop();
		for (const exchange of this.exchanges) this.#end(exchange, ENDED_BY_NODE);
	}

	#note(origin: string, method: string, path: string): Exchange {
		const blank = { status: 0, http: '', headers: {}, pieces: [], bytes: 0 };
		const at = Math.round(performance.now() - this.#began);
		const exchange: Exchange = { by: this.by, at, origin, method, path, ...blank };
		this.exchanges.push(exchange);
		return exchange;
	}

	#since = ({ at }: Exchange) => Math.round(performance.now() - this.#began - at);

	/** Notes the end of an exchange; the first to say why is right. */
	#end(exchange: Exchange, broke?: string, code?: number): void {
		if (exchange.ended !== undefined) return;
		Object.assign(exchange, { ended: this.#since(exchange), broke: exchange.broke ?? broke, code });
	}

	#passSocket = (origin: string): Upgrade => {
		return (request, socket, early) => {
			const exchange = this.#note(origin, 'WEBSOCKET', request.url!.split('?')[0]!);
			const address = origin.replace(/^http/, 'ws') + request.url;
			const upstream = new WebSocket(address, { handshakeTimeout: 10_000 });
			const leave = () => upstream.terminate();
			upstream.on('unexpected-response', (_, { statusCode = 0, headers }) => {
				Object.assign(exchange, { status: statusCode, headers });
				this.#end(exchange, `HTTP ${statusCode}`);
				refuse(socket, statusCode);
				leave();
			});
			upstream.on('error', (error) => this.#end(exchange, causeOf(error)));
			upstream.on('close', (code) => {
				this.#end(exchange, `closed by the service (${code})`, code);
				if (exchange.status === 0) socket.destroy();
			});
			socket.on('close', () => {
				this.#end(exchange, ENDED_BY_NODE);
				leave();
			});
			upstream.on('open', () => {
				exchange.status = 101;
				this.#sockets.handleUpgrade(request, socket, early, (opened) => {
					opened.on('error', leave);
					upstream.on('message', (data: Buffer) => opened.send(data.toString('utf8')));
					upstream.on('close', (code) => closeWith(opened, code));
				});
			});
			upstream.on('message', (data: Buffer) => {
				exchange.pieces.push({ ms: this.#since(exchange), text: data.toString('utf8') });
			});
		};
	};

	#pass = (origin: string): Handler => {
		return async (request, response) => {
			const exchange = this.#note(origin, request.method!, request.url!);
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
				await this.#answer(exchange, answer, response);
				this.#end(exchange);
				response.end();
			} catch (error) {
				this.#end(exchange, causeOf(error));
				if (response.headersSent) request.socket.destroySoon();
				else request.socket.resetAndDestroy();
			}
		};
	};

	/** Text goes on by whole events in a stream, else as a whole: no address in it may be torn apart. */
	async #answer(exchange: Exchange, answer: IncomingMessage, response: Parameters<Handler>[1]) {
		const decoder = new TextDecoder();
		let isFile = false;
		let rest = '';
		const isCreate = exchange.method === 'POST';
		const begin = async () => {
			if (response.headersSent) return;
			const headers = { ...answer.headers };
			delete headers['transfer-encoding'];
			// What is decoded, or has other addresses in it, has another length.
			if (!isFile || headers['content-encoding']) delete headers['content-length'];
			if (decoderOf(answer)) delete headers['content-encoding'];
			if (headers.location) headers.location = await this.#local(exchange, headers.location);
			response.writeHead(exchange.status, headers);
			response.flushHeaders();
		};
		const put = async (text: string) => {
			if (text === '') return;
			exchange.pieces.push({ ms: this.#since(exchange), text });
			const local = await this.#local(exchange, text);
			await begin();
			response.write(local);
		};
		// The node counts from here how long a stream has been open.
		if (isCreate) await begin();
		const body = decoded(answer);
		const { head, isWhole } = await peek(body, isCreate ? 0 : KEPT);
		// The type that a header names may be wrong, and what is text has to be searched.
		isFile = !isCreate && invalidFileReason(head, undefined) === undefined;
		for await (const part of (isWhole ? [head] : body) as AsyncIterable<Buffer>) {
			exchange.bytes += part.length;
			if (isFile) {
				await begin();
				if (!response.write(part)) await once(response, 'drain');
				continue;
			}
			rest += decoder.decode(part, { stream: true });
			if (!isCreate || PLAIN.test(rest)) continue;
			const end = /^[^]*(?:\n\n|\r\r|\n\r\n)/.exec(rest)?.[0].length ?? 0;
			await put(rest.slice(0, end));
			rest = rest.slice(end);
			if (this.cutStreams && exchange.pieces.length > 0) throw new Error(CUT);
		}
		await put(rest + decoder.decode());
		// What is compressed looks like a file, and may contain anything.
		const base64 = isMedia(head) ? head.toString('base64', 0, KEPT) : '';
		if (isFile) exchange.pieces.push({ ms: this.#since(exchange), base64 });
		await begin();
	}

	/** The text with the local servers' addresses in place of the origins'. */
	async #local({ origin: from }: Exchange, text: string): Promise<string> {
		const local = new Map<string, string>();
		for (const [whole, scheme = new URL(from).protocol, , host] of text.matchAll(ORIGIN)) {
			const origin = URL.parse(`${scheme}//${host}`)?.origin;
			if (origin) local.set(whole, await this.through(origin));
		}
		return text.replace(ORIGIN, (whole, _, slashes: string) => {
			return local.get(whole)?.replace('//', slashes) ?? whole;
		});
	}
}

const causeOf = (error: unknown) =>
	(error as NodeJS.ErrnoException).code ?? (error as Error).message;
