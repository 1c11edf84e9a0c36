import {
	createServer,
	request as ask,
	type ClientRequest,
	type IncomingMessage,
	type Server,
	type ServerResponse,
} from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';

/** What becomes of a request instead of being passed on. */
export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** What becomes of a WebSocket's handshake. */
export type Upgrade = (request: IncomingMessage, socket: Socket, early: Buffer) => void;

/** What becomes of a WebSocket on its way to the simulator, or of the messages behind it (`deaf`). */
export type Upgrades = 'pass' | 'refuse' | 'page' | 'hang' | 'deaf';

interface Rule {
	method: string;
	path: RegExp;
	left: number;
	handle: Handler;
}

/**
 * A service for what the simulator, a faithful one, does not do: it answers as a test says, down to the
 * bytes. With a target it stands in front of it, as a proxy or an edge does, and passes on what no test
 * has a say in. Knows which connections n8n still has open.
 */
export class FakeService {
	/** With a target: what becomes of a WebSocket. */
	upgrades: Upgrades = 'pass';
	/** Method and address of every request, in order. */
	readonly requests: string[] = [];
	private readonly rules: Rule[] = [];
	private readonly connections = new Set<Socket>();
	private readonly behind = new Set<Socket>();
	private readonly server: Server;
	private isAway = false;
	private port = 0;
	private readonly handle: Handler;
	private readonly target: URL;

	private constructor(handle: Handler | undefined, upgrade: Upgrade | undefined, target: URL) {
		this.handle = handle ?? ((request, response) => this.pass(request, response));
		this.target = target;
		this.server = createServer((request, response) => this.receive(request, response));
		this.server.requestTimeout = 0;
		this.server.on('clientError', (_, socket) => socket.destroy());
		this.server.on('connection', (socket) => {
			socket.on('error', () => socket.destroy());
			if (this.isAway) return void socket.resetAndDestroy();
			this.connections.add(socket);
			socket.on('close', () => this.connections.delete(socket));
		});
		const shake: Upgrade = upgrade ?? ((...handshake) => this.upgrade(...handshake));
		this.server.on('upgrade', (request, socket, early) => shake(request, socket as Socket, early));
	}

	/** One that answers by itself; without `upgrade` it has no WebSocket. */
	static async start(handle: Handler, upgrade?: Upgrade): Promise<FakeService> {
		const none: Upgrade = (_, socket) =>
			void socket.end('HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n');
		return await new FakeService(handle, upgrade ?? none, new URL('http://nobody')).listen();
	}

	/** One in front of the service at `target`. */
	static async inFrontOf(target: string): Promise<FakeService> {
		return await new FakeService(undefined, undefined, new URL(target)).listen();
	}

	get url(): string {
		return `http://127.0.0.1:${this.port}`;
	}

	/** Connections that n8n holds open. */
	open(): number {
		return this.connections.size;
	}

	/** Does something else than passing on, with the next `times` requests that match. */
	on(method: string, path: RegExp, handle: Handler, times = Infinity): void {
		this.rules.push({ method, path, left: times, handle });
	}

	/** Cuts all connections, and new ones for so many milliseconds: a restart that keeps its port. */
	async restart(awayMs: number): Promise<void> {
		this.isAway = true;
		for (const socket of [...this.connections, ...this.behind]) socket.destroy();
		await new Promise((resolve) => setTimeout(resolve, awayMs));
		this.isAway = false;
	}

	async stop(): Promise<void> {
		const closed = new Promise((resolve) => this.server.close(resolve));
		for (const socket of [...this.connections, ...this.behind]) socket.destroy();
		await closed;
	}

	private async listen(): Promise<this> {
		await new Promise<void>((resolve, reject) => {
			this.server.once('error', reject);
			this.server.listen(0, '127.0.0.1', resolve);
		});
		this.port = (this.server.address() as AddressInfo).port;
		return this;
	}

	private receive(request: IncomingMessage, response: ServerResponse): void {
		response.on('error', () => {});
		this.requests.push(`${request.method} ${request.url}`);
		const rule = this.rules.find(
			({ method, path, left }) => left > 0 && method === request.method && path.test(request.url!),
		);
		if (!rule) return this.handle(request, response);
		rule.left--;
		rule.handle(request, response);
	}

	/** Hands a request to the service, and its answer back. */
	pass(request: IncomingMessage, response: ServerResponse): void {
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

	/** Hands a request to the service, and its answer to nobody. */
	forward(request: IncomingMessage): ClientRequest {
		const { hostname, port } = this.target;
		const { method, url: path } = request;
		const { host: _, ...headers } = request.headers;
		const onward = ask({ hostname, port, path, method, headers });
		onward.on('error', () => {});
		onward.on('response', (answer) => answer.on('error', () => {}));
		return request.pipe(onward);
	}

	private upgrade(request: IncomingMessage, socket: Socket, early: Buffer): void {
		const body = '<!DOCTYPE html><html><body>Blocked</body></html>';
		const head = (status: string) =>
			`HTTP/1.1 ${status}\r\nContent-Type: text/html\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n`;
		if (this.upgrades === 'hang') {
			// Nobody reads an unanswered handshake: without this its end would go unseen.
			socket.resume();
			socket.on('end', () => socket.destroy());
			return;
		}
		if (this.upgrades === 'refuse') return void socket.end(head('403 Forbidden') + body);
		if (this.upgrades === 'page') return void socket.end(head('200 OK') + body);
		const behind = connect(Number(this.target.port), this.target.hostname);
		this.behind.add(behind);
		behind.on('error', () => socket.destroy());
		behind.on('close', () => {
			this.behind.delete(behind);
			socket.destroy();
		});
		socket.on('close', () => behind.destroy());
		const { method, url, rawHeaders } = request;
		const lines = rawHeaders.map((text, index) => text + (index % 2 === 0 ? ': ' : '\r\n'));
		behind.write(`${method} ${url} HTTP/1.1\r\n${lines.join('')}\r\n`);
		behind.write(early);
		socket.pipe(behind);
		let isAnswered = false;
		behind.on('data', (part) => {
			// Half open: the handshake is answered, and then nothing arrives any more.
			if (this.upgrades === 'deaf' && isAnswered) return;
			isAnswered = true;
			socket.write(this.upgrades === 'deaf' ? upToHead(part) : part);
		});
	}
}

const upToHead = (part: Buffer) => part.subarray(0, part.indexOf('\r\n\r\n') + 4);

/** Writes `bytes` in small pieces, one every `everyMs`, for as long as somebody listens. */
export function drip(
	to: Socket | ServerResponse,
	bytes: Iterable<string | Buffer>,
	everyMs: number,
) {
	const pieces = bytes[Symbol.iterator]();
	const timer = setInterval(() => {
		const { value, done } = pieces.next();
		if (done || to.destroyed || to.writableEnded) clearInterval(timer);
		else to.write(value);
	}, everyMs);
	to.on('close', () => clearInterval(timer));
}

/** The same piece again and again, without end. */
export function* endless<T>(piece: T): Generator<T> {
	for (;;) yield piece;
}
