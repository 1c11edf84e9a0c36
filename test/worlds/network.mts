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
let mayDie: (process: Process) => void;

/** All of the world that is played. */
const exchanges: Exchange[] = [];
export const sockets: Socket[] = [];

/** From now on n8n's request helper and the global WebSocket lead to this service. */
export function connect(...world: [Service, typeof mayDie]): void {
	[service, mayDie] = world;
	[exchanges.length, sockets.length] = [0, 0];
	axios.defaults.adapter = async (config) => {
		const { data } = config as { data?: string | Pick<Blob, 'stream'> };
		// A large body is read like a Blob.
		const sent = typeof data === 'object' && 'stream' in data ? await text(data.stream()) : data;
		const exchange = exchangeOf(exchanges.length, { ...config, data: sent });
		exchanges.push(exchange);
		effect(exchange.who, () => runAs(undefined, () => service.receive(exchange)));
		return await exchange.answered;
	};
	globalThis.WebSocket = Object.assign(Socket, { CONNECTING: 0, OPEN: 1, CLOSED: 3 }) as never;
}

/** What a process does to the world, or the world to it: it may be killed before and after. */
export function effect(who: NonNullable<Who>, act: () => void): void {
	mayDie(who.process);
	runAs(who, act);
	mayDie(who.process);
}

/** Requests and sockets that live processes have open. */
export const open = () => ({
	requests: exchanges.filter(({ isOver }) => !isOver()).length,
	sockets: sockets.filter(({ readyState, who }) => readyState < 3 && !who.process.isDead).length,
});

export type Exchange = ReturnType<typeof exchangeOf>;

/** One request on its way, as the service sees it. */
function exchangeOf(n: number, config: InternalAxiosRequestConfig) {
	const { timeout = 300_000, signal, data = '{}' } = config;
	const sent = JSON.parse(String(data)) as Record<string, string | undefined>;
	const [picture = ''] = Object.values<unknown>(sent).find(Array.isArray) ?? [];
	const pictured = Buffer.from(picture, 'base64').toString().split('|')[1];
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
	/** Nobody takes anything more. */
	const isOver = () => body.destroyed || who.process.isDead;
	return {
		...{ n, who, answered, reset, isOver },
		method: String(config.method).toUpperCase(),
		...{ url, path: url.pathname, query: url.searchParams },
		authorization: String(config.headers.get('authorization') ?? ''),
		...{ sent, text: pictured ?? sent.input ?? sent.prompt },
		head(status: number, headers: Record<string, string>): void {
			clearTimeout(timer as never);
			const answer = { status, statusText: '', headers, data: body, config, request: {} };
			effect(who, () => resolve(answer));
		},
		/** False if that is not possible any more. */
		write: (part: string | Buffer) => !isOver() && body.writable && (body.write(part), true),
		end: (last = '') => void body.end(last),
	};
}

/** The global WebSocket, of which the service holds the other end. */
class Socket extends EventTarget {
	/** The process shares it: what it sets off is not the work of whoever opened it. */
	readonly who = { process: whoRuns()!.process };
	readyState = 0;

	constructor(url: string) {
		super();
		sockets.push(this);
		const isWelcome = service.welcomes(new URL(url));
		const answer = () => this.become(isWelcome && this.readyState === 0 ? 1 : 3);
		runAs(undefined, () => clock.after(20, answer));
	}

	/** It has been opened (1) or closed (3). */
	become(state: 1 | 3): void {
		if (this.readyState >= state) return;
		this.readyState = state;
		effect(this.who, () => this.dispatchEvent(new Event(state === 1 ? 'open' : 'close')));
	}

	say(message: object): void {
		const event = new MessageEvent('message', { data: JSON.stringify(message) });
		effect(this.who, () => this.dispatchEvent(event));
	}

	close(): void {
		if (this.readyState >= 2) return;
		this.readyState = 2;
		runAs(undefined, () => clock.after(5, () => this.become(3)));
	}
}

/** Status 0: the connection is reset; -1: refused. Without a body it goes on; undefined: it may come yet. */
export type Answer = { status: number; type?: string; body?: unknown; headers?: object };

/** What stands between fails: with a page, a connection that ends, or no answer at all. */
export function failing(as: Fault['as']): Answer | undefined {
	if (typeof as === 'number') return { status: as, type: 'text/html', body: '<html>Bad Gateway' };
	return as === 'hang' ? undefined : { status: as === 'refused' ? -1 : 0 };
}
