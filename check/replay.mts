/* Replays a recorded service, and compares what the node does with what it did then. */
import { setTimeout as pause } from 'node:timers/promises';
import { WebSocketServer } from 'ws';
import { FakeService, type Handler, type Upgrade } from '../test/service/fakeService.mts';
import { FREE, OWN_LINES, PAID, runFree, runPaid } from './operations.mts';
import type { FreeName, Run, Session } from './operations.mts';
import { shared } from './shared.mts';
import { lineOf, OMITTED, StandIns, TIME, type Recording } from './recording.mts';
import { voiceIn } from './rows.mts';
import { ENDED_BY_NODE, type Exchange } from './wire.mts';

/** Matches a time in JSON: a text, or a number of seconds or milliseconds since 1970. */
const TIMES = new RegExp(
	`${TIME.source}|(?<=[":\\s])1\\d{9}(?:\\d{3})?(?:\\.\\d+)?(?=[",}\\]\\s])`,
	'g',
);

/**
 * Starts a local service that answers from a recording. If a request was recorded several times, its answers are given in
 * that order, and the last one is repeated. Resolves with the URLs for the credential.
 */
async function serve({ runs, startedAt }: Recording) {
	const exchanges = runs
		.filter(({ operation }) => !['socket', 'token', 'pages'].includes(operation))
		.flatMap((run) => run.exchanges)
		.sort((a, b) => a.at - b.at);
	const played = new Set<Exchange>();
	const servers: FakeService[] = [];
	/** The URLs of the local servers, by the recorded origins that they stand in for. */
	const urls = new Map<string, string>();
	const sockets = new WebSocketServer({ noServer: true });
	/** How much later it is now than in the recording, in ms. The times in answers are moved by this. */
	const shift = Date.now() - Date.parse(startedAt);

	/** Returns the next exchange for a request, if possible with the same query; undefined if there is none. */
	function nextAnswer(origin: string, method: string, path: string): Exchange | undefined {
		const isSameCall = (each: Exchange) =>
			each.method === method && each.path.split('?')[0] === path.split('?')[0];
		const sameCall = exchanges.filter((each) => each.origin === origin && isSameCall(each));
		const sameQuery = sameCall.filter((each) => each.path === path);
		const answers = sameQuery.length > 0 ? sameQuery : sameCall;
		const next = answers.find((each) => !played.has(each)) ?? answers.at(-1);
		if (next) played.add(next);
		return next;
	}

	const later = (time: string) => {
		// A date without a time is kept.
		if (/^\d{4}-\d\d-\d\d$/.test(time)) return time;
		const unit = { 10: 1000, 13: 1 }[time.split('.')[0]!.length];
		if (unit) return String(Number(time) + Math.round(shift / unit));
		const date = new Date(shared.asTime(time) + shift);
		return /^\d/.test(time) ? date.toISOString() : date.toUTCString();
	};
	/** Returns a recorded text with times of today, local URLs, and embedded files of the recorded size. */
	const asOfToday = (text: string) =>
		[...urls]
			.reduce((all, [origin, url]) => all.replaceAll(origin, url), text.replace(TIMES, later))
			.replace(OMITTED, (_, size) => 'A'.repeat(Number(size)));

	const pauseFor = async (ms: number) => await pause(Math.max(0, ms), undefined, { ref: false });
	/** Sends the pieces of an answer when they came. Calls `close` when the answer was over, unless the node ended it. */
	async function send(
		{ pieces, bytes, broke, ended }: Exchange,
		write: (part: string | Buffer) => void,
		close: () => void,
	): Promise<void> {
		let last = 0;
		for (const { ms, text, base64 = '' } of pieces) {
			await pauseFor(ms - last);
			last = ms;
			// Only the start of a file was recorded; zeros stand for the rest.
			const start = Buffer.from(base64, 'base64');
			write(text === undefined ? Buffer.concat([start], bytes) : asOfToday(text));
		}
		if (broke === ENDED_BY_NODE || ended === undefined) return;
		await pauseFor(ended - last);
		close();
	}

	const onRequest =
		(origin: string): Handler =>
		async (request, response) => {
			request.resume();
			const exchange = nextAnswer(origin, request.method!, request.url!);
			if (!exchange) return response.writeHead(404).end('{"error":"not recorded"}');
			if (exchange.status > 0) {
				for (const [name, value] of Object.entries(exchange.headers))
					response.setHeader(name, asOfToday(String(value)));
				response.writeHead(exchange.status);
				// The text of a refusal came with its headers: the node waits only briefly for the rest.
				if (exchange.status < 400 || exchange.pieces.length !== 1) response.flushHeaders();
			}
			const isWhole = exchange.broke === undefined;
			const close = () => (isWhole ? response.end() : request.socket.destroySoon());
			await send(exchange, (part) => response.write(part), close);
		};
	const onUpgrade =
		(origin: string): Upgrade =>
		(request, socket, early) => {
			const exchange = nextAnswer(origin, 'WEBSOCKET', '/ws');
			if (exchange?.status !== 101)
				return void (exchange?.broke === ENDED_BY_NODE || socket.destroy());
			sockets.handleUpgrade(request, socket, early, (opened) => {
				opened.on('error', () => opened.terminate());
				const close = () => opened.terminate();
				void send(exchange, (part) => opened.send(part), close);
			});
		};

	for (const origin of new Set(exchanges.map((each) => each.origin))) {
		const server = await FakeService.start(onRequest(origin), onUpgrade(origin));
		urls.set(origin, server.url);
		servers.push(server);
	}
	const urlOf = (which: string) =>
		urls.get(exchanges.find(({ method }) => method === which)?.origin ?? '');
	const baseUrl = urlOf('GET')!;
	const webSocketUrl = (urlOf('WEBSOCKET') ?? baseUrl).replace('http', 'ws');
	const close = async () => void (await Promise.all(servers.map((each) => each.stop())));
	return { baseUrl, webSocketUrl, close };
}

/** Runs the node against a recording. Resolves with the differences from the recorded outcomes, one per line. */
export async function replay(
	recording: Recording,
	onStep?: (operation: string) => void,
): Promise<string[]> {
	const find = (name: string) => recording.runs.find(({ operation }) => operation === name);
	// What the check has ended has no outcome. Nor has what the check itself asked, with a wrong token, too.
	const isCompared = ({ operation, lines }: Run) =>
		operation !== 'token' && lines.length > 0 && !OWN_LINES.includes(lines[0]!);
	const then = recording.runs.filter(isCompared);
	if (then.length === 0) return ['nothing to replay: the node was made to do nothing'];
	const { close, ...urls } = await serve(recording);
	const apiToken = `replay-${Date.now()}-${Math.random()}`;
	const credential = { ...urls, apiToken };
	const session: Session = { credential, runs: [], onStep, recorded: recording.runs };
	const wereRun = (operations: object) =>
		Object.keys(operations).filter((name) => then.includes(find(name)!));
	try {
		await runFree(session, wereRun(FREE) as FreeName[]);
		await runPaid(session, wereRun(PAID), voiceIn(find('voices')!));
	} finally {
		await close();
	}
	const { line } = new StandIns(apiToken);
	const now = session.runs.filter(({ operation }) => then.includes(find(operation)!));
	const linesOf = (runs: Run[]) =>
		runs.flatMap(({ operation, lines }) =>
			lines
				// The node gives this hint only if the task took long, and a replay takes another time.
				.filter((each) => !each.startsWith('hint: The WebSocket was not open'))
				.map((each) => `${operation}: ${lineOf(each)}`),
		);
	const before = linesOf(then);
	const today = linesOf(now.map((run) => ({ ...run, lines: run.lines.map(line) })));
	return [
		...before.filter((each) => !today.includes(each)).map((each) => `then: ${each}`),
		...today.filter((each) => !before.includes(each)).map((each) => `now:  ${each}`),
	];
}
