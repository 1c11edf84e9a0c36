import { createRequire } from 'node:module';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { AxiosResponse, InternalAxiosRequestConfig } from 'axios';
import { requireFromCore } from '../../demo/n8n.mts';
import { clock, type Process, runAs, type Who, whoRuns } from './clock.mts';
import type { Service } from './service.mts';
import type { Fault } from './world.mts';

const nearHelper = createRequire(requireFromCore.resolve('@n8n/backend-network'));
const axios = nearHelper('axios') as typeof import('axios').default;

let service: Service;
let onEffect: (process: Process) => void;

/** All requests and all sockets of the world that is played. */
const exchanges: Exchange[] = [];
export const sockets: Socket[] = [];

/**
 * From now on, n8n's request helper and the global WebSocket lead to this service. `beforeAndAfterEffect` is called before
 * and after each effect, and may kill the process.
 */
export function connect(worldService: Service, beforeAndAfterEffect: typeof onEffect): void {
	[service, onEffect] = [worldService, beforeAndAfterEffect];
	[exchanges.length, sockets.length] = [0, 0];
	axios.defaults.adapter = async (config) => {
		const { data } = config as { data?: string | Pick<Blob, 'stream'> };
		// The node sends a large body as a Blob.
		const sent = typeof data === 'object' && 'stream' in data ? await text(data.stream()) : data;
		const exchange = exchangeOf(exchanges.length, { ...config, data: sent });
		exchanges.push(exchange);
		effect(exchange.who, () => runAs(undefined, () => service.receive(exchange)));
		return await exchange.answered;
	};
	globalThis.WebSocket = Object.assign(Socket, { CONNECTING: 0, OPEN: 1, CLOSED: 3 }) as never;
}

/** Does what a process does to the outside, or the outside to it. The process may be killed before and after. */
export function effect(who: NonNullable<Who>, act: () => void): void {
	onEffect(who.process);
	runAs(who, act);
	onEffect(who.process);
}

/** Returns how many requests and sockets of live processes are open. */
export const countOpen = () => ({
	requests: exchanges.filter(({ isClosed }) => !isClosed()).length,
	sockets: sockets.filter(({ readyState, who }) => readyState < 3 && !who.process.isDead).length,
});

export type Exchange = ReturnType<typeof exchangeOf>;

/** One request, and the functions with which the service answers it. */
function exchangeOf(n: number, config: InternalAxiosRequestConfig) {
	const { timeout = 300_000, signal, data = '{}' } = config;
	const sent = JSON.parse(String(data)) as Record<string, string | undefined>;
	const [image = ''] = Object.values<unknown>(sent).find(Array.isArray) ?? [];
	const imageText = Buffer.from(image, 'base64').toString().split('|')[1];
	const { promise: answered, resolve, reject } = Promise.withResolvers<AxiosResponse>();
	const who = whoRuns()!;
	const url = new URL(axios.getUri(config));
	const body = new PassThrough().on('error', () => {});
	const fail = (error: Error) => (reject(error), void body.destroy(error));
	const reset = (code: string, text = `connect ${code}`) =>
		fail(new axios.AxiosError(text, code, config));
	const timer = clock.after(timeout, () => reset('ECONNABORTED', `timeout of ${timeout}ms`));
	body.on('close', () => clearTimeout(timer as never));
	signal?.addEventListener!('abort', () => fail(new axios.CanceledError()));
	/** Returns true once nobody reads the response any more. */
	const isClosed = () => body.destroyed || who.process.isDead;
	return {
		...{ n, who, answered, reset, isClosed },
		method: String(config.method).toUpperCase(),
		...{ url, path: url.pathname, query: url.searchParams },
		authorization: String(config.headers.get('authorization') ?? ''),
		...{ sent, text: imageText ?? sent.input ?? sent.prompt },
		head(status: number, headers: Record<string, string>): void {
			clearTimeout(timer as never);
			const answer = { status, statusText: '', headers, data: body, config, request: {} };
			effect(who, () => resolve(answer));
		},
		/** Writes a part of the body. Returns false if the response was closed. */
		write: (part: string | Buffer) => !isClosed() && body.writable && (body.write(part), true),
		end: (last = '') => void body.end(last),
	};
}

/** The global WebSocket. `receive` and `setState` are for the service, which is the other side. */
class Socket extends EventTarget {
	/** The process without the attempt that opened it, because all executions of the process share the socket. */
	readonly who = { process: whoRuns()!.process };
	readyState = 0;

	constructor(url: string) {
		super();
		sockets.push(this);
		const isAccepted = service.acceptsSocket(new URL(url));
		const answer = () => this.setState(isAccepted && this.readyState === 0 ? 1 : 3);
		runAs(undefined, () => clock.after(20, answer));
	}

	/** Notes that the socket was opened (1) or closed (3). */
	setState(state: 1 | 3): void {
		if (this.readyState >= state) return;
		this.readyState = state;
		effect(this.who, () => this.dispatchEvent(new Event(state === 1 ? 'open' : 'close')));
	}

	receive(message: object): void {
		const event = new MessageEvent('message', { data: JSON.stringify(message) });
		effect(this.who, () => this.dispatchEvent(event));
	}

	close(): void {
		if (this.readyState >= 2) return;
		this.readyState = 2;
		runAs(undefined, () => clock.after(5, () => this.setState(3)));
	}
}

/** Status 0: the connection is reset; -1: refused. Without a `body`, the response stays open for `write`. */
export type Answer = { status: number; type?: string; body?: unknown; headers?: object };

/** Returns the answer of a proxy, or of a failed connection; undefined if the request hangs. */
export function failedAnswer(mode: Fault['mode']): Answer | undefined {
	if (typeof mode === 'number')
		return { status: mode, type: 'text/html', body: '<html>Bad Gateway' };
	return mode === 'hang' ? undefined : { status: mode === 'refused' ? -1 : 0 };
}
