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
import type { World } from './world.mts';

/** One request with its answer and its record. */
export interface Exchange {
	record: RequestRecord;
	url: URL;
	request: IncomingMessage;
	response: ServerResponse;
	/** Set before the simulator itself cuts the connection, which then is not the client's doing. */
	cut: boolean;
	/** The body was sent but is not JSON. */
	badBody: boolean;
}

export interface Listener {
	server: Server;
	port: number;
	/** Stops listening and ends every connection at once. */
	close(): Promise<void>;
}

/** Starts an HTTP server whose every request is recorded, then handled. */
export async function listen(
	world: World,
	on: 'api' | 'file',
	port: number,
	handle: (exchange: Exchange) => Promise<void> | void,
): Promise<Listener> {
	const connections = new Set<Socket>();
	const server = createServer((request, response) => {
		void receive(world, on, request, response, handle);
	});
	// Big uploads over slow links must not be cut by Node's own limit.
	server.requestTimeout = 0;
	server.on('connection', (socket) => {
		connections.add(socket);
		socket.on('close', () => connections.delete(socket));
	});
	await once(server.listen(port, world.options.host), 'listening');
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

/** The record of a request, not yet entered among the world's. */
export const recordOf = (
	on: RequestRecord['on'],
	request: IncomingMessage,
	url: URL,
): RequestRecord => ({
	on,
	method: request.method!,
	path: url.pathname,
	query: Object.fromEntries(url.searchParams),
	headers: request.headers,
	body: undefined,
	time: Date.now(),
	status: 0,
	closedByClient: false,
});

/** The address of a request; one that cannot be parsed becomes `/`. */
export function addressOf(request: IncomingMessage): URL {
	// Leading slashes would make the first folder a host name.
	const path = request.url!.replace(/^\/+/, '/');
	return URL.parse(path, 'http://simulator') ?? new URL('http://simulator/');
}

async function receive(
	world: World,
	on: 'api' | 'file',
	request: IncomingMessage,
	response: ServerResponse,
	handle: (exchange: Exchange) => Promise<void> | void,
): Promise<void> {
	const url = addressOf(request);
	const record = recordOf(on, request, url);
	const exchange: Exchange = { record, url, request, response, cut: false, badBody: false };
	world.open.add(exchange);
	let entered = false;
	const enter = () => {
		if (!entered) world.requests.push(record);
		entered = true;
	};
	response.on('close', () => {
		world.open.delete(exchange);
		record.closedByClient =
			!response.writableFinished && !exchange.cut && !world.closing.signal.aborted;
		enter();
		world.changed();
	});
	try {
		await readBody(exchange);
		enter();
		world.changed();
		await handle(exchange);
	} catch (error) {
		// Once its body is read, a request counts as destroyed, however alive its client is.
		if (response.destroyed || !request.complete) return;
		// As text: of an error from another realm, such as a test's, it would not be taken.
		process.emitWarning(String(error));
		if (response.headersSent) cutOff(exchange);
		else send(world, exchange, { status: 500, body: { error: `simulator: ${error}` } });
	}
}

async function readBody(exchange: Exchange): Promise<void> {
	const chunks: Buffer[] = [];
	for await (const chunk of exchange.request) chunks.push(chunk as Buffer);
	if (chunks.length === 0) return;
	try {
		exchange.record.body = JSON.parse(Buffer.concat(chunks).toString('utf8'));
	} catch {
		exchange.badBody = true;
	}
}

/** Writes the head of an answer, with the service's own clock in its Date header. */
export function head(
	world: World,
	exchange: Exchange,
	status: number,
	headers: OutgoingHttpHeaders,
): void {
	exchange.record.status = status;
	exchange.response.writeHead(status, { Date: world.now().toUTCString(), ...headers });
	world.changed();
}

/** Sends a whole answer: a string as it is, anything else as JSON. */
export function send(world: World, exchange: Exchange, reply: PlainReply): void {
	if (exchange.response.destroyed) return;
	const { status, headers } = reply;
	const asIs = typeof reply.body === 'string' || Buffer.isBuffer(reply.body);
	const text = asIs ? (reply.body as string | Buffer) : JSON.stringify(reply.body);
	const body = typeof text === 'string' ? Buffer.from(text) : text;
	const type = asIs ? {} : { 'Content-Type': 'application/json; charset=utf-8' };
	head(world, exchange, status, { ...type, 'Content-Length': body.length, ...headers });
	// Node takes a part whose client has gone for sent: of one large part it could not be told.
	if (body.length <= PIECE) exchange.response.end(body);
	else Readable.from(piecesOf(body)).pipe(exchange.response);
}

const PIECE = 1024 * 1024;

function* piecesOf(body: Buffer): Iterable<Buffer> {
	for (let at = 0; at < body.length; at += PIECE) yield body.subarray(at, at + PIECE);
}

/** Cuts a connection from the service's side; what has been written still arrives. */
export function cutOff(exchange: Exchange): void {
	exchange.cut = true;
	const { socket } = exchange.request;
	if (exchange.response.headersSent) socket.destroySoon();
	else socket.resetAndDestroy();
}

/** Carries out what a fault puts in the place of the answer, on either origin; whether it does so. */
export function instead(world: World, exchange: Exchange, action: FaultAction): boolean {
	const { hang, reset, respond, redirect, status = 302 } = action;
	if (reset) {
		cutOff(exchange);
	} else if (respond) {
		send(world, exchange, { ...respond, body: respond.body ?? '' });
	} else if (redirect) {
		send(world, exchange, { status, body: '', headers: { Location: redirect } });
	}
	return Boolean(hang || reset || respond || redirect);
}
