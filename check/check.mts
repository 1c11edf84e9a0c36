/* Checks one service: sends the requests that cost nothing, runs the node, and records every exchange. */
import { once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { FREE, isGood, runFree, runNode, runPaid, startRun, type Session } from './operations.mts';
import { StandIns, type Recording } from './recording.mts';
import { maybeCharged, edgeRow, isAnswered, isNotThere, rowsOf, voiceIn } from './rows.mts';
import { holdSocket, record } from './wire.mts';

const PAGE_TIMEOUT_MS = 3_000;
const SOCKET_MS = 10_000;

/**
 * Lets the node run the free operations and those named in `pay` (unless the free ones show that this is pointless), and
 * asks what the node does not ask.
 */
export async function check(session: Session, pay: string[]): Promise<void> {
	const { onStep = () => {} } = session;
	onStep('the account, voices, history, and a task that does not exist');
	const runs = await runFree(session);
	if (!runs.some((run) => run.operation !== 'missing' && (isGood(run) || isAnswered(run)))) return;
	onStep('other pages, a wrong token, and ten seconds of WebSocket');
	await askMore(session);
	await runPaid(session, pay, voiceIn(runs.find(({ operation }) => operation === 'voices')!));
}

/**
 * Returns what a session has shown until now: the rows of the table, the recording, how many values of each kind were
 * replaced in it, and the paid operations that may have been charged.
 */
export function reportOf({ credential, runs }: Session) {
	const standIns = new StandIns(credential.apiToken);
	const startedAt = new Date(runs[0]!.exchanges[0]?.at ?? Date.now()).toISOString();
	const recording: Recording = { format: 5, startedAt, runs: runs.map(standIns.run) };
	const rows = rowsOf(recording.runs, standIns.redact.value(edgeRow(runs)));
	const charged = standIns.redact.value(maybeCharged(runs));
	return { rows, recording, charged, replaced: standIns.counts() };
}

/**
 * Keeps a WebSocket open, lets the node use a wrong token (for the voices if there is no account), and reads the pages 0
 * and 2 of the history, because the node begins with page 1.
 */
async function askMore(session: Session): Promise<void> {
	const { credential, runs } = session;
	const wrong = { ...credential, apiToken: 'a-token-that-nobody-has' };
	const which = runs[0]!.exchanges.every(isNotThere) ? FREE.voices : FREE.account;
	const socketUrl = `${credential.webSocketUrl}/ws?token=${encodeURIComponent(credential.apiToken)}`;
	const socket = startRun(session, 'socket', []);
	const token = runNode({ ...session, credential: wrong }, 'token', which);
	const pages = startRun(session, 'pages', []);
	const readPage = async (page: number) =>
		await record(pages, () => readHistory(credential, page)).catch(() => {});
	await Promise.all([holdSocket(socketUrl, SOCKET_MS, socket), token, ...[0, 2].map(readPage)]);
}

/** Reads a page of the history. Rejects after three seconds at the latest. */
async function readHistory({ apiToken, baseUrl }: Session['credential'], page: number) {
	const { get, Agent } = baseUrl.startsWith('https:') ? https : http;
	const url = `${baseUrl}/v1/video/histories?page=${page}&page_size=20`;
	const request = get(url, {
		headers: { authorization: `Bearer ${apiToken}` },
		signal: AbortSignal.timeout(PAGE_TIMEOUT_MS),
		// Like n8n, this uses the proxy that the environment names.
		agent: new Agent({ proxyEnv: process.env }),
	});
	const [answer] = (await once(request, 'response')) as [IncomingMessage];
	await answer.toArray();
}
