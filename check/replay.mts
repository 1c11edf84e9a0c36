/* The service as it was recorded, and whether the node makes the same of it. */
import { setTimeout as pause } from 'node:timers/promises';
import { WebSocketServer, type WebSocket } from 'ws';
import { FakeService, type Handler, type Upgrade } from '../test/service/fakeService.mts';
import { runAll } from './operations.mts';
import { asTime } from './reading.mts';
import { REST, TIME, type Outcome, type Recording } from './recording.mts';
import { closeWith, ENDED_BY_NODE, refuse, type Exchange } from './wire.mts';

/** A time within JSON, also in seconds or milliseconds. */
const TIMES = new RegExp(
	`${TIME.source}|(?<=[":\\s])1\\d{9}(?:\\d{3})?(?:\\.\\d+)?(?=[",}\\]\\s])`,
	'g',
);

/** Answers by origin, method, path and order; the last answer to a request is repeated. */
export class Replay {
	readonly #ofNode: Exchange[];
	readonly #played = new Set<Exchange>();
	/** By the origins that they stand in for. */
	readonly #servers = new Map<string, FakeService>();
	readonly #sockets = new WebSocketServer({ noServer: true });
	/** By what was recorded of them. */
	readonly #open = new Map<Exchange, WebSocket>();
	readonly #closing = new AbortController();
	/** By how much the service's times are later than in the recording, in ms. */
	readonly #shift: number;
	/** Requests that the recording has no answer to. */
	readonly unknown: string[] = [];

	constructor({ exchanges, made }: Recording) {
		this.#ofNode = exchanges.filter(({ by }) => by === 'node');
		this.#shift = Date.now() - Date.parse(made) - this.#ofNode[0]!.at;
	}

	async start(): Promise<{ baseUrl: string; webSocketUrl: string }> {
		for (const origin of new Set(this.#ofNode.map((each) => each.origin))) {
			const server = await FakeService.start(this.#answer(origin), this.#shake(origin));
			this.#servers.set(origin, server);
		}
		const socket = this.#ofNode.find(({ method }) => method === 'WEBSOCKET');
		const url = (exchange: Exchange) => this.#servers.get(exchange.origin)!.url;
		const baseUrl = url(this.#ofNode.find(({ method }) => method === 'GET')!);
		return { baseUrl, webSocketUrl: (socket ? url(socket) : baseUrl).replace('http', 'ws') };
	}

	#shake = (origin: string): Upgrade => {
		return async (request, socket, early) => {
			const recorded = this.#next({ origin, method: 'WEBSOCKET', path: '/ws' });
			if (recorded?.status === 101)
				return this.#sockets.handleUpgrade(request, socket, early, (opened) => {
					opened.on('error', () => opened.terminate());
					this.#open.set(recorded, opened);
					this.#tell(recorded.at, [recorded]);
				});
			await this.#pause(recorded?.ended ?? 0);
			if (recorded?.status === 0) socket.destroy();
			else refuse(socket, recorded?.status ?? 404);
		};
	};

	/** What is to be answered to a request, or else to one with another query. */
	#next(asked: Pick<Exchange, 'origin' | 'method' | 'path'>): Exchange | undefined {
		const callOf = ({ origin, method, path }: typeof asked) =>
			`${method} ${origin}${path.split('?')[0]}`;
		const alike = this.#ofNode.filter((each) => callOf(each) === callOf(asked));
		const same = alike.filter(({ path }) => path === asked.path);
		const answers = same.length > 0 ? same : alike;
		const next = answers.find((each) => !this.#played.has(each)) ?? answers.at(-1);
		if (next) this.#played.add(next);
		return next;
	}

	/** A recorded text with today's times and local addresses. */
	#today(text: string): string {
		const later = (time: string) => {
			const unit = { 10: 1000, 13: 1 }[time.split('.')[0]!.length] ?? 0;
			if (/^\d+(?:\.|$)/.test(time)) return String(Number(time) + Math.round(this.#shift / unit));
			// A day is no time.
			if (time.length < 11) return time;
			const date = new Date(asTime(time) + this.#shift);
			return /^\d/.test(time) ? date.toISOString() : date.toUTCString();
		};
		return [...this.#servers]
			.reduce((all, [origin, { url }]) => all.replaceAll(origin, url), text.replace(TIMES, later))
			.replace(REST, (_, size) => 'A'.repeat(Number(size)));
	}

	/** A text of the node with the recording's names of the hosts. */
	asRecorded = (text: string) =>
		[...this.#servers].reduce((all, [origin, { url }]) => all.replaceAll(url, origin), text);

	#answer = (origin: string): Handler => {
		return async (request, response) => {
			request.resume();
			const exchange = this.#next({ origin, method: request.method!, path: request.url! });
			if (!exchange) {
				this.unknown.push(`${request.method} ${request.url!}`);
				return response.writeHead(404).end('{"error":"not recorded"}');
			}
			const { at, status, headers, pieces, bytes, broke, ended = 0 } = exchange;
			if (request.method === 'POST') {
				const isOpen = (each: Exchange) => each.method === 'WEBSOCKET' && each.at < at;
				this.#tell(at, this.#ofNode.filter(isOpen));
			}
			if (status === 0) {
				await this.#pause(ended);
				const isEnded = broke !== ENDED_BY_NODE && exchange.ended !== undefined;
				return isEnded && request.socket.resetAndDestroy();
			}
			for (const [name, value] of Object.entries(headers)) {
				const isDecoded = name === 'content-encoding' && /gzip|br|deflate/.test(String(value));
				if (!isDecoded) response.setHeader(name, this.#today(String(value)));
			}
			response.writeHead(status).flushHeaders();
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
			if (ended > last && !pieces.some(({ base64 }) => base64)) await this.#pause(ended - last);
			if (broke === undefined) response.end();
			else if (broke !== ENDED_BY_NODE) request.socket.destroySoon();
		};
	};

	#pause = async (ms: number) =>
		await pause(ms, undefined, { signal: this.#closing.signal }).catch(() => {});

	/** Does on WebSockets what the service did from a time on until the next create call, as long after it as then. */
	#tell(from: number, sockets: Exchange[]): void {
		const next = this.#ofNode.find(({ method, at }) => method === 'POST' && at > from);
		for (const socket of sockets) {
			const doAt = (ms: number, act: (opened: WebSocket) => void) => {
				const at = socket.at + ms;
				if (at < from || (next && at >= next.at)) return;
				void this.#pause(at - from).then(() => {
					const opened = this.#open.get(socket);
					if (opened) act(opened);
				});
			};
			for (const { ms, text } of socket.pieces)
				doAt(ms, (opened) => opened.send(this.#today(text!)));
			if (socket.broke !== ENDED_BY_NODE && socket.ended !== undefined)
				doAt(socket.ended, (opened) => closeWith(opened, socket.code));
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
	const operations = recording.outcomes.map(({ operation }) => operation);
	if (operations.length === 0) return ['nothing to replay: the node was made to do nothing'];
	const service = new Replay(recording);
	try {
		const credential = {
			apiToken: `replay-${Date.now()}-${Math.random()}`,
			...(await service.start()),
		};
		const now: Outcome[] = [];
		for await (const outcome of runAll({ ...recording, operations, before }, credential))
			// A check that was stopped has no outcome of what would have followed.
			if (operations.includes(outcome.operation)) now.push(outcome);
		const linesOf = (outcomes: Outcome[]) =>
			outcomes.flatMap(({ operation, lines }) =>
				lines.map((line) => `${operation}: ${service.asRecorded(line)}`),
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
