import { once } from 'node:events';
import {
	createServer,
	type IncomingMessage,
	type OutgoingHttpHeaders,
	type Server,
	type ServerResponse,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Readable } from 'node:stream';
import type { PlainReply } from './replies.mts';
import type { FaultAction, RequestRecord } from './types.mts';
import type { Simulator } from './state.mts';

/** One request and its answer. */
export interface Exchange {
	/** What tests see of the request. */
	record: RequestRecord;
	url: URL;
	request: IncomingMessage;
	response: ServerResponse;
	/** True once the simulator itself has cut the connection. Then the client is not recorded as having closed it. */
	cutByService: boolean;
	/** True if the request has a body that is not JSON. */
	hasInvalidBody: boolean;
}

/** A running HTTP server. */
export interface RunningServer {
	server: Server;
	port: number;
	/** Stops listening and ends every connection at once. */
	close(): Promise<void>;
}

/**
 * Starts an HTTP server that records each request and then calls `handleExchange`. `port` 0 is any free port. Resolves
 * once the server listens; rejects if the port is in use.
 */
export async function listen(
	sim: Simulator,
	on: 'api' | 'file',
	port: number,
	handleExchange: (exchange: Exchange) => Promise<void> | void,
): Promise<RunningServer> {
	const connections = new Set<Socket>();
	const server = createServer((request, response) => {
		void receive(sim, on, request, response, handleExchange);
	});
	// Node's time limit for requests would cut big uploads over slow links.
	server.requestTimeout = 0;
	server.on('connection', (socket) => {
		connections.add(socket);
		socket.on('close', () => connections.delete(socket));
	});
	await once(server.listen(port, sim.options.host), 'listening');
	return {
		server,
		port: (server.address() as AddressInfo).port,
		close: () =>
			new Promise((resolve) => {
				server.close(() => resolve());
				for (const socket of connections) socket.destroy();
			}),
	};
}

/** Creates the record of a request. The caller adds it to `simulator.requests`. */
export const recordOf = (
	receivedBy: RequestRecord['receivedBy'],
	request: IncomingMessage,
	url: URL,
): RequestRecord => ({
	receivedBy,
	method: request.method!,
	path: url.pathname,
	query: Object.fromEntries(url.searchParams),
	headers: request.headers,
	body: undefined,
	arrivedAt: Date.now(),
	status: 0,
	closedByClient: false,
});

/** The URL of a request; if it cannot be parsed, the URL with the path `/`. */
export function urlOf(request: IncomingMessage): URL {
	// After two leading slashes, the first part of the path would be parsed as a host name.
	const path = request.url!.replace(/^\/+/, '/');
	return URL.parse(path, 'http://simulator') ?? new URL('http://simulator/');
}

/**
 * Reads the body of a request, records the request, and calls `handleExchange`. If that throws, the answer is a 500.
 */
async function receive(
	sim: Simulator,
	on: 'api' | 'file',
	request: IncomingMessage,
	response: ServerResponse,
	handleExchange: (exchange: Exchange) => Promise<void> | void,
): Promise<void> {
	const url = urlOf(request);
	const record = recordOf(on, request, url);
	const exchange: Exchange = {
		record,
		url,
		request,
		response,
		cutByService: false,
		hasInvalidBody: false,
	};
	sim.openExchanges.add(exchange);
	let isRecorded = false;
	const addRecord = () => {
		if (!isRecorded) sim.requests.push(record);
		isRecorded = true;
	};
	response.on('close', () => {
		sim.openExchanges.delete(exchange);
		record.closedByClient =
			!response.writableFinished && !exchange.cutByService && !sim.closeController.signal.aborted;
		addRecord();
		sim.notifyWaiters();
	});
	try {
		await readBody(exchange);
		addRecord();
		sim.notifyWaiters();
		await handleExchange(exchange);
	} catch (error) {
		// There is no error to report if the client has gone. `request.destroyed` does not show that, because it is
		// true as soon as the body was read.
		if (response.destroyed || !request.complete) return;
		// `emitWarning` does not accept an Error of another realm, such as Jest's, so the error is passed as text.
		process.emitWarning(String(error));
		if (response.headersSent) cutOff(exchange);
		else send(sim, exchange, { status: 500, body: { error: `simulator: ${error}` } });
	}
}

/** Reads the JSON body of a request into its record. */
async function readBody(exchange: Exchange): Promise<void> {
	const chunks: Buffer[] = [];
	for await (const chunk of exchange.request) chunks.push(chunk as Buffer);
	if (chunks.length === 0) return;
	try {
		exchange.record.body = JSON.parse(Buffer.concat(chunks).toString('utf8'));
	} catch {
		exchange.hasInvalidBody = true;
	}
}

/** Writes the status and headers of an answer. The Date header has the time of the service's clock. */
export function writeHead(
	sim: Simulator,
	exchange: Exchange,
	status: number,
	headers: OutgoingHttpHeaders,
): void {
	exchange.record.status = status;
	exchange.response.writeHead(status, { Date: sim.now().toUTCString(), ...headers });
	sim.notifyWaiters();
}

/** Sends a whole answer. A string or a Buffer is sent as it is, anything else as JSON. */
export function send(sim: Simulator, exchange: Exchange, reply: PlainReply): void {
	if (exchange.response.destroyed) return;
	const { status, headers } = reply;
	const isRaw = typeof reply.body === 'string' || Buffer.isBuffer(reply.body);
	const text = isRaw ? (reply.body as string | Buffer) : JSON.stringify(reply.body);
	const body = typeof text === 'string' ? Buffer.from(text) : text;
	const type = isRaw ? {} : { 'Content-Type': 'application/json; charset=utf-8' };
	writeHead(sim, exchange, status, { ...type, 'Content-Length': body.length, ...headers });
	// A large body is written in chunks, because Node notices only between two writes that the client has closed the
	// connection. In one piece, the whole body would count as sent.
	if (body.length <= CHUNK_BYTES) exchange.response.end(body);
	else Readable.from(splitIntoChunks(body)).pipe(exchange.response);
}

/** The size of the chunks of a large body, in bytes. */
const CHUNK_BYTES = 1024 * 1024;

function* splitIntoChunks(body: Buffer): Iterable<Buffer> {
	for (let offset = 0; offset < body.length; offset += CHUNK_BYTES)
		yield body.subarray(offset, offset + CHUNK_BYTES);
}

/** Cuts a connection from the service's side. Bytes of the answer that were written before still arrive. */
export function cutOff(exchange: Exchange): void {
	exchange.cutByService = true;
	const { socket } = exchange.request;
	if (exchange.response.headersSent) socket.destroySoon();
	else socket.resetAndDestroy();
}

/** Responds as a fault demands. Returns false if the fault leaves the normal answer to the caller. */
export function respondWithFault(sim: Simulator, exchange: Exchange, action: FaultAction): boolean {
	const { hang, reset, respond, redirect, redirectStatus = 302 } = action;
	if (reset) {
		cutOff(exchange);
	} else if (respond) {
		send(sim, exchange, { ...respond, body: respond.body ?? '' });
	} else if (redirect) {
		send(sim, exchange, {
			status: redirectStatus,
			body: '',
			headers: { Location: redirect },
		});
	}
	return Boolean(hang || reset || respond || redirect);
}
