/* Asks what the node itself does not ask: other pages, a wrong token, a WebSocket without a task, and HTTP/2. */
import { once } from 'node:events';
import { connect } from 'node:tls';
import { WebSocket } from 'ws';
import { PAGE_SIZE, runOperation, type Credential, type Run } from './operations.mts';
import { isNotThere } from './rows.mts';
import type { Exchange, Wire } from './wire.mts';

const PAGE_TIMEOUT_MS = 5_000;
const SOCKET_MS = 10_000;

/** The path of each list, and the number of its first page by the contract. */
const LISTS: Record<string, [path: string, firstPage: number]> = {
	voices: ['/v1/labs/voices', 0],
	history: ['/v1/video/histories', 1],
};

/** What the check has asked. A page is undefined if it was not asked. */
export interface Asked {
	nextVoices?: Exchange;
	nextHistory?: Exchange;
	/** The page 0 of the history, which the node never reads. */
	historyPage0?: Exchange;
	/** What the node does with a wrong token. */
	wrongToken: Run;
	socket: Exchange;
	offersHttp2: boolean;
}

/**
 * Asks for other pages of the lists that `runs` has read, with a wrong token, and keeps a WebSocket open. Rejects if
 * `stop` aborts.
 */
export async function askMore(
	wire: Wire,
	credential: Credential,
	runs: Run[],
	stop: AbortSignal,
): Promise<Asked> {
	const { exchanges } = wire;
	const { apiToken, baseUrl, webSocketUrl } = credential;
	/** Resolves with the answer for a page that comes `step` pages after the first, after any redirects. */
	const read = async (list: string, step: number) => {
		const calls = runs.find(({ operation }) => operation === list)?.calls ?? [];
		if (!calls.some(({ status }) => status > 0)) return undefined;
		const [path, firstPage] = LISTS[list]!;
		const url = `${baseUrl}${path}?page=${firstPage + step}&page_size=${PAGE_SIZE}`;
		const headers = { authorization: `Bearer ${apiToken}`, accept: 'application/json' };
		const signal = AbortSignal.any([AbortSignal.timeout(PAGE_TIMEOUT_MS), stop]);
		await fetch(url, { headers, signal })
			.then(async (answer) => await answer.text())
			.catch(() => {});
		return exchanges.findLast(({ method }) => method === 'GET');
	};
	const closed = holdSocket(`${webSocketUrl}/ws?token=${encodeURIComponent(apiToken)}`, stop);
	const nextVoices = await read('voices', 1);
	const nextHistory = await read('history', 1);
	const historyPage0 = await read('history', -1);
	// A service without an account refuses a wrong token elsewhere.
	const toRead = runs[0]!.calls.some(isNotThere) ? 'voices' : 'account';
	const wrong = { ...credential, apiToken: 'a-token-that-nobody-has' };
	const wrongToken = await runOperation(toRead, wrong, { service: wire, stop });
	await closed;
	stop.throwIfAborted();
	const socket = exchanges.find(({ method }) => method === 'WEBSOCKET')!;
	const { origin } = exchanges[0]!;
	const offersHttp2 = origin.startsWith('https:') && (await negotiatesHttp2(new URL(origin)));
	return { nextVoices, nextHistory, historyPage0, wrongToken, socket, offersHttp2 };
}

/** Keeps a WebSocket open for ten seconds. Resolves when it has closed, for any reason. */
async function holdSocket(url: string, stop: AbortSignal): Promise<void> {
	const socket = new WebSocket(url);
	const endSignal = AbortSignal.any([AbortSignal.timeout(SOCKET_MS), stop]);
	endSignal.addEventListener('abort', () => socket.terminate());
	socket.on('error', () => {});
	await new Promise((resolve) => socket.on('close', resolve));
}

/** Resolves with true if the server chooses HTTP/2 in the TLS handshake; with false if the handshake fails. */
async function negotiatesHttp2({ hostname, port }: URL): Promise<boolean> {
	const names = { host: hostname, servername: hostname, ALPNProtocols: ['h2', 'http/1.1'] };
	const socket = connect({ ...names, port: Number(port || 443) });
	await once(socket, 'secureConnect', { signal: AbortSignal.timeout(5000) }).catch(() => {});
	socket.destroy();
	return socket.alpnProtocol === 'h2';
}
