import { createRequire } from 'node:module';
import { Readable } from 'node:stream';
import type { AxiosAdapter } from 'axios';
import { type Clock, type Process, running } from './clock.mts';
import type { Service } from './service.mts';

const require = createRequire(import.meta.url);
const nearN8n = createRequire(
	createRequire(require.resolve('n8n-core')).resolve('@n8n/backend-network'),
);
const axios = nearN8n('axios') as typeof import('axios').default;

interface Request {
	n: number;
	method: string;
	url: URL;
	authorization: string;
	sent: Record<string, unknown>;
	process: Process;
	attempt?: number;
}

/** One request on its way, as the service sees it. */
export interface Exchange extends Request {}
export class Exchange {
	isOver = false;
	onAnswer: (status: number, headers: Record<string, string>, body: Readable) => void = () => {};
	onReset: (code: string) => void = () => {};
	private readonly body = new Readable({ read() {} });

	constructor(request: Request) {
		Object.assign(this, request);
		this.body.on('error', () => {});
		this.body.once('close', () => (this.isOver = true));
	}

	begin(status: number, headers: Record<string, string>): void {
		if (!this.isOver && !this.process.isDead) this.onAnswer(status, headers, this.body);
	}

	write(part: string | Buffer): void {
		if (!this.isOver && !this.process.isDead) this.body.push(Buffer.from(part as string));
	}

	end(): void {
		if (!this.isOver && !this.process.isDead) this.body.push(null);
	}

	reset(code = 'ECONNRESET'): void {
		if (this.isOver) return;
		this.onReset(code);
		this.give(Object.assign(new Error('aborted'), { code }));
	}

	/** The side of n8n gives it up. */
	give(error: Error): void {
		this.isOver = true;
		this.body.destroy(error);
	}
}

/** Replaces the network below n8n's request helper and the global WebSocket; returns what undoes it. */
export function connect(
	clock: Clock,
	service: Service,
	effect: (process: Process) => void,
): () => void {
	let requests = 0;
	const adapter: AxiosAdapter = async (config) =>
		await new Promise((resolve, reject) => {
			const { process, attempt } = running.getStore()!;
			effect(process);
			if (process.isDead) return;
			const url = new URL(axios.getUri(config));
			const sent = config.data ? JSON.parse(String(config.data)) : {};
			const authorization = String(config.headers.get('authorization') ?? '');
			const method = (config.method ?? 'get').toUpperCase();
			const asked = { n: requests++, method, url, authorization, sent, process, attempt };
			const exchange = new Exchange(asked);
			const fail = (code: string, text: string) => reject(new axios.AxiosError(text, code, config));
			const timer = clock.after(config.timeout ?? 300_000, () => {
				fail('ECONNABORTED', `timeout of ${config.timeout}ms exceeded`);
				exchange.give(new Error('timeout'));
			});
			const signal = config.signal as AbortSignal | undefined;
			const abort = () => {
				clearTimeout(timer as never);
				reject(new axios.CanceledError());
				exchange.give(new axios.CanceledError());
			};
			signal?.addEventListener('abort', abort);
			if (signal?.aborted) return abort();
			const store = running.getStore();
			exchange.onAnswer = (status, headers, data) =>
				running.run(store, () => {
					clearTimeout(timer as never);
					effect(process);
					if (process.isDead) return;
					resolve({ status, statusText: '', headers, data, config, request: {} });
					effect(process);
				});
			exchange.onReset = (code) => {
				clearTimeout(timer as never);
				fail(code, code === 'ECONNREFUSED' ? 'connect ECONNREFUSED' : 'socket hang up');
			};
			running.run(undefined, () => service.receive(exchange));
			effect(process);
		});
	const before = { adapter: axios.defaults.adapter, WebSocket: globalThis.WebSocket };
	axios.defaults.adapter = adapter;
	globalThis.WebSocket = socketClassFor(clock, service, effect) as never;
	return () => {
		axios.defaults.adapter = before.adapter;
		globalThis.WebSocket = before.WebSocket;
	};
}

/** The global WebSocket, of which the service holds the other end. */
export interface Socket extends EventTarget {
	readonly process: Process;
	readyState: number;
	/** The service's side has opened or closed it, or sends something. */
	opened(): void;
	closed(): void;
	said(message: unknown): void;
}

function socketClassFor(clock: Clock, service: Service, effect: (process: Process) => void) {
	return class FakeSocket extends EventTarget implements Socket {
		static readonly CONNECTING = 0;
		static readonly OPEN = 1;
		static readonly CLOSING = 2;
		static readonly CLOSED = 3;
		readonly process: Process;
		readyState = 0;
		binaryType = 'blob';
		readonly url: string;

		constructor(url: string) {
			super();
			this.url = url;
			this.process = running.getStore()!.process;
			running.run(undefined, () => service.join(this, new URL(url)));
		}

		opened(): void {
			if (this.readyState !== 0) return;
			this.readyState = 1;
			this.tell(new Event('open'));
		}

		closed(): void {
			if (this.readyState === 3) return;
			this.readyState = 3;
			this.tell(new Event('close'));
		}

		said(message: unknown): void {
			if (this.readyState === 1)
				this.tell(new MessageEvent('message', { data: JSON.stringify(message) }));
		}

		close(): void {
			if (this.readyState >= 2) return;
			this.readyState = 2;
			running.run(undefined, () => clock.after(5, () => service.leave(this)));
		}

		send(): void {}

		private tell(event: Event): void {
			effect(this.process);
			if (this.process.isDead) return;
			// The process shares it: what it sets off is not the work of whoever opened it.
			const { process } = this;
			running.run({ process }, () => this.dispatchEvent(event));
			effect(this.process);
		}
	};
}
