/* Replays a recorded service, and compares what the node does with what it did then. */
import { setTimeout as pause } from 'node:timers/promises';
import { WebSocketServer, type WebSocket } from 'ws';
import { FakeService, type Handler, type Upgrade } from '../test/service/fakeService.mts';
import { runAll, TIMED_OUT } from './operations.mts';
import { shared } from './shared.mts';
import { OMITTED, TIME, type Outcome, type Recording } from './recording.mts';
import { closeWith, ENDED_BY_NODE, refuse, type Exchange } from './wire.mts';

/** Matches a time in JSON: a text, or a number of seconds or milliseconds since 1970. */
const TIMES = new RegExp(
	`${TIME.source}|(?<=[":\\s])1\\d{9}(?:\\d{3})?(?:\\.\\d+)?(?=[",}\\]\\s])`,
	'g',
);

/**
 * A local service that answers from a recording. If a request was recorded several times, its answers are given in that
 * order, and the last one is repeated.
 */
export class Replay {
	readonly exchanges: Exchange[];
	readonly #nodeExchanges: Exchange[];
	readonly #played = new Set<Exchange>();
	/** The local servers, by the recorded origins that they stand in for. */
	readonly #servers = new Map<string, FakeService>();
	readonly #sockets = new WebSocketServer({ noServer: true });
	/** The WebSockets that the node has opened, by the exchanges that they replay. */
	readonly #openSockets = new Map<Exchange, WebSocket>();
	readonly #closing = new AbortController();
	/** How much later it is now than in the recording, in ms. The times in answers are moved by this. */
	readonly #shift: number;
	/** The requests for which the recording has no answer: method and path. */
	readonly unrecorded: string[] = [];

	constructor({ exchanges, made }: Recording) {
		this.exchanges = exchanges;
		this.#nodeExchanges = exchanges.filter(({ by }) => by === 'node');
		this.#shift = Date.now() - Date.parse(made) - this.#nodeExchanges[0]!.at;
	}

	/** Starts a server for each recorded origin, and resolves with the URLs for the credential. */
	async start(): Promise<{ baseUrl: string; webSocketUrl: string }> {
		for (const origin of new Set(this.#nodeExchanges.map((each) => each.origin))) {
			const server = await FakeService.start(this.#onRequest(origin), this.#onUpgrade(origin));
			this.#servers.set(origin, server);
		}
		const socket = this.#nodeExchanges.find(({ method }) => method === 'WEBSOCKET');
		const url = (exchange: Exchange) => this.#servers.get(exchange.origin)!.url;
		const baseUrl = url(this.#nodeExchanges.find(({ method }) => method === 'GET')!);
		return { baseUrl, webSocketUrl: (socket ? url(socket) : baseUrl).replace('http', 'ws') };
	}

	#onUpgrade = (origin: string): Upgrade => {
		return async (request, socket, early) => {
			const recorded = this.#nextAnswer({ origin, method: 'WEBSOCKET', path: '/ws' });
			if (recorded?.status === 101)
				return this.#sockets.handleUpgrade(request, socket, early, (opened) => {
					opened.on('error', () => opened.terminate());
					this.#openSockets.set(recorded, opened);
					this.#replaySockets(recorded.at, [recorded]);
				});
			await this.#pause(recorded?.ended ?? 0);
			if (recorded?.status === 0) socket.destroy();
			else refuse(socket, recorded?.status ?? 404);
		};
	};

	/**
	 * Returns the next recorded exchange for a request. If none has the same query, one with another query is used.
	 * Returns undefined if there is none.
	 */
	#nextAnswer(asked: Pick<Exchange, 'origin' | 'method' | 'path'>): Exchange | undefined {
		const callOf = ({ origin, method, path }: typeof asked) =>
			`${method} ${origin}${path.split('?')[0]}`;
		const sameCall = this.#nodeExchanges.filter((each) => callOf(each) === callOf(asked));
		const sameQuery = sameCall.filter(({ path }) => path === asked.path);
		const answers = sameQuery.length > 0 ? sameQuery : sameCall;
		const next = answers.find((each) => !this.#played.has(each)) ?? answers.at(-1);
		if (next) this.#played.add(next);
		return next;
	}

	/** Returns a recorded text with times of today, local URLs, and embedded files of the recorded size. */
	#asOfToday(text: string): string {
		const later = (time: string) => {
			const unit = { 10: 1000, 13: 1 }[time.split('.')[0]!.length] ?? 0;
			if (/^\d+(?:\.|$)/.test(time)) return String(Number(time) + Math.round(this.#shift / unit));
			// A date without a time is kept.
			if (time.length < 11) return time;
			const date = new Date(shared.asTime(time) + this.#shift);
			return /^\d/.test(time) ? date.toISOString() : date.toUTCString();
		};
		return [...this.#servers]
			.reduce((all, [origin, { url }]) => all.replaceAll(origin, url), text.replace(TIMES, later))
			.replace(OMITTED, (_, size) => 'A'.repeat(Number(size)));
	}

	/** Returns a text of the node with the recorded origins in place of local URLs. */
	withRealOrigins = (text: string) =>
		[...this.#servers].reduce(
			(all, [origin, { url }]) =>
				all.replaceAll(url, origin).replaceAll(new URL(url).host, new URL(origin).host),
			text,
		);

	#onRequest = (origin: string): Handler => {
		return async (request, response) => {
			request.resume();
			const exchange = this.#nextAnswer({ origin, method: request.method!, path: request.url! });
			if (!exchange) {
				this.unrecorded.push(`${request.method} ${request.url!}`);
				return response.writeHead(404).end('{"error":"not recorded"}');
			}
			const { at, status, headers, pieces, bytes, broke, ended = 0 } = exchange;
			if (request.method === 'POST') {
				const isOpen = (each: Exchange) => each.method === 'WEBSOCKET' && each.at < at;
				this.#replaySockets(at, this.#nodeExchanges.filter(isOpen));
			}
			if (status === 0) {
				await this.#pause(ended);
				const isEnded = broke !== ENDED_BY_NODE && exchange.ended !== undefined;
				return isEnded && request.socket.resetAndDestroy();
			}
			for (const [name, value] of Object.entries(headers)) {
				const isDecoded = name === 'content-encoding' && /gzip|br|deflate/.test(String(value));
				if (!isDecoded) response.setHeader(name, this.#asOfToday(String(value)));
			}
			response.writeHead(status).flushHeaders();
			let last = 0;
			for (const { ms, text, base64 = '' } of pieces) {
				if (text === undefined) {
					// A file is sent at once, because its download time says nothing about the service. Only its first
					// bytes were recorded; zeros stand for the rest.
					const head = Buffer.from(base64, 'base64');
					response.write(Buffer.concat([head, Buffer.alloc(bytes - head.length)]));
				} else {
					await this.#pause(ms - last);
					response.write(this.#asOfToday(text));
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

	/**
	 * Replays what happened on `sockets` between `from` and the next create call. `from` is in ms since the check
	 * began; the delays after it are as recorded.
	 */
	#replaySockets(from: number, sockets: Exchange[]): void {
		const next = this.#nodeExchanges.find(({ method, at }) => method === 'POST' && at > from);
		for (const socket of sockets) {
			const doAt = (ms: number, act: (opened: WebSocket) => void) => {
				const at = socket.at + ms;
				if (at < from || (next && at >= next.at)) return;
				void this.#pause(at - from).then(() => {
					const opened = this.#openSockets.get(socket);
					if (opened) act(opened);
				});
			};
			for (const { ms, text } of socket.pieces)
				doAt(ms, (opened) => opened.send(this.#asOfToday(text!)));
			if (socket.broke !== ENDED_BY_NODE && socket.ended !== undefined)
				doAt(socket.ended, (opened) => closeWith(opened, socket.code));
		}
	}

	/** Ends all pauses, and stops the servers. */
	async close(): Promise<void> {
		this.#closing.abort();
		for (const server of this.#servers.values()) await server.stop();
	}
}

/** Runs the node against a recording. Resolves with the differences from the recorded outcomes, one per line. */
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
		// The pauses between the node's attempts are random, and this machine may be busy.
		const hasTimedOut = recording.outcomes.some(({ lines }) => lines.includes(TIMED_OUT));
		const freeTimeoutMs = hasTimedOut ? undefined : 60_000;
		const recordedMs = Math.max(...recording.exchanges.map(({ at, ended = 0 }) => at + ended));
		// Otherwise an operation that waits for what was not recorded would go on until its Timeout.
		const stop = AbortSignal.timeout(2 * recordedMs + 60_000);
		const { voice } = recording;
		const plan = { operations, voice, service, before, freeTimeoutMs, stop };
		for await (const outcome of runAll(plan, credential))
			// If the check was stopped, the recording lacks the outcomes of Collect and the trigger, which run now.
			if (operations.includes(outcome.operation)) now.push(outcome);
		const linesOf = (outcomes: Outcome[]) =>
			outcomes.flatMap(({ operation, lines }) => lines.map((line) => `${operation}: ${line}`));
		const [then, today] = [linesOf(recording.outcomes), linesOf(now)];
		return [
			...then.filter((line) => !today.includes(line)).map((line) => `then: ${line}`),
			...today.filter((line) => !then.includes(line)).map((line) => `now:  ${line}`),
			...service.unrecorded.map((line) => `asked now, but not then: ${line}`),
		];
	} finally {
		await service.close();
	}
}
