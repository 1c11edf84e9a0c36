import type { IExecuteFunctions } from 'n8n-workflow';
import { submit, type Order } from '../../nodes/MediaGeneration/resources/speech/speakPart';
import { Concurrency } from '../../nodes/MediaGeneration/run/concurrency';
import type { Work } from '../../nodes/MediaGeneration/run/work';
import { readCredential, type Credential } from '../../nodes/shared/http/credential';
import { startDeadline } from '../../nodes/shared/async/deadline';
import type { Failure } from '../../nodes/shared/failure';
import type { Subscription } from '../../nodes/shared/speech/notifications';
import { paceOf } from '../../nodes/shared/pace/pace';
import { Api } from '../../nodes/shared/api/api';
import { waitForTask } from '../../nodes/shared/speech/speechTask';

/*
 * A service with limits, and batches spoken with it. It has no sockets: they know nothing of the
 * fake clocks that these tests run on.
 */

/** Whether a request may pass now, and what a refused one is told to wait, in seconds. */
export interface Limit {
	/** How many requests it lets pass within so many seconds from the beginning of a test. */
	allows(seconds: number): number;
	passes(isCreate: boolean): boolean;
	retryAfter?: () => string | undefined;
	/** The status of a refusal; 429 unless given. */
	status?: number;
	/** Its words. */
	says?: string;
}

const NO_LIMIT: Limit = { allows: () => Infinity, passes: () => true };

/** Everything is refused, with the same words. */
export const refusal = (retryAfter?: string): Limit => ({
	allows: () => 0,
	passes: () => false,
	retryAfter: () => retryAfter,
});

/** So many requests in each minute by the clock. */
export function fixedWindow(perMinute: number, tells: boolean): Limit {
	let window = -1;
	let left = 0;
	const now = () => Date.now() / 60_000;
	return {
		allows: (seconds) => perMinute * Math.ceil((seconds + 20) / 60),
		passes() {
			if (Math.floor(now()) !== window) left = perMinute;
			window = Math.floor(now());
			return left-- > 0;
		},
		retryAfter: () => (tells ? String(Math.ceil((window + 1 - now()) * 60)) : undefined),
	};
}

/** One request each `60 / perMinute` seconds, and so many at once after a pause. */
export function tokenBucket(perMinute: number, atOnce: number, tells: boolean): Limit {
	let left = atOnce;
	let at = Date.now();
	return {
		allows: (seconds) => atOnce + (seconds * perMinute) / 60,
		passes() {
			left = Math.min(atOnce, left + ((Date.now() - at) / 60_000) * perMinute);
			at = Date.now();
			if (left < 1) return false;
			left--;
			return true;
		},
		retryAfter: () => (tells ? String(Math.ceil(((1 - left) * 60) / perMinute)) : undefined),
	};
}

/** A service whose answers take 20 ms and whose tasks take `taskSeconds`. */
export class Service {
	readonly seen: Array<{ at: number; isCreate: boolean }> = [];
	private readonly tasks = new Map<string, number>();
	/** Tasks fail by themselves when more than so many run. */
	failsAbove = Infinity;

	constructor(
		readonly taskSeconds: number,
		public limit: Limit = NO_LIMIT,
	) {}

	/** Makes it refuse create calls while so many tasks run. */
	allowAtOnce(most: number, retryAfter?: string): this {
		const passes = (isCreate: boolean) => !isCreate || this.running < most;
		this.limit = { allows: NO_LIMIT.allows, passes, retryAfter: () => retryAfter };
		return this;
	}

	get running(): number {
		return [...this.tasks.values()].filter((end) => end > Date.now()).length;
	}

	get creates(): number {
		return this.tasks.size;
	}

	/** Most lookups within so many milliseconds. */
	mostLookupsWithin(ms: number): number {
		const times = this.seen.filter(({ isCreate }) => !isCreate).map(({ at }) => at);
		return Math.max(0, ...times.map((at) => times.filter((t) => t >= at && t < at + ms).length));
	}

	/** Ends a task as a failed one. */
	fail(number: number): void {
		this.tasks.set(`t${number}`, -1);
	}

	/** The body of the answer to a request; undefined if it is refused. */
	answer(isCreate: boolean, path: string): object | undefined {
		this.seen.push({ at: Date.now(), isCreate });
		if (!this.limit.passes(isCreate)) return undefined;
		if (isCreate) {
			const task_id = `t${this.tasks.size}`;
			const fails = this.running >= this.failsAbove;
			this.tasks.set(task_id, fails ? -1 : Date.now() + this.taskSeconds * 1000);
			return { task_id };
		}
		if (path.endsWith('/histories')) return [];
		const end = this.tasks.get(path.split('/').pop()!)!;
		if (end < 0) return { id: 1, status: 'error', error: 'Too many concurrent tasks' };
		if (end > Date.now()) return { id: 1, status: 'processing' };
		return { id: 1, status: 'completed', audio_url: 'https://files.test/a.mp3' };
	}
}

/** The part of a response's stream that is read here. */
const stream = (text: string) => ({
	async *[Symbol.asyncIterator]() {
		yield Buffer.from(text);
	},
	destroy() {},
	on() {},
});

function contextFor(service: Service): IExecuteFunctions {
	const send = async ({ method, url }: { method: string; url: string }) => {
		await new Promise((resolve) => setTimeout(resolve, 10));
		const body = service.answer(method === 'POST', new URL(url).pathname);
		const headers = body ? {} : { 'retry-after': service.limit.retryAfter?.() };
		await new Promise((resolve) => setTimeout(resolve, 10));
		const statusCode = body ? 200 : (service.limit.status ?? 429);
		const text = JSON.stringify(body ?? { error: service.limit.says ?? 'overloaded' });
		return { statusCode, headers, body: stream(text) };
	};
	const helpers = { httpRequest: (options: never) => send(options) };
	return {
		helpers,
		getWorkflow: () => ({}),
		getTimezone: () => 'UTC',
	} as unknown as IExecuteFunctions;
}

let accounts = 0;
export const newAccount = (): Credential =>
	readCredential({ apiToken: `token-${++accounts}`, baseUrl: 'https://service.test' });

/** No socket, or one that is open and says nothing. */
const subscription = (isOpen: boolean): Subscription => ({
	ready: Promise.resolve(),
	isOpen: () => isOpen,
	isLive: () => isOpen,
	follow: () => () => {},
	followAll: () => [],
	release() {},
});

interface Batch {
	items: number;
	concurrency?: number;
	pollInterval?: number;
	timeout?: number;
	isOpen?: boolean;
	address?: Credential;
}

/** Speaks a batch as the node does, and tells how each item ended. */
export function speak(service: Service, batch: Batch) {
	const { items, concurrency = 0, pollInterval = 2, timeout = 3600, isOpen = false } = batch;
	const began = Date.now();
	const address = batch.address ?? newAccount();
	const limiter = new Concurrency(paceOf(address));
	limiter.configure(concurrency);
	const api = new Api(contextFor(service), address);
	const ignore = () => {};
	const canceled = new AbortController().signal;
	const report = {
		milestone: ignore,
		progress: ignore,
		noteAttempt: ignore,
		recordPayment: ignore,
	};
	const work = { api, concurrency: limiter, credential: address, context: api.context };
	const record = { markSent: ignore, markRefused: ignore, keep: ignore };
	const order = { request: {}, record, limitMs: timeout * 1000 } as unknown as Order;
	const part = { index: 0, count: 1, name: '', signal: canceled };
	/** How each item ended, and how many seconds after the batch began. */
	const ends: Array<{ at: number; error?: Failure }> = [];
	let isOver = false;
	const item = async () => {
		const { signal, stop } = startDeadline(timeout * 1000);
		const pollIntervalMs = pollInterval * 1000;
		const wait = { signal, pollIntervalMs, subscription: subscription(isOpen), onProgress: ignore };
		const error = await submit(
			{ ...work, report, canceled } as unknown as Work,
			part,
			order,
			signal,
		)
			.then(async (task) => await waitForTask(api, { ...wait, ...task }))
			.then(() => undefined)
			.catch((failure: Failure) => failure);
		stop();
		ends.push({ at: (Date.now() - began) / 1000, error });
		return error === undefined;
	};
	void limiter.forEach(items, item).then(() => (isOver = true));
	const finish = async (withinSeconds: number) => {
		for (let s = 0; s < withinSeconds && !isOver; s++) await jest.advanceTimersByTimeAsync(1000);
		if (!isOver) throw new Error(`${ends.length} of ${items} items after ${withinSeconds} s`);
		const seconds = Math.max(...ends.map(({ at }) => at));
		return { seconds, lost: ends.filter(({ error }) => error).length };
	};
	return { ends, finish };
}
