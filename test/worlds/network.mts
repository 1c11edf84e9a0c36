import { createRequire } from 'node:module';
import { Readable } from 'node:stream';
import type { AxiosAdapter } from 'axios';
import { type Clock, runAs, type Who, whoRuns } from './clock.mts';
import type { Service } from './service.mts';

const require = createRequire(import.meta.url);
const nearN8n = createRequire(
	createRequire(require.resolve('n8n-core')).resolve('@n8n/backend-network'),
);
const axios = nearN8n('axios') as typeof import('axios').default;

/** One request on its way, as the service sees it. */
export interface Exchange {
	n: number;
	method: string;
	url: URL;
	authorization: string;
	sent: Record<string, unknown>;
	who: Who;
	/** Nothing more can be answered. */
	isOver: boolean;
	begin(status: number, headers: Record<string, string>): void;
	/** False if that is not possible any more. */
	write(part: string | Buffer): boolean;
	end(): void;
	reset(code?: string): void;
}

/** A WebSocket, of which the service holds the other end. */
export interface Socket {
	readonly who: Who;
	readyState: number;
	/** It has been opened (1) or closed (3). */
	become(state: 1 | 3): void;
	say(message: object): void;
}

/** What a process does to the world, or the world to it. */
export type Effect = (who: Who, act: () => void) => void;

/** Replaces the network below n8n's request helper and the global WebSocket; returns what undoes it. */
export function connect(clock: Clock, service: Service, effect: Effect): () => void {
	const before = { adapter: axios.defaults.adapter, WebSocket: globalThis.WebSocket };
	axios.defaults.adapter = adapterTo(clock, service, effect);
	globalThis.WebSocket = socketsTo(clock, service, effect) as never;
	return () => {
		axios.defaults.adapter = before.adapter;
		globalThis.WebSocket = before.WebSocket;
	};
}

function adapterTo(clock: Clock, service: Service, effect: Effect): AxiosAdapter {
	let requests = 0;
	return async (config) =>
		await new Promise((resolve, reject) => {
			const who = whoRuns();
			const body = new Readable({ read() {} });
			let hasEnded = false;
			const give = (error: Error) => {
				exchange.isOver = true;
				clearTimeout(timer as never);
				reject(error);
				body.destroy(error);
			};
			const fail = (code: string, text: string) => give(new axios.AxiosError(text, code, config));
			const exchange: Exchange = {
				...{ n: requests++, who, isOver: false, url: new URL(axios.getUri(config)) },
				method: config.method!.toUpperCase(),
				authorization: String(config.headers.get('authorization') ?? ''),
				sent: config.data ? JSON.parse(String(config.data)) : {},
				begin(status, headers) {
					clearTimeout(timer as never);
					const answer = { status, statusText: '', headers, data: body, config, request: {} };
					effect(who, () => resolve(answer));
				},
				write: (part) => !exchange.isOver && !hasEnded && (body.push(Buffer.from(part)), true),
				end() {
					hasEnded = true;
					body.push(null);
				},
				reset(code = 'ECONNRESET') {
					if (!exchange.isOver)
						fail(code, code === 'ECONNREFUSED' ? `connect ${code}` : 'socket hang up');
				},
			};
			body.on('error', () => {}).once('close', () => (exchange.isOver = true));
			const { timeout = 300_000 } = config;
			const timer = clock.after(timeout, () =>
				fail('ECONNABORTED', `timeout of ${timeout}ms exceeded`),
			);
			const signal = config.signal as AbortSignal | undefined;
			signal?.addEventListener('abort', () => give(new axios.CanceledError()));
			if (signal?.aborted) return give(new axios.CanceledError());
			effect(who, () => runAs(undefined, () => service.receive(exchange)));
		});
}

const socketsTo = (clock: Clock, service: Service, effect: Effect) =>
	class extends EventTarget implements Socket {
		static readonly OPEN = 1;
		static readonly CLOSED = 3;
		/** The process shares it: what it sets off is not the work of whoever opened it. */
		readonly who = { process: whoRuns()!.process };
		readyState = 0;

		constructor(url: string) {
			super();
			runAs(undefined, () => service.join(this, new URL(url)));
		}

		become(state: 1 | 3): void {
			if (this.readyState >= state) return;
			this.readyState = state;
			effect(this.who, () => this.dispatchEvent(new Event(state === 1 ? 'open' : 'close')));
		}

		say(message: object): void {
			const event = new MessageEvent('message', { data: JSON.stringify(message) });
			if (this.readyState === 1) effect(this.who, () => this.dispatchEvent(event));
		}

		close(): void {
			if (this.readyState >= 2) return;
			this.readyState = 2;
			runAs(undefined, () => clock.after(5, () => service.leave(this)));
		}
	};
