import { createRequire } from 'node:module';
import { Readable } from 'node:stream';
import type { AxiosAdapter, InternalAxiosRequestConfig } from 'axios';
import { type Clock, runAs, type Who, whoRuns } from './clock.mts';
import type { Service } from './service.mts';

const require = createRequire(import.meta.url);
const nearN8n = createRequire(
	createRequire(require.resolve('n8n-core')).resolve('@n8n/backend-network'),
);
const axios = nearN8n('axios') as typeof import('axios').default;

/** What a process does to the world, or the world to it. */
export type Effect = (who: Who, act: () => void) => void;

/** From now on n8n's request helper and the global WebSocket lead to this service. */
export function connect(clock: Clock, service: Service, effect: Effect): void {
	let requests = 0;
	const adapter: AxiosAdapter = async (config) =>
		await new Promise((resolve, reject) => {
			const exchange = new Exchange(requests++, config);
			const { who, body } = exchange;
			const fail = (error: Error) => {
				reject(error);
				body.destroy(error);
			};
			const failWith = (code: string, text: string) =>
				fail(new axios.AxiosError(text, code, config));
			const { timeout = 300_000, signal } = config;
			const timer = clock.after(timeout, () => failWith('ECONNABORTED', `timeout of ${timeout}ms`));
			body.on('close', () => clearTimeout(timer as never));
			exchange.onHead = (status, headers) => {
				clearTimeout(timer as never);
				const answer = { status, statusText: '', headers, data: body, config, request: {} };
				effect(who, () => resolve(answer));
			};
			exchange.onReset = (code) => failWith(code, `connect ${code}`);
			const abort = () => fail(new axios.CanceledError());
			signal?.addEventListener!('abort', abort);
			if (signal?.aborted) abort();
			else effect(who, () => runAs(undefined, () => service.receive(exchange)));
		});
	axios.defaults.adapter = adapter;
	globalThis.WebSocket = socketsTo(clock, service, effect) as never;
}

/** One request on its way, as the service sees it. */
export class Exchange {
	readonly n: number;
	readonly method: string;
	readonly url: URL;
	readonly authorization: string;
	readonly sent: Record<string, unknown>;
	readonly who = whoRuns()!;
	readonly body = new Readable({ read() {} }).on('error', () => {});
	onHead: (status: number, headers: Record<string, string>) => void = () => {};
	onReset: (code: string) => void = () => {};
	private hasEnded = false;

	constructor(n: number, config: InternalAxiosRequestConfig) {
		this.n = n;
		this.method = config.method!.toUpperCase();
		this.url = new URL(axios.getUri(config));
		this.authorization = String(config.headers.get('authorization') ?? '');
		this.sent = config.data ? JSON.parse(String(config.data)) : {};
	}

	/** Nobody takes anything more. */
	get isOver(): boolean {
		return this.body.destroyed || this.who.process.isDead;
	}

	/** False if that is not possible any more. */
	write(part: string | Buffer): boolean {
		if (!this.isOver && !this.hasEnded) this.body.push(Buffer.from(part as string));
		return !this.isOver && !this.hasEnded;
	}

	end(): void {
		this.hasEnded = true;
		this.body.push(null);
	}
}

export type Socket = InstanceType<ReturnType<typeof socketsTo>>;

/** The global WebSocket, of which the service holds the other end. */
const socketsTo = (clock: Clock, service: Service, effect: Effect) =>
	class Socket extends EventTarget {
		static readonly CONNECTING = 0;
		static readonly OPEN = 1;
		static readonly CLOSED = 3;
		/** The process shares it: what it sets off is not the work of whoever opened it. */
		readonly who = { process: whoRuns()!.process };
		readyState = 0;

		constructor(url: string) {
			super();
			runAs(undefined, () => service.join(this, new URL(url)));
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
			runAs(undefined, () => clock.after(5, () => service.leave(this)));
		}
	};
