/* The service as it was recorded, and whether the node makes the same of it. */
import { setTimeout as pause } from 'node:timers/promises';
import { WebSocketServer } from 'ws';
import { FakeService, type Handler, type Upgrade } from '../test/service/fakeService.mts';
import { runAll } from './operations.mts';
import type { Outcome, Recording } from './recording.mts';
import type { Exchange } from './wire.mts';

const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)/g;

/** Answers by origin, method, path and order; the last answer to a request is repeated. */
class Replay {
	readonly #ofNode: Exchange[];
	readonly #answers = new Map<string, Exchange[]>();
	/** By the origins that they stand in for. */
	readonly #servers = new Map<string, FakeService>();
	readonly #sockets = new WebSocketServer({ noServer: true });
	readonly #closing = new AbortController();
	/** By how much the service's times are later than in the recording, in ms. */
	readonly #shift: number;
	/** Requests that the recording has no answer to. */
	readonly unknown: string[] = [];

	constructor({ exchanges, made }: Recording) {
		this.#ofNode = exchanges.filter(({ by }) => by === 'node');
		this.#shift = Date.now() - Date.parse(made) - this.#ofNode[0]!.at;
		for (const exchange of this.#ofNode) {
			for (const path of new Set([exchange.path, exchange.path.split('?')[0]!])) {
				const key = `${exchange.origin} ${exchange.method} ${path}`;
				this.#answers.set(key, [...(this.#answers.get(key) ?? []), exchange]);
			}
		}
	}

	async start(): Promise<{ baseUrl: string; webSocketUrl: string }> {
		for (const { origin } of this.#ofNode) {
			if (this.#servers.has(origin)) continue;
			const server = await FakeService.start(this.#answer(origin) as Handler, this.#shake(origin));
			this.#servers.set(origin, server);
		}
		const socket = this.#ofNode.find(({ method }) => method === 'WEBSOCKET');
		const url = (exchange: Exchange) => this.#servers.get(exchange.origin)!.url;
		const baseUrl = url(this.#ofNode.find(({ method }) => method === 'GET')!);
		return { baseUrl, webSocketUrl: (socket ? url(socket) : baseUrl).replace('http', 'ws') };
	}

	#shake = (origin: string): Upgrade => {
		return (request, socket, early) => {
			const recorded = this.#next(origin, 'WEBSOCKET', '/ws');
			if (recorded?.status === 101)
				return this.#sockets.handleUpgrade(request, socket, early, (opened) => {
					opened.on('error', () => opened.terminate());
				});
			const status = recorded?.status || 404;
			socket.end(`HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
		};
	};

	#next(origin: string, method: string, path: string): Exchange | undefined {
		for (const known of [path, path.split('?')[0]!]) {
			const answers = this.#answers.get(`${origin} ${method} ${known}`) ?? [];
			if (answers.length > 0) return answers.length > 1 ? answers.shift() : answers[0];
		}
		return undefined;
	}

	/** A recorded text with today's times and local addresses. */
	#today(text: string): string {
		const later = (time: string) => new Date(Date.parse(time) + this.#shift).toISOString();
		return [...this.#servers].reduce(
			(all, [origin, { url }]) => all.replaceAll(origin, url),
			text.replace(TIME, later),
		);
	}

	/** A text of the node with the recording's names of the hosts. */
	asRecorded = (text: string) =>
		[...this.#servers].reduce((all, [origin, { url }]) => all.replaceAll(url, origin), text);

	#answer = (origin: string) => {
		return async (request: Parameters<Handler>[0], response: Parameters<Handler>[1]) => {
			request.resume();
			const exchange = this.#next(origin, request.method!, request.url!);
			if (!exchange) {
				this.unknown.push(`${request.method} ${request.url!}`);
				return response.writeHead(404).end('{"error":"not recorded"}');
			}
			if (request.method === 'POST') this.#sendMessages(exchange);
			const { status, headers, pieces, bytes, broke } = exchange;
			if (status === 0) return request.socket.resetAndDestroy();
			const { date, location, 'content-encoding': _, ...rest } = headers;
			response.writeHead(status, {
				...rest,
				...(date && { date: new Date(Date.parse(date) + this.#shift).toUTCString() }),
				...(location && { location: this.#today(location) }),
			});
			response.flushHeaders();
			let last = 0;
			for (const { ms, text, base64 = '' } of pieces) {
				if (text === undefined) {
					// A file comes at once, zeros after its beginning: how long it took says nothing of the service.
					const head = Buffer.from(base64, 'base64');
					response.write(Buffer.concat([head, Buffer.alloc(bytes - head.length)]));
				} else {
					await this.#pause(ms - last);
					response.write(this.#today(text));
				}
				last = ms;
			}
			if (broke === undefined || broke === 'ended by the node') response.end();
			else request.socket.destroySoon();
		};
	};

	#pause = async (ms: number) =>
		await pause(ms, undefined, { signal: this.#closing.signal }).catch(() => {});

	/** The messages that came after a create call and before the next one, as long after it as then. */
	#sendMessages(create: Exchange): void {
		const next = this.#ofNode.find(({ method, at }) => method === 'POST' && at > create.at);
		for (const { at, method, pieces } of this.#ofNode) {
			for (const { ms, text } of method === 'WEBSOCKET' ? pieces : []) {
				if (at + ms < create.at || (next && at + ms >= next.at)) continue;
				void this.#pause(at + ms - create.at).then(() =>
					this.#sockets.clients.forEach((socket) => socket.send(this.#today(text!))),
				);
			}
		}
	}

	async close(): Promise<void> {
		this.#closing.abort();
		for (const server of this.#servers.values()) await server.stop();
	}
}

/** Plays a recording through the node; resolves with the differences, a line each. */
export async function replay(
	recording: Recording,
	before?: (operation: string) => void,
): Promise<string[]> {
	if (recording.operations.length === 0) return [];
	const service = new Replay(recording);
	try {
		const credential = {
			apiToken: `replay-${Date.now()}-${Math.random()}`,
			...(await service.start()),
		};
		const now = await runAll(recording.operations, credential, recording.voice, before);
		// Stand-ins sort otherwise than what they stand for.
		const sorted = (line: string) =>
			line.replace(/(?<=^fields: ).*/, (names) => names.split(', ').sort().join(', '));
		const linesOf = (outcomes: Outcome[]) =>
			outcomes.flatMap(({ operation, lines }) =>
				lines.map((line) => `${operation}: ${sorted(service.asRecorded(line))}`),
			);
		const [then, today] = [linesOf(recording.outcomes), linesOf(now)];
		return [
			...then.filter((line) => !today.includes(line)).map((line) => `then: ${line}`),
			...today.filter((line) => !then.includes(line)).map((line) => `now:  ${line}`),
			...service.unknown.map((line) => `asked now, but not then: ${line}`),
		];
	} finally {
		await service.close();
	}
}
