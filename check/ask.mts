/* The questions that cost nothing, in plain requests. */
import { setTimeout as pause } from 'node:timers/promises';
import { connect } from 'node:tls';
import { WebSocket } from 'ws';
import { MISSING_TASK } from './recording.mts';
import type { Credential } from './operations.mts';
import { seconds, textOf, type Exchange, type Wire } from './wire.mts';
import { ACCOUNT_PATH, asId, isRecord, parseJson, readPage, readRetryAfter } from './reading.mts';

/** How long one answer, and all of them, may take, in ms: with what the node does, less than a minute. */
const [ONE_MS, ALL_MS] = [10_000, 20_000];
/** Entries of a page that is asked for. */
export const PAGE = 20;

/** The answers. */
export interface Asked {
	account: Exchange;
	wrong: Exchange;
	/** Two pages each; one if there was no answer. */
	voices: Exchange[];
	history: Exchange[];
	missing: Exchange;
	socket: Exchange;
	/** What the server would rather speak, over TLS. */
	protocol: string | false | null;
	/** All of them, redirects too. */
	exchanges: Exchange[];
	voice?: string;
}

type List = [path: string, list: unknown[]];

function listsIn(value: unknown, path = ''): List[] {
	if (Array.isArray(value)) return [[path, value]];
	if (!isRecord(value) || path.split('.').length > 2) return [];
	return Object.entries(value).flatMap(([key, inner]) =>
		listsIn(inner, path ? `${path}.${key}` : key),
	);
}

/** Where in an answer the list is, '' for the answer itself: the one that the node reads, or else the longest. */
export function listIn(answer: unknown): List | undefined {
	const lists = listsIn(answer).sort(([, a], [, b]) => b.length - a.length);
	const first = readPage(answer)?.items[0];
	return lists.find(([, list]) => first !== undefined && list.includes(first)) ?? lists[0];
}

export const isAbsent = ({ status }: Exchange) => [404, 405, 501].includes(status);

/** Asks everything that costs nothing, or less if `isBlocked` says so of the account. */
export async function askAll(
	wire: Wire,
	{ apiToken, baseUrl, webSocketUrl }: Credential,
	isBlocked: (asked: Asked) => boolean,
	say: (what: string) => void,
	stop: AbortSignal,
): Promise<Asked> {
	const { exchanges } = wire;
	const until = performance.now() + ALL_MS;
	const get = async (path: string, token = apiToken): Promise<Exchange> => {
		const headers = { authorization: `Bearer ${token}`, accept: 'application/json' };
		let url = baseUrl + path;
		for (let left = 5; ; left--) {
			const leftMs = Math.ceil(until - performance.now());
			// What is late has a second all the same.
			const ms = Math.min(ONE_MS, Math.max(1000, leftMs));
			const signal = AbortSignal.any([AbortSignal.timeout(ms), stop]);
			const location = await fetch(url, { headers, redirect: 'manual', signal })
				.then(async (head) => (await head.text(), head.headers.get('location')))
				.catch(() => null);
			stop.throwIfAborted();
			const asked = url.slice(new URL(url).origin.length);
			const exchange = exchanges.findLast((each) => each.method === 'GET' && each.path === asked)!;
			if (signal.aborted) exchange.broke = `nothing within ${seconds(ms)}`;
			// As the node does: to the same origin, with the token, and again if it is asked to wait.
			const target = location === null ? null : URL.parse(location, url);
			const isToWait = [429, 503].includes(exchange.status);
			if (left === 0 || (!isToWait && target?.origin !== new URL(url).origin)) return exchange;
			if (!isToWait) url = target!.href;
			else {
				const waitMs = readRetryAfter(exchange.headers as Record<string, string>) ?? 1000;
				if (waitMs > Math.min(ONE_MS, leftMs)) return exchange;
				await pause(waitMs, undefined, { signal: stop });
			}
		}
	};
	const heard = listen(`${webSocketUrl}/ws?token=${encodeURIComponent(apiToken)}`, stop);
	say('the account');
	const account = await get(ACCOUNT_PATH);
	const socket = exchanges.find(({ method }) => method === 'WEBSOCKET')!;
	const { origin } = account;
	const asked: Asked = {
		...{ account, wrong: account, voices: [], history: [], missing: account, socket, exchanges },
		protocol: origin.startsWith('https:') ? await protocolOf(new URL(origin)) : '',
	};
	const pages = async (path: string, first: number) => {
		const page = (number: number) => get(`${path}?page=${number}&page_size=${PAGE}`);
		const start = await page(first);
		return start.broke === undefined ? [start, await page(first + 1)] : [start];
	};
	const voices = () => pages('/v1/labs/voices', 0);
	// Where the account is not as it should be, the voices tell whether this is the service.
	if (isBlocked(asked) && ((account.status >= 200 && account.status < 401) || isAbsent(account)))
		asked.voices = await voices();
	if (isBlocked(asked)) return asked;
	say('voices, history, a task that does not exist, a wrong token, and ten seconds of WebSocket');
	[asked.wrong, asked.voices, asked.history, asked.missing] = await Promise.all([
		get(ACCOUNT_PATH, 'a-token-that-nobody-has'),
		asked.voices.length > 0 ? asked.voices : voices(),
		pages('/v1/video/histories', 1),
		get(`/v1/labs/task/${MISSING_TASK}`),
		heard,
	]);
	stop.throwIfAborted();
	const voice = listIn(parseJson(textOf(asked.voices[0]!)))?.[1].find(isRecord) ?? {};
	// A person would find the ID under any name.
	const idKey = Object.keys(voice).find((key) => /^(?:voice_?)?id$/i.test(key));
	asked.voice = asId(voice.voice_id) ?? asId(voice[idKey ?? '']);
	return asked;
}

/** Holds the WebSocket open for ten seconds. */
async function listen(url: string, stop: AbortSignal): Promise<void> {
	const socket = new WebSocket(url);
	const over = AbortSignal.any([AbortSignal.timeout(10_000), stop]);
	over.addEventListener('abort', () => socket.terminate());
	socket.on('error', () => {});
	await new Promise((resolve) => socket.on('close', resolve));
}

const protocolOf = async ({ hostname, port }: URL) =>
	await new Promise<string | false | null>((resolve) => {
		const more = { servername: hostname, ALPNProtocols: ['h2', 'http/1.1'], timeout: 5000 };
		const socket = connect({ host: hostname, port: Number(port || 443), ...more }, () => {
			resolve(socket.alpnProtocol);
			socket.destroy();
		});
		socket.on('error', () => resolve(''));
		socket.on('timeout', () => socket.destroy(new Error('late')));
	});
