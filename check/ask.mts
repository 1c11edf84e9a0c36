/* Asks what the node itself does not ask: other pages, a wrong token, and a WebSocket without a task. */
import { once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { setTimeout as pause } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { runOperation, type Credential, type Run } from './operations.mts';
import { isNotThere } from './rows.mts';
import {
	end,
	ENDED_BY_NODE,
	onErrorOf,
	record,
	recordAnswer,
	recordSocket,
	type Exchange,
} from './wire.mts';

const TIMEOUT_MS = 3_000;
const SOCKET_MS = 10_000;

/** What the check has asked. */
export interface Asked {
	/** The pages 0 and 2 of the history. The node begins with page 1. */
	otherPages: Exchange[];
	/** What the node does with a wrong token. */
	wrongToken: Run;
	socket: Exchange;
}

/** Reads a path of the service. Resolves after three seconds at the latest. */
async function ask(
	{ apiToken, baseUrl, redact }: Credential,
	path: string,
	stop: AbortSignal,
): Promise<Exchange> {
	const exchanges: Exchange[] = [];
	const signal = AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), stop]);
	const { get, Agent } = baseUrl.startsWith('https:') ? https : http;
	// Like n8n, this uses the proxy that the environment names.
	const agent = new Agent({ proxyEnv: process.env });
	const options = { headers: { authorization: `Bearer ${apiToken}` }, signal, agent };
	await record({ exchanges, redact }, async () => {
		const [answer] = (await once(get(baseUrl + path, options), 'response')) as [IncomingMessage];
		await answer.toArray();
	}).catch(() => {});
	return exchanges[0]!;
}

/**
 * Asks for other pages of the history, with a wrong token (for the voices if there is no `account`), and keeps a WebSocket
 * open.
 */
export async function askMore(
	credential: Credential,
	account: Run,
	stop: AbortSignal,
): Promise<Asked> {
	const wrong = { ...credential, apiToken: 'a-token-that-nobody-has' };
	const askForPage = async (page: number) =>
		await ask(credential, `/v1/video/histories?page=${page}&page_size=20`, stop);
	const [otherPages, wrongToken, socket] = await Promise.all([
		Promise.all([0, 2].map(askForPage)),
		runOperation(account.exchanges.every(isNotThere) ? 'voices' : 'account', wrong, stop),
		holdSocket(credential, stop),
	]);
	return { otherPages, wrongToken, socket };
}

/** Keeps a WebSocket open for ten seconds. */
async function holdSocket({ webSocketUrl, apiToken, redact }: Credential, stop: AbortSignal) {
	const url = `${webSocketUrl}/ws?token=${encodeURIComponent(apiToken)}`;
	const socket = new WebSocket(url);
	const exchange = recordSocket({ exchanges: [], redact }, socket as unknown as EventTarget, url);
	socket.on('unexpected-response', (_, response) => {
		recordAnswer(exchange, response);
		response.resume();
	});
	socket.on('error', onErrorOf(exchange));
	await pause(SOCKET_MS, undefined, { signal: stop }).catch(() => {});
	end(exchange, ENDED_BY_NODE);
	socket.terminate();
	return exchange;
}
