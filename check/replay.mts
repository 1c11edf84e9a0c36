/* Replays a recorded service, and compares what the node does with what it did then. */
import { setTimeout as pause } from 'node:timers/promises';
import { WebSocketServer, type WebSocket } from 'ws';
import { FakeService, type Handler, type Upgrade } from '../test/service/fakeService.mts';
import { FREE_OPERATIONS, PAID, runOperation, runPaid, type Run } from './operations.mts';
import { shared } from './shared.mts';
import { lineOf, OMITTED, TIME, type RecordedExchange, type Recording } from './recording.mts';
import { ENDED_BY_NODE } from './wire.mts';

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
	readonly #exchanges: RecordedExchange[];
	/** The recorded requests that were made again. */
	readonly #played = new Set<RecordedExchange>();
	/** The local servers, by the recorded origins that they stand in for. */
	readonly #servers = new Map<string, FakeService>();
	readonly #sockets = new WebSocketServer({ noServer: true });
	readonly #closing = new AbortController();
	/** How much later it is now than in the recording, in ms. The times in answers are moved by this. */
	readonly #shift: number;
	/** The requests for which the recording has no answer: method and path. */
	readonly unrecorded: string[] = [];

	constructor({ runs, made }: Pick<Recording, 'runs' | 'made'>) {
		this.#exchanges = runs.flatMap((run) => run.exchanges).sort((a, b) => a.at - b.at);
		this.#shift = Date.now() - Date.parse(made);
	}

	/** Starts a server for each recorded origin, and resolves with the URLs for the credential. */
	async start(): Promise<{ baseUrl: string; webSocketUrl: string }> {
		for (const origin of new Set(this.#exchanges.map((each) => each.origin))) {
			const server = await FakeService.start(this.#onRequest(origin), this.#onUpgrade(origin));
			this.#servers.set(origin, server);
		}
		const urlOf = (isWanted: (exchange: RecordedExchange) => boolean) =>
			this.#servers.get(this.#exchanges.find(isWanted)?.origin ?? '')?.url;
		const baseUrl = urlOf(({ method }) => method === 'GET')!;
		const socketUrl = urlOf(({ method }) => method === 'WEBSOCKET') ?? baseUrl;
		return { baseUrl, webSocketUrl: socketUrl.replace('http', 'ws') };
	}

	#onUpgrade = (origin: string): Upgrade => {
		return (request, socket, early) => {
			const recorded = this.#nextAnswer({ origin, method: 'WEBSOCKET', path: '/ws' });
			if (recorded?.status === 101)
				return this.#sockets.handleUpgrade(request, socket, early, (opened) =>
					this.#replaySocket(recorded, opened),
				);
			if (recorded?.broke !== ENDED_BY_NODE) socket.destroy();
		};
	};

	/** Sends the messages of a recorded WebSocket when they came, and closes it if the service did. */
	#replaySocket(recorded: RecordedExchange, opened: WebSocket): void {
		opened.on('error', () => opened.terminate());
		const doAt = async (ms: number, act: () => void) => {
			await this.#pause(ms);
			act();
		};
		for (const { ms, text } of recorded.pieces)
			void doAt(ms, () => opened.send(this.#asOfToday(text!)));
		if (recorded.broke !== ENDED_BY_NODE && recorded.ended !== undefined)
			void doAt(recorded.ended, () => opened.terminate());
	}

	/**
	 * Returns the next recorded exchange for a request. If none has the same query, one with another query is used.
	 * Returns undefined if there is none.
	 */
	#nextAnswer(
		asked: Pick<RecordedExchange, 'origin' | 'method' | 'path'>,
	): RecordedExchange | undefined {
		const callOf = ({ origin, method, path }: typeof asked) =>
			`${method} ${origin}${path.split('?')[0]}`;
		const sameCall = this.#exchanges.filter((each) => callOf(each) === callOf(asked));
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

	#onRequest = (origin: string): Handler => {
		return async (request, response) => {
			request.resume();
			const exchange = this.#nextAnswer({ origin, method: request.method!, path: request.url! });
			if (!exchange) {
				this.unrecorded.push(`${request.method} ${request.url!}`);
				return response.writeHead(404).end('{"error":"not recorded"}');
			}
			const { status, headers, pieces, bytes, broke, ended = 0 } = exchange;
			const isOpen = broke === ENDED_BY_NODE || exchange.ended === undefined;
			if (status > 0) {
				for (const [name, value] of Object.entries(headers))
					response.setHeader(name, this.#asOfToday(String(value)));
				response.writeHead(status).flushHeaders();
			}
			let last = 0;
			for (const { ms, text, base64 = '' } of pieces) {
				await this.#pause(ms - last);
				// Only the start of a file was recorded; zeros stand for the rest.
				const start = Buffer.from(base64, 'base64');
				const file = () => Buffer.concat([start, Buffer.alloc(bytes - start.length)]);
				response.write(text === undefined ? file() : this.#asOfToday(text));
				last = ms;
			}
			if (isOpen) return;
			await this.#pause(ended - last);
			if (broke === undefined) response.end();
			else request.socket.destroySoon();
		};
	};

	#pause = async (ms: number) =>
		await pause(ms, undefined, { signal: this.#closing.signal }).catch(() => {});

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
	const { runs, others } = recording;
	const names = runs.map(({ operation }) => operation);
	if (names.length === 0) return ['nothing to replay: the node was made to do nothing'];
	const service = new Replay(recording);
	try {
		const apiToken = `replay-${Date.now()}-${Math.random()}`;
		// No answer of the recording contains the token.
		const redact = shared.redactor('');
		const credential = { apiToken, redact, ...(await service.start()) };
		const stop = new AbortController().signal;
		const free = names.filter((name) => FREE_OPERATIONS.includes(name));
		const now: Run[] = await Promise.all(
			free.map((operation) => runOperation(operation, credential, stop)),
		);
		const pay = names.filter((name) => Object.hasOwn(PAID, name));
		const hasSocket = others.some((each) => each.method === 'WEBSOCKET' && each.status === 101);
		const plan = { pay, voice: 'any', hasSocket, before, stop };
		for await (const run of runPaid(plan, credential))
			// If the check was stopped, the recording lacks the outcomes of Collect and the trigger, which run now.
			if (names.includes(run.operation)) now.push(run);
		const linesOf = (all: Array<Pick<Run, 'operation' | 'lines'>>) =>
			all.flatMap(({ operation, lines }) => lines.map((line) => `${operation}: ${lineOf(line)}`));
		const then = linesOf(runs);
		const today = linesOf(now);
		return [
			...then.filter((line) => !today.includes(line)).map((line) => `then: ${line}`),
			...today.filter((line) => !then.includes(line)).map((line) => `now:  ${line}`),
			...service.unrecorded.map((line) => `asked now, but not then: ${line}`),
		];
	} finally {
		await service.close();
	}
}
