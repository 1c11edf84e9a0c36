/* Checks one service: sends the requests that cost nothing, runs the node, and records every exchange. */
import { once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { FREE_OPERATIONS, isGood, runOperation, runPaid } from './operations.mts';
import type { Credential, Run } from './operations.mts';
import { StandIns, type Recording } from './recording.mts';
import type { Row } from './report.mts';
import { maybeCharged, edgeRow, isNotThere, rowsOf, voiceIn } from './rows.mts';
import { holdSocket, readExchange, record, type Exchange } from './wire.mts';

const PAGE_TIMEOUT_MS = 3_000;
const SOCKET_MS = 10_000;

interface CheckResult {
	/** The error that ended the check early; undefined if nothing did. */
	failure?: unknown;
	rows: Row[];
	recording: Recording;
	/** How many values were replaced in the recording, for each kind. */
	replaced: string[];
	/** The paid operations that may have been charged. */
	charged: string[];
}

/**
 * Lets the node run the free operations and those named in `pay` (unless the free ones show that this is pointless),
 * asks what the node does not ask, and records all exchanges. `onStep` is called with a name for each step.
 *
 * Never rejects once requests may have been sent: whatever came of them is recorded and named, with the `failure`.
 */
export async function check(
	credential: Credential,
	pay: string[],
	onStep: (what: string) => void,
	stop = new AbortController().signal,
): Promise<CheckResult> {
	const made = new Date().toISOString();
	const runs: Run[] = [];
	let failure: unknown;
	onStep('the account, voices, history, and a task that does not exist');
	try {
		const free = FREE_OPERATIONS.map((each) => runOperation(each, credential, stop));
		runs.push(...(await Promise.all(free)));
		stop.throwIfAborted();
		if (runs.some((run) => run.operation !== 'missing' && isGood(run))) {
			onStep('other pages, a wrong token, and ten seconds of WebSocket');
			const more = await askMore(credential, runs[0]!, stop);
			runs.push(...more);
			stop.throwIfAborted();
			const before = (operation: string) => onStep(`the node: ${operation}`);
			const hasSocket = more[0]!.exchanges[0]!.status === 101;
			const voices = runs.find(({ operation }) => operation === 'voices')!.exchanges;
			const voice = voiceIn({ exchanges: voices.map(readExchange) });
			const plan = { pay, voice, hasSocket, before, stop };
			for await (const run of runPaid(plan, credential)) runs.push(run);
		}
		stop.throwIfAborted();
	} catch (error) {
		failure = error;
	}
	const standIns = new StandIns(credential.apiToken);
	const shown = runs.map(standIns.run);
	const isWhole = failure === undefined || runs.length > FREE_OPERATIONS.length;
	const edge = standIns.redact.value(edgeRow(runs));
	const rows = isWhole ? rowsOf(shown, edge, pay) : [];
	const recording: Recording = { format: 4, made, runs: shown };
	const replaced = standIns.counts();
	return { failure, rows, recording, replaced, charged: maybeCharged(runs) };
}

/**
 * Keeps a WebSocket open, lets the node use a wrong token (for the voices if there is no `account`), and reads the pages
 * 0 and 2 of the history, because the node begins with page 1.
 */
async function askMore(credential: Credential, account: Run, stop: AbortSignal): Promise<Run[]> {
	const wrong = { ...credential, apiToken: 'a-token-that-nobody-has' };
	const operation = account.exchanges.every(isNotThere) ? 'voices' : 'account';
	const socketUrl = `${credential.webSocketUrl}/ws?token=${encodeURIComponent(credential.apiToken)}`;
	const pages: Exchange[] = [];
	const readPage = async (page: number) =>
		await record({ exchanges: pages }, () => readHistory(credential, page, stop)).catch(() => {});
	const [socket, token] = await Promise.all([
		holdSocket(socketUrl, SOCKET_MS, stop),
		runOperation(operation, wrong, stop),
		...[0, 2].map(readPage),
	]);
	return [
		{ operation: 'socket', lines: [], exchanges: [socket] },
		{ ...token, operation: 'token' },
		{ operation: 'pages', lines: [], exchanges: pages },
	];
}

/** Reads a page of the history. Rejects after three seconds at the latest. */
async function readHistory({ apiToken, baseUrl }: Credential, page: number, stop: AbortSignal) {
	const signal = AbortSignal.any([AbortSignal.timeout(PAGE_TIMEOUT_MS), stop]);
	const { get, Agent } = baseUrl.startsWith('https:') ? https : http;
	// Like n8n, this uses the proxy that the environment names.
	const agent = new Agent({ proxyEnv: process.env });
	const url = `${baseUrl}/v1/video/histories?page=${page}&page_size=20`;
	const request = get(url, { headers: { authorization: `Bearer ${apiToken}` }, signal, agent });
	const [answer] = (await once(request, 'response')) as [IncomingMessage];
	await answer.toArray();
}
