/* Sends the service the requests that cost nothing, by plain HTTP and one WebSocket. */
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { connect } from 'node:tls';
import { WebSocket } from 'ws';
import { MISSING_TASK } from './recording.mts';
import type { Credential } from './operations.mts';
import { seconds, textOf, type Exchange, type Wire } from './wire.mts';
import { ACCOUNT_PATH, asId, isRecord, parseJson, readPage, readRetryAfter } from './reading.mts';

/** How long one answer and all answers may take, in ms. With the node's free operations, that is under a minute. */
const [ANSWER_TIMEOUT_MS, TOTAL_TIMEOUT_MS] = [10_000, 20_000];
const [VOICES_PATH, HISTORY_PATH] = ['/v1/labs/voices', '/v1/video/histories'];
/** How many entries a page is asked to have. */
export const PAGE_SIZE = 20;

/** The answers. What was not asked has an empty list, or the answer for the account. */
export interface Answers {
	account: Exchange;
	/** The answer to a wrong token: for the account, or for the voices if there is no account. */
	badToken: Exchange;
	/** Two pages, or one if the first got no answer. */
	voices: Exchange[];
	/** Two pages, or one if the first got no answer. */
	history: Exchange[];
	/** The page 0 of the history, whose first page the contract calls 1. */
	historyPage0: Exchange;
	/** The answer for a task that does not exist. */
	missing: Exchange;
	socket: Exchange;
	offersHttp2: boolean;
	/** All exchanges, including redirects. Those of the node are added while it runs. */
	exchanges: Exchange[];
	/** The id of a voice; undefined if none was found. */
	voice?: string;
}

/** A list in an answer. A map by ID counts as the list of its values, and `key` is its first key. */
type List = [path: string, list: unknown[], key?: string];

/** Returns the lists that are at most three keys deep. `path` is the keys that lead to `value`, joined by dots. */
function listsIn(value: unknown, path = ''): List[] {
	if (Array.isArray(value)) return [[path, value]];
	if (!isRecord(value) || path.split('.').length > 2) return [];
	const isMapped = ([key, inner]: [string, unknown]) => /\d/.test(key) && isRecord(inner);
	const entries = Object.entries(value);
	const map = entries.filter(isMapped);
	const others = entries.filter((entry) => !isMapped(entry));
	const lists = others.flatMap(([key, inner]) => listsIn(inner, path ? `${path}.${key}` : key));
	return map[0] ? [...lists, [path, map.map(([, inner]) => inner), map[0][0]]] : lists;
}

/**
 * Returns the list of an answer: the one that the node reads, otherwise the longest; undefined if there is none. Its
 * path is '' if it is the answer itself.
 */
export function listIn(answer: unknown): List | undefined {
	const lists = listsIn(answer).sort(([, a], [, b]) => b.length - a.length);
	const first = readPage(answer)?.items[0];
	return lists.find(([, list]) => first !== undefined && list.includes(first)) ?? lists[0];
}

/** True if the status says that the service does not offer the call. */
export const isAbsent = ({ status }: Exchange) => [404, 405, 501].includes(status);

/**
 * Sends all requests that cost nothing. `isBlocked` is called with the answers so far. If it returns true, nothing more
 * is asked. Rejects if `stop` aborts.
 */
export async function askAll(
	wire: Wire,
	{ apiToken, baseUrl, webSocketUrl }: Credential,
	isBlocked: (answers: Answers) => boolean,
	onStep: (what: string) => void,
	stop: AbortSignal,
): Promise<Answers> {
	const { exchanges } = wire;
	const deadline = performance.now() + TOTAL_TIMEOUT_MS;
	const get = async (url: string, token = apiToken, retriesLeft = 5): Promise<Exchange> => {
		const headers = { authorization: `Bearer ${token}`, accept: 'application/json' };
		const leftMs = Math.ceil(deadline - performance.now());
		// Each request gets at least one second, even if the total time is over.
		const ms = Math.min(ANSWER_TIMEOUT_MS, Math.max(1000, leftMs));
		const signal = AbortSignal.any([AbortSignal.timeout(ms), stop]);
		const location = await fetch(url, { headers, redirect: 'manual', signal })
			.then(async (head) => (await head.text(), head.headers.get('location')))
			.catch(() => null);
		stop.throwIfAborted();
		const { origin } = new URL(url);
		const path = url.slice(origin.length);
		const exchange = exchanges.findLast((each) => each.method === 'GET' && each.path === path)!;
		if (signal.aborted) exchange.broke = `nothing within ${seconds(ms)}`;
		if (retriesLeft === 0) return exchange;
		// As the node does, asks again after the pause that the service wants, and follows redirects within the origin.
		if ([429, 503].includes(exchange.status)) {
			const waitMs = readRetryAfter(exchange.headers as Record<string, string>) ?? 1000;
			if (waitMs > Math.min(ANSWER_TIMEOUT_MS, leftMs)) return exchange;
			await pause(waitMs, undefined, { signal: stop });
			return await get(url, token, retriesLeft - 1);
		}
		const target = location === null ? null : URL.parse(location, url);
		return target?.origin === origin ? await get(target.href, token, retriesLeft - 1) : exchange;
	};
	const closed = holdSocket(`${webSocketUrl}/ws?token=${encodeURIComponent(apiToken)}`, stop);
	onStep('the account');
	const account = await get(baseUrl + ACCOUNT_PATH);
	const socket = exchanges.find(({ method }) => method === 'WEBSOCKET')!;
	const { origin } = account;
	const answers: Answers = {
		...{ account, badToken: account, voices: [], history: [], historyPage0: account },
		...{ missing: account, socket, exchanges },
		offersHttp2: origin.startsWith('https:') && (await negotiatesHttp2(new URL(origin))),
	};
	const page = async (path: string, number: number) =>
		await get(`${baseUrl}${path}?page=${number}&page_size=${PAGE_SIZE}`);
	const pages = async (path: string, first: number) => {
		const start = await page(path, first);
		return start.broke === undefined ? [start, await page(path, first + 1)] : [start];
	};
	const voices = () => pages(VOICES_PATH, 0);
	// If the answer for the account is unexpected, a readable list of voices still proves that this is the service.
	if (isBlocked(answers) && ((account.status >= 200 && account.status < 401) || isAbsent(account)))
		answers.voices = await voices();
	if (isBlocked(answers)) return answers;
	onStep(
		'voices, history, a task that does not exist, a wrong token, and ten seconds of WebSocket',
	);
	[answers.badToken, answers.voices, answers.history, answers.historyPage0, answers.missing] =
		await Promise.all([
			get(
				baseUrl +
					(isAbsent(account) ? `${VOICES_PATH}?page=0&page_size=${PAGE_SIZE}` : ACCOUNT_PATH),
				'a-token-that-nobody-has',
			),
			answers.voices.length > 0 ? answers.voices : voices(),
			pages(HISTORY_PATH, 1),
			page(HISTORY_PATH, 0),
			get(`${baseUrl}/v1/labs/task/${MISSING_TASK}`),
			closed,
		]);
	stop.throwIfAborted();
	const lists = answers.voices.map((page) => listIn(parseJson(textOf(page))));
	const [, entries = [], key] = lists.find((list) => list?.[1].some(isRecord)) ?? [];
	const voice = entries.find(isRecord) ?? {};
	// A user can enter a voice by ID, and would recognize the ID under another name or as the key of a map.
	const idKey = Object.keys(voice).find((name) => /^(?:voice[_-]?)?id$/i.test(name));
	answers.voice = asId(voice.voice_id) ?? asId(voice[idKey ?? '']) ?? asId(key);
	return answers;
}

/** Keeps a WebSocket open for ten seconds. Resolves when it has closed, for any reason. */
async function holdSocket(url: string, stop: AbortSignal): Promise<void> {
	const socket = new WebSocket(url);
	const endSignal = AbortSignal.any([AbortSignal.timeout(10_000), stop]);
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
