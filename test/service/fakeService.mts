import { once } from 'node:events';
import {
	createServer,
	request as ask,
	type ClientRequest,
	type IncomingMessage,
	type ServerResponse,
} from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { PAGE } from './bodies.mts';

/** What becomes of a request. */
export type Handler = (request: IncomingMessage, response: ServerResponse) => unknown;

/** What becomes of a WebSocket's handshake. */
export type Upgrade = (
	request: IncomingMessage,
	socket: Socket,
	early: Buffer,
) => void | Promise<void>;

/** What becomes of a WebSocket on its way to the simulator, or of the messages behind it (`deaf`). */
export type Upgrades = 'pass' | 'page' | 'deaf';

interface Rule {
	matches: RegExp;
	left: number;
	handle: Handler;
}

/**
 * A service for what the simulator, a faithful one, does not do: it answers as a test says, down to the
 * bytes. With a target it stands in front of it, as a proxy or an edge does, and passes on whatever no
 * test has a say in. Knows which connections n8n still has open.
 */
export class FakeService {
	/** With a target: what becomes of a WebSocket. */
	upgrades: Upgrades = 'pass';
	/** Every request as `GET /v1/labs/voices?page=0`, in order. */
	readonly requests: string[] = [];
	private readonly rules: Rule[] = [];
	private readonly connections = new Set<Socket>();
	private readonly server = createServer((request, response) => this.receive(request, response));
	private isAway = false;
	private readonly handle: Handler;
	private readonly target: URL;

	private constructor(handle?: Handler, upgrade?: Upgrade, target = 'http://nobody') {
		this.handle = handle ?? ((request, response) => this.pass(request, response));
		this.target = new URL(target);
		this.server.requestTimeout = 0;
		this.server.on('clientError', (_, socket) => socket.destroy());
		this.server.on('connection', (socket) => {
			socket.on('error', () => socket.destroy());
			if (this.isAway) return void socket.resetAndDestroy();
			this.connections.add(socket);
			socket.on('close', () => this.connections.delete(socket));
		});
		const shake: Upgrade = upgrade ?? ((...handshake) => this.upgrade(...handshake));
		this.server.on(
			'upgrade',
			(request, socket, early) => void shake(request, socket as Socket, early),
		);
	}

	/** One that answers by itself; without `upgrade` it has no WebSocket. */
	static async start(handle: Handler, upgrade?: Upgrade): Promise<FakeService> {
		const none: Upgrade = (_, socket) =>
			void socket.end('HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n');
		return await new FakeService(handle, upgrade ?? none).listen();
	}

	/** One in front of the service at `target`. */
	static async inFrontOf(target: string): Promise<FakeService> {
		return await new FakeService(undefined, undefined, target).listen();
	}

	get url(): string {
		return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
	}

	/** Connections that n8n holds open. */
	open(): number {
		return this.connections.size;
	}

	/** Hands the next `times` requests that match, as in `requests`, to a handler of their own. */
	on(matches: RegExp, handle: Handler, times = Infinity): this {
		this.rules.push({ matches, left: times, handle });
		return this;
	}

	/** Puts the URL of a file into each answer that may have one; its host does this. */
	serve(handle: Handler): void {
		const file = `${this.url}/files/x`;
		const made = { id: 'x', status: 'completed', audio_url: file, file_url: file };
		this.on(/^GET \/files\//, handle)
			.on(/^GET .*task/, (_, response) => response.end(JSON.stringify(made)))
			.on(/histories|^POST (?!.*task)/, (_, response) => response.end(JSON.stringify([made])));
	}

	/** Drops every handler that was added with `on`. */
	forget(): void {
		this.rules.length = 0;
	}

	/** Cuts all connections, and new ones for so many milliseconds: a restart that keeps its port. */
	async restart(awayMs: number): Promise<void> {
		this.isAway = true;
		this.cut();
		await new Promise((resolve) => setTimeout(resolve, awayMs));
		this.isAway = false;
	}

	async stop(): Promise<void> {
		const closed = new Promise((resolve) => this.server.close(resolve));
		this.cut();
		await closed;
	}

	/** Hands a request to the target, and its answer to nobody. */
	forward(request: IncomingMessage): ClientRequest {
		const { hostname, port } = this.target;
		// The host stays as it was: a request may be signed with it.
		const { method, url: path, headers } = request;
		const onward = ask({ hostname, port, path, method, headers });
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
		const rule = this.rules.find(({ matches, left }) => left > 0 && matches.test(line));
		if (rule) rule.left--;
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
		if (this.upgrades === 'page') {
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
			// Half open: the handshake is answered, and then nothing arrives any more.
			if (this.upgrades === 'deaf' && isAnswered) return;
			isAnswered = true;
			socket.write(this.upgrades === 'deaf' ? upToHead(part) : part);
		});
	}
}

const upToHead = (part: Buffer) => part.subarray(0, part.indexOf('\r\n\r\n') + 4);

/** Never answers, or stops after the headers, or after the first bytes of a file. */
export const silent: Handler = () => {};
export const headersOnly: Handler = (_, response) => {
	response.writeHead(200, { 'content-length': 100_000 }).flushHeaders();
};
export const fileBegun: Handler = (_, response) => {
	response.writeHead(200, { 'content-length': 100_000 }).write(Buffer.alloc(2000, 1));
};

/** Writes a piece every `everyMs` for as long as somebody listens. */
export function drip(to: Socket | ServerResponse, piece: string | Buffer, everyMs: number): void {
	const timer = setInterval(() => {
		if (to.destroyed || to.writableEnded) clearInterval(timer);
		else to.write(piece);
	}, everyMs);
	to.on('close', () => clearInterval(timer));
}
