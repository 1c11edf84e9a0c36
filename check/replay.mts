/* The service as it was recorded, and whether the node makes the same of it. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { WebSocket, WebSocketServer } from 'ws';
import { runAll } from './operations.mts';
import type { Outcome, Recording } from './recording.mts';
import type { Exchange } from './wire.mts';

const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)/g;

/** Answers by origin, method, path and order; the last answer to a request is repeated. */
class Replay {
	readonly #recording: Recording;
	readonly #answers = new Map<string, Exchange[]>();
	readonly #local = new Map<string, string>();
	readonly #servers: Server[] = [];
	readonly #connections = new Set<Socket>();
	readonly #sockets = new Set<WebSocket>();
	readonly #listeners = new WebSocketServer({ noServer: true });
	readonly #stopping = new AbortController();
	/** By how much the service's times are later than in the recording, in ms. */
	#shift = 0;
	/** Requests that the recording has no answer to. */
	readonly unknown: string[] = [];

	constructor(recording: Recording) {
		this.#recording = recording;
		for (const exchange of recording.exchanges) {
			if (exchange.by !== 'node') continue;
			for (const path of new Set([exchange.path, exchange.path.split('?')[0]!])) {
				const key = `${exchange.origin} ${exchange.method} ${path}`;
				this.#answers.set(key, [...(this.#answers.get(key) ?? []), exchange]);
			}
		}
	}

	async start(): Promise<{ baseUrl: string; webSocketUrl: string }> {
		const { exchanges, made } = this.#recording;
		const first = exchanges.find(({ by }) => by === 'node');
		this.#shift = Date.now() - Date.parse(made) - (first?.at ?? 0);
		for (const origin of new Set(exchanges.map((exchange) => exchange.origin)))
			await this.#open(origin);
		const socket = exchanges.find(({ method }) => method === 'WEBSOCKET')?.origin;
		// Addresses in the answers may be of hosts from which nothing was read.
		const baseUrl = this.#local.get(exchanges[0]!.origin)!;
		return {
			baseUrl,
			webSocketUrl: (this.#local.get(socket ?? '') ?? baseUrl).replace('http', 'ws'),
		};
	}

	async #open(origin: string): Promise<void> {
		const server = createServer((request, response) => {
			void this.#answer(origin, request, response).catch(() => response.destroy());
		});
		server.on('connection', (socket) => {
			this.#connections.add(socket);
			socket.on('close', () => this.#connections.delete(socket));
		});
		server.on('upgrade', (request, socket, head) => {
			// The node may be gone before the answer.
			socket.on('error', () => socket.destroy());
			const recorded = this.#next(origin, 'WEBSOCKET', '/ws');
			if (recorded?.status === 101) {
				return this.#listeners.handleUpgrade(request, socket, head, (opened) => {
					opened.on('error', () => opened.terminate());
					this.#sockets.add(opened);
				});
			}
			const status = recorded?.status || 404;
			socket.end(`HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
		});
		await once(server.listen(0, '127.0.0.1'), 'listening');
		this.#servers.push(server);
		this.#local.set(origin, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
	}

	#next(origin: string, method: string, path: string): Exchange | undefined {
		for (const known of [path, path.split('?')[0]!]) {
			const answers = this.#answers.get(`${origin} ${method} ${known}`) ?? [];
			if (answers.length > 0) return answers.length > 1 ? answers.shift() : answers[0];
		}
		return undefined;
	}

	/** A recorded text with today's times and local addresses. */
	#today(text: string): string {
		const moved = text.replace(TIME, (time) =>
			new Date(Date.parse(time) + this.#shift).toISOString(),
		);
		return [...this.#local].reduce((all, [origin, local]) => all.replaceAll(origin, local), moved);
	}

	/** A text of the node with the recording's names of the hosts. */
	asRecorded(text: string): string {
		return [...this.#local].reduce((all, [origin, local]) => all.replaceAll(local, origin), text);
	}

	async #answer(origin: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
		request.resume();
		const exchange = this.#next(origin, request.method!, request.url!);
		if (!exchange) {
			this.unknown.push(`${request.method} ${request.url!}`);
			return void response
				.writeHead(404, { 'content-type': 'application/json' })
				.end('{"error":"not recorded"}');
		}
		if (request.method === 'POST') this.#sendMessages(exchange);
		const { status, headers, pieces, bytes, broke } = exchange;
		const began = performance.now();
		const until = async (ms: number) =>
			await pause(Math.max(0, ms - (performance.now() - began)), undefined, {
				signal: this.#stopping.signal,
			});
		if (status === 0) return void request.socket.resetAndDestroy();
		const { date, location, 'content-encoding': _, ...rest } = headers;
		response.writeHead(status, {
			...rest,
			...(date ? { date: new Date(Date.parse(date) + this.#shift).toUTCString() } : {}),
			...(location ? { location: this.#today(location) } : {}),
		});
		response.flushHeaders();
		for (const { ms, text, base64 } of pieces) {
			// A file comes at once: how long it took says nothing of the service.
			if (text !== undefined) await until(ms);
			if (text !== undefined) response.write(this.#today(text));
			else this.#sendFile(response, base64!, bytes);
		}
		if (broke === undefined || broke === 'ended by the node') response.end();
		else request.socket.destroySoon();
	}

	/** The first kilobyte, then nothing but zeros. */
	#sendFile(response: ServerResponse, base64: string, bytes: number): void {
		const head = Buffer.from(base64, 'base64');
		response.write(head);
		for (let left = bytes - head.length; left > 0; left -= 65_536) {
			response.write(Buffer.alloc(Math.min(left, 65_536)));
		}
	}

	/** The messages that came after a create call and before the next one, as long after it as then. */
	#sendMessages(create: Exchange): void {
		const { exchanges } = this.#recording;
		const ofNode = exchanges.filter(({ by }) => by === 'node');
		const next =
			ofNode.find(({ method, at }) => method === 'POST' && at > create.at)?.at ?? Infinity;
		for (const { at, pieces } of ofNode.filter(({ method }) => method === 'WEBSOCKET')) {
			for (const { ms, text } of pieces) {
				const after = at + ms - create.at;
				if (after < 0 || at + ms >= next) continue;
				void pause(after, undefined, { signal: this.#stopping.signal })
					.then(() => this.#sockets.forEach((socket) => socket.send(this.#today(text!))))
					.catch(() => {});
			}
		}
	}

	close(): void {
		this.#stopping.abort();
		for (const server of this.#servers) server.close();
		for (const connection of this.#connections) connection.destroy();
	}
}

/** Plays a recording through the node; resolves with the differences, a line each. */
export async function replay(
	recording: Recording,
	before: (operation: string) => void = () => {},
): Promise<string[]> {
	if (recording.exchanges.length === 0) return ['The recording is empty.'];
	const service = new Replay(recording);
	try {
		const credential = {
			apiToken: `replay-${Date.now()}-${Math.random()}`,
			...(await service.start()),
		};
		const outcomes = await runAll(
			recording.operations,
			{ credential, voice: recording.voice },
			before,
		);
		const now = outcomes.map(({ operation, lines }) => {
			return { operation, lines: lines.map((line) => service.asRecorded(line)) };
		});
		return [
			...differences(recording.outcomes, now),
			...service.unknown.map((line) => `asked now, but not then: ${line}`),
		];
	} finally {
		service.close();
	}
}

function differences(then: Outcome[], now: Outcome[]): string[] {
	const linesOf = (outcomes: Outcome[]) =>
		outcomes.flatMap(({ operation, lines }) => lines.map((line) => `${operation}: ${line}`));
	const [before, after] = [linesOf(then), linesOf(now)];
	return [
		...before.filter((line) => !after.includes(line)).map((line) => `then: ${line}`),
		...after.filter((line) => !before.includes(line)).map((line) => `now:  ${line}`),
	];
}
