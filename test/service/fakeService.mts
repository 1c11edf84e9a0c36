import { once } from 'node:events';
import {
	createServer,
	request as sendRequest,
	type ClientRequest,
	type IncomingMessage,
	type ServerResponse,
} from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { PAGE } from './bodies.mts';

/** Answers a request, or leaves it open. */
export type Handler = (request: IncomingMessage, response: ServerResponse) => unknown;

/** Answers the handshake of a WebSocket. `early` are bytes that have arrived right after it. */
export type Upgrade = (
	request: IncomingMessage,
	socket: Socket,
	early: Buffer,
) => void | Promise<void>;

/** How WebSockets are passed on: `page` refuses them with a web page; `deaf` opens them, but passes no messages on. */
export type WebSocketMode = 'pass' | 'page' | 'deaf';

interface Rule {
	matches: RegExp;
	/** How many requests the rule still handles. */
	remaining: number;
	handle: Handler;
}

/**
 * A service that answers as a test says, byte by byte, for faults that the simulator does not have. With a target, it is a
 * proxy in front of it, and passes on each request that no rule handles.
 */
export class FakeService {
	/** How WebSockets are passed on to the target. */
	webSocketMode: WebSocketMode = 'pass';
	/** All requests in order, such as `GET /v1/labs/voices?page=0`. */
	readonly requests: string[] = [];
	private readonly rules: Rule[] = [];
	private readonly connections = new Set<Socket>();
	private readonly server = createServer((request, response) => this.receive(request, response));
	private isDown = false;
	private readonly handle: Handler;
	private readonly target: URL;

	private constructor(handle?: Handler, upgrade?: Upgrade, target = 'http://nobody') {
		this.handle = handle ?? ((request, response) => this.pass(request, response));
		this.target = new URL(target);
		this.server.requestTimeout = 0;
		this.server.on('clientError', (_, socket) => socket.destroy());
		this.server.on('connection', (socket) => {
			socket.on('error', () => socket.destroy());
			if (this.isDown) return void socket.resetAndDestroy();
			this.connections.add(socket);
			socket.on('close', () => this.connections.delete(socket));
		});
		const shake: Upgrade = upgrade ?? ((...handshake) => this.upgrade(...handshake));
		this.server.on(
			'upgrade',
			(request, socket, early) => void shake(request, socket as Socket, early),
		);
	}

	/** Starts a service that `handle` answers for. Without `upgrade`, it refuses WebSockets. */
	static async start(handle: Handler, upgrade?: Upgrade): Promise<FakeService> {
		const none: Upgrade = (_, socket) =>
			void socket.end('HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n');
		return await new FakeService(handle, upgrade ?? none).listen();
	}

	/** Starts a proxy in front of the service at `target`. */
	static async inFrontOf(target: string): Promise<FakeService> {
		return await new FakeService(undefined, undefined, target).listen();
	}

	get url(): string {
		return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
	}

	/** Returns how many connections are open. */
	countConnections(): number {
		return this.connections.size;
	}

	/** Handles the next `times` requests whose line in `requests` matches. The first rule that matches counts. */
	on(matches: RegExp, handle: Handler, times = Infinity): this {
		this.rules.push({ matches, remaining: times, handle });
		return this;
	}

	/** Answers as if a file were ready at once. `handle` serves the file. */
	serveFile(handle: Handler): void {
		const file = `${this.url}/files/x`;
		const result = { id: 'x', status: 'completed', audio_url: file, file_url: file };
		this.on(/^GET \/files\//, handle)
			.on(/^GET .*task/, (_, response) => response.end(JSON.stringify(result)))
			.on(/histories|^POST (?!.*task)/, (_, response) => response.end(JSON.stringify([result])));
	}

	/** Removes all rules that were added with `on`. */
	clearRules(): void {
		this.rules.length = 0;
	}

	/** Cuts all connections, and then new ones for `downMs` ms, like a server that restarts. */
	async restart(downMs: number): Promise<void> {
		this.isDown = true;
		this.cut();
		await new Promise((resolve) => setTimeout(resolve, downMs));
		this.isDown = false;
	}

	async stop(): Promise<void> {
		const closed = new Promise((resolve) => this.server.close(resolve));
		this.cut();
		await closed;
	}

	/** Sends a request to the target. The caller has to pass on the response. */
	forward(request: IncomingMessage): ClientRequest {
		const { hostname, port } = this.target;
		// The Host header is not changed, because a request may be signed with it.
		const { method, url: path, headers } = request;
		const onward = sendRequest({ hostname, port, path, method, headers });
		onward.on('error', () => {});
		onward.on('response', (answer) => answer.on('error', () => {}));
		return request.pipe(onward);
	}

	private async listen(): Promise<this> {
		this.server.listen(0, '127.0.0.1');
		await once(this.server, 'listening');
		return this;
	}

	private cut(): void {
		for (const socket of this.connections) socket.destroy();
	}

	private receive(request: IncomingMessage, response: ServerResponse): void {
		response.on('error', () => {});
		const line = `${request.method} ${request.url}`;
		this.requests.push(line);
		const rule = this.rules.find(({ matches, remaining }) => remaining > 0 && matches.test(line));
		if (rule) rule.remaining--;
		(rule?.handle ?? this.handle)(request, response);
	}

	private pass(request: IncomingMessage, response: ServerResponse): void {
		const onward = this.forward(request);
		onward.on('response', (answer) => {
			response.writeHead(answer.statusCode!, answer.headers);
			response.flushHeaders();
			answer.on('error', () => response.destroy());
			answer.pipe(response);
		});
		onward.on('error', () => response.destroy());
		response.on('close', () => onward.destroy());
	}

	private upgrade(request: IncomingMessage, socket: Socket, early: Buffer): void {
		if (this.webSocketMode === 'page') {
			const head = `HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: ${PAGE.length}`;
			return void socket.end(`${head}\r\nConnection: close\r\n\r\n${PAGE}`);
		}
		const behind = connect(Number(this.target.port), this.target.hostname);
		behind.on('error', () => socket.destroy());
		behind.on('close', () => socket.destroy());
		socket.on('close', () => behind.destroy());
		const { method, url, rawHeaders } = request;
		const lines = rawHeaders.map((text, index) => text + (index % 2 === 0 ? ': ' : '\r\n'));
		behind.write(`${method} ${url} HTTP/1.1\r\n${lines.join('')}\r\n`);
		behind.write(early);
		socket.pipe(behind);
		let isAnswered = false;
		behind.on('data', (part) => {
			// In the mode `deaf`, only the answer to the handshake is passed on.
			if (this.webSocketMode === 'deaf' && isAnswered) return;
			isAnswered = true;
			socket.write(this.webSocketMode === 'deaf' ? upToHead(part) : part);
		});
	}
}

const upToHead = (part: Buffer) => part.subarray(0, part.indexOf('\r\n\r\n') + 4);

/** Handlers that never answer, or send only the headers, or only the first bytes of a file. */
export const silent: Handler = () => {};
export const headersOnly: Handler = (_, response) => {
	response.writeHead(200, { 'content-length': 100_000 }).flushHeaders();
};
export const fileBegun: Handler = (_, response) => {
	response.writeHead(200, { 'content-length': 100_000 }).write(Buffer.alloc(2000, 1));
};

/** Writes `piece` every `everyMs` ms until the connection is closed. */
export function drip(to: Socket | ServerResponse, piece: string | Buffer, everyMs: number): void {
	const timer = setInterval(() => {
		if (to.destroyed || to.writableEnded) clearInterval(timer);
		else to.write(piece);
	}, everyMs);
	to.on('close', () => clearInterval(timer));
}
