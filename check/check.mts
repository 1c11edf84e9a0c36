/* Checks one service: sends the requests that cost nothing, runs the node, and records every exchange. */
import { once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { FREE_OPERATIONS, isGood, runOperation, runPaid } from './operations.mts';
import type { Credential, Run } from './operations.mts';
import { StandIns, type Recording } from './recording.mts';
import { maybeCharged, edgeRow, isNotThere, rowsOf, voiceIn } from './rows.mts';
import { holdSocket, readExchange, record, type Exchange } from './wire.mts';

const PAGE_TIMEOUT_MS = 3_000;
const SOCKET_MS = 10_000;

/**
 * Lets the node run the free operations and those named in `pay` (unless the free ones show that this is pointless),
 * asks what the node does not ask, and records all exchanges. `onStep` is called with a name for each step. If `stop`
 * aborts, resolves with what was done until then.
 *
 * Resolves with the rows of the table, the recording, how many values of each kind were replaced in it, and the paid
 * operations that may have been charged.
 */
export async function check(
	credential: Credential,
	pay: string[],
	onStep: (what: string) => void,
	stop = new AbortController().signal,
) {
	const made = new Date().toISOString();
	onStep('the account, voices, history, and a task that does not exist');
	const free = FREE_OPERATIONS.map((each) => runOperation(each, credential, stop));
	const runs: Run[] = await Promise.all(free);
	if (runs.some((run) => run.operation !== 'missing' && isGood(run))) {
		onStep('other pages, a wrong token, and ten seconds of WebSocket');
		const voices = runs.find(({ operation }) => operation === 'voices')!.exchanges;
		const voice = voiceIn({ exchanges: voices.map(readExchange) });
		runs.push(...(await askMore(credential, runs[0]!, stop)));
		const before = (operation: string) => onStep(`the node: ${operation}`);
		const plan = { pay, voice, known: runs, before, stop };
		if (!stop.aborted) for await (const run of runPaid(plan, credential)) runs.push(run);
	}
	const standIns = new StandIns(credential.apiToken);
	const recording: Recording = { format: 4, made, runs: runs.map(standIns.run) };
	const rows = rowsOf(recording.runs, standIns.redact.value(edgeRow(runs)), pay);
	// How many values of each kind were replaced is known only now.
	const replaced = standIns.counts();
	return { rows, recording, replaced, charged: standIns.redact.value(maybeCharged(runs)) };
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
