import type { IExecuteFunctions } from 'n8n-workflow';
import { forEachLimited, Limiter } from '../../nodes/MediaGeneration/limiter';
import type { ServiceAddress } from '../../nodes/service/address';
import { startDeadline } from '../../nodes/service/clock';
import { isOverload } from '../../nodes/service/answers';
import type { SpeechRequest } from '../../nodes/service/contract';
import type { Failure } from '../../nodes/service/failure';
import type { Listening } from '../../nodes/service/notifications';
import { pacingOf } from '../../nodes/service/pacing';
import { Requests } from '../../nodes/service/requests';
import { waitForTask } from '../../nodes/service/speechTask';

/*
 * Whole batches against services with limits, on a clock that does not wait: what goes out when, and
 * what becomes of the items.
 */

// In the middle of a minute: a window that is counted by the clock does not begin with the batch.
beforeEach(() => jest.useFakeTimers({ now: Date.parse('2026-01-01T00:00:20Z') }));
afterEach(() => jest.useRealTimers());

interface Answer {
	status: number;
	body?: object;
	retryAfter?: string;
}

/** Whether a request may pass now, and what a refused one is told to wait, in seconds. */
interface Limit {
	/** How many requests it lets pass within so many seconds from the begin of a test. */
	allows(seconds: number): number;
	passes(isCreate: boolean): boolean;
	retryAfter?: () => string | undefined;
}

const NO_LIMIT: Limit = { allows: () => Infinity, passes: () => true };

/** Everything is refused, with the same words. */
const refusal = (retryAfter?: string): Limit => ({
	allows: () => 0,
	passes: () => false,
	retryAfter: () => retryAfter,
});

/** So many requests in each minute by the clock. */
function fixedWindow(perMinute: number, tells: boolean): Limit {
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
function tokenBucket(perMinute: number, atOnce: number, tells: boolean): Limit {
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
class Service {
	readonly seen: Array<{ at: number; isCreate: boolean; passed: boolean }> = [];
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

	get refused(): number {
		return this.seen.filter(({ passed }) => !passed).length;
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

	answer(isCreate: boolean, path: string): Answer {
		const passed = this.limit.passes(isCreate);
		this.seen.push({ at: Date.now(), isCreate, passed });
		if (!passed) return { status: 429, retryAfter: this.limit.retryAfter?.(), body: {} };
		if (isCreate) {
			const id = `t${this.tasks.size}`;
			const fails = this.running >= this.failsAbove;
			this.tasks.set(id, fails ? -1 : Date.now() + this.taskSeconds * 1000);
			return { status: 200, body: { task_id: id } };
		}
		const end = this.tasks.get(path.split('/').pop()!)!;
		if (end < 0) {
			return { status: 200, body: { id: 1, status: 'error', error: 'Too many concurrent tasks' } };
		}
		const isDone = end <= Date.now();
		const done = { status: 'completed', audio_url: 'https://files.test/a.mp3' };
		return { status: 200, body: { id: 1, ...(isDone ? done : { status: 'processing' }) } };
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
		const { status, body, retryAfter } = service.answer(method === 'POST', new URL(url).pathname);
		await new Promise((resolve) => setTimeout(resolve, 10));
		const headers = retryAfter === undefined ? {} : { 'retry-after': retryAfter };
		return { statusCode: status, headers, body: stream(JSON.stringify(body)) };
	};
	const helpers = { httpRequest: (options: never) => send(options) };
	return { helpers } as unknown as IExecuteFunctions;
}

let accounts = 0;
const newAccount = (): ServiceAddress => ({
	apiToken: `token-${++accounts}`,
	baseUrl: 'https://service.test',
	origin: 'https://service.test',
	webSocketUrl: 'wss://service.test',
});

/** No socket, or one that is open and says nothing. */
const listening = (isOpen: boolean): Listening => ({
	ready: Promise.resolve(),
	isOpen: () => isOpen,
	follow() {},
	unfollow() {},
	followAll() {},
	release() {},
});

interface Batch {
	items: number;
	concurrency?: number;
	pollInterval?: number;
	timeout?: number;
	isOpen?: boolean;
	address?: ServiceAddress;
}

interface Ended {
	/** Seconds from the begin of the batch. */
	at: number;
	error?: Failure;
}

/** Speaks a batch as the node does, and tells how each item ended. */
function speak(service: Service, batch: Batch) {
	const { items, concurrency = 0, pollInterval = 2, timeout = 3600, isOpen = false } = batch;
	const began = Date.now();
	const address = batch.address ?? newAccount();
	const limiter = new Limiter(pacingOf(address));
	limiter.configure(concurrency);
	const requests = new Requests(contextFor(service), address, limiter);
	const ends: Ended[] = [];
	let isOver = false;
	const item = async () => {
		const start = Date.now();
		const { signal, stop } = startDeadline(timeout);
		try {
			const taskId = await requests.createTask({} as SpeechRequest, signal, signal);
			await waitForTask(requests, {
				taskId,
				signal,
				pollInterval,
				listening: listening(isOpen),
				justCreated: true,
				onProgress() {},
			});
			ends.push({ at: (Date.now() - began) / 1000 });
			return true;
		} catch (error) {
			if (isOverload(error)) limiter.refused(start);
			ends.push({ at: (Date.now() - began) / 1000, error: error as Failure });
			return false;
		} finally {
			stop();
		}
	};
	void forEachLimited(items, limiter, item).then(() => (isOver = true));
	const finish = async (withinSeconds: number) => {
		for (let s = 0; s < withinSeconds && !isOver; s++) await jest.advanceTimersByTimeAsync(1000);
		if (!isOver) throw new Error(`${ends.length} of ${items} items after ${withinSeconds} s`);
		const seconds = Math.max(...ends.map(({ at }) => at));
		return { seconds, lost: ends.filter(({ error }) => error).length };
	};
	return { ends, limiter, finish };
}

describe('a service without limits', () => {
	it('makes 50 items of 3 s at once, nothing set but the socket blocked', async () => {
		const service = new Service(3);
		const { seconds, lost } = await speak(service, { items: 50 }).finish(60);
		expect(lost).toBe(0);
		expect(seconds).toBeLessThan(5.5);
	});

	it('is asked one by one for what many wait for, not in bursts', async () => {
		const service = new Service(30);
		await speak(service, { items: 100, concurrency: 100, pollInterval: 5 }).finish(60);
		// 100 tasks each 5 s are 20 a second.
		expect(service.mostLookupsWithin(1000)).toBeLessThanOrEqual(30);
		expect(service.mostLookupsWithin(100)).toBeLessThanOrEqual(4);
	});

	it('is asked after 1, 2, 4 … s for one silent task beside a live socket', async () => {
		const service = new Service(200);
		await speak(service, { items: 1, pollInterval: 1, isOpen: true }).finish(300);
		const [created, ...lookups] = service.seen.map(({ at }) => at);
		const pauses = lookups.map((at, n) => Math.round((at - [created!, ...lookups][n]!) / 1000));
		expect(pauses).toEqual([1, 2, 4, 8, 16, 30, 30, 30, 30, 30, 30]);
	});

	it('is asked at most twice a minute for each of many silent tasks, evenly', async () => {
		const service = new Service(330);
		const batch = speak(service, { items: 90, concurrency: 90, isOpen: true });
		await jest.advanceTimersByTimeAsync(120_000);
		const before = service.seen.length;
		await jest.advanceTimersByTimeAsync(180_000);
		expect(service.seen.length - before).toBeLessThanOrEqual(90 * 2 * 3);
		expect(service.mostLookupsWithin(1000)).toBeLessThanOrEqual(70);
		await batch.finish(600);
	});

	it('is asked soon for tasks that fail beside a live socket without a message', async () => {
		const service = new Service(60);
		const { ends, finish } = speak(service, { items: 20, isOpen: true });
		await jest.advanceTimersByTimeAsync(5000);
		[2, 5, 9, 14, 19].forEach((n) => service.fail(n));
		await jest.advanceTimersByTimeAsync(15_000);
		expect(ends.map(({ error }) => error?.kind)).toEqual(Array(5).fill('taskFailed'));
		await finish(120);
	});
});

describe.each([
	['a window of a minute', () => fixedWindow(30, true)],
	['a window of a minute that it does not tell of', () => fixedWindow(30, false)],
	['a bucket of thirty', () => tokenBucket(30, 30, true)],
	['a bucket of thirty that it does not tell of', () => tokenBucket(30, 30, false)],
	['a bucket of one', () => tokenBucket(30, 1, true)],
	['a bucket of one that it does not tell of', () => tokenBucket(30, 1, false)],
])('30 requests a minute, by %s', (_, limit) => {
	it.each([
		['automatic', 0, 3],
		['concurrency 40', 40, 3],
		['long tasks', 0, 60],
	])('lose no item, are kept to and are used (%s)', async (__, concurrency, taskSeconds) => {
		const service = new Service(taskSeconds, limit());
		const { seconds, lost } = await speak(service, { items: 60, concurrency }).finish(3600);
		expect([lost, service.creates]).toEqual([0, 60]);
		expect(service.seen.length).toBeLessThanOrEqual(1.3 * service.limit.allows(seconds));
	});
});

describe('60 requests a minute', () => {
	it.each([
		['a window', () => fixedWindow(60, true)],
		['a bucket', () => tokenBucket(60, 60, true)],
	])('make 50 items within 1.3 times what they allow (%s)', async (_, limit) => {
		const service = new Service(3, limit());
		const { seconds, lost } = await speak(service, { items: 50 }).finish(300);
		expect([lost, service.creates]).toEqual([0, 50]);
		// One create call and one lookup each; the window's second minute begins after 40 s.
		expect(seconds).toBeLessThan(1.3 * 44);
	});
});

describe('a service that allows eight tasks at once', () => {
	it.each([['1'], [undefined]])('makes 50 items in little more time (%s)', async (retryAfter) => {
		const service = new Service(3).allowAtOnce(8, retryAfter);
		const { seconds, lost } = await speak(service, { items: 50 }).finish(300);
		expect([lost, service.creates]).toEqual([0, 50]);
		expect(seconds).toBeLessThan(1.3 * 21);
	});

	it('and fails those above: the others are made, and fewer are begun at once', async () => {
		const service = new Service(3);
		service.failsAbove = 8;
		const batch = speak(service, { items: 50 });
		let failed = 0;
		const { lost } = await batch.finish(300);
		failed = lost;
		expect(service.creates).toBe(50);
		expect(batch.limiter.limit).toBeLessThan(40);
		expect(failed).toBeLessThan(45);
	});
});

describe('a service that allows one request at a time', () => {
	it('loses no item', async () => {
		let busyUntil = 0;
		const passes = () => {
			if (Date.now() < busyUntil) return false;
			busyUntil = Date.now() + 200;
			return true;
		};
		const service = new Service(3, { allows: (seconds) => seconds * 5, passes });
		const { seconds, lost } = await speak(service, { items: 20 }).finish(600);
		expect([lost, service.creates]).toEqual([0, 20]);
		expect(service.seen.length).toBeLessThan(1.3 * service.limit.allows(seconds));
	});
});

describe('a limit that changes while a batch runs', () => {
	it('that comes: no item is lost', async () => {
		const service = new Service(3);
		const batch = speak(service, { items: 200 });
		await jest.advanceTimersByTimeAsync(1500);
		service.limit = tokenBucket(120, 10, true);
		const { lost } = await batch.finish(900);
		expect([lost, service.creates]).toEqual([0, 200]);
	});

	it('that goes: the batch is soon as fast as without', async () => {
		const service = new Service(3, tokenBucket(30, 5, true));
		const batch = speak(service, { items: 200 });
		await jest.advanceTimersByTimeAsync(60_000);
		service.limit = NO_LIMIT;
		const { seconds, lost } = await batch.finish(900);
		expect([lost, service.creates]).toEqual([0, 200]);
		expect(seconds).toBeLessThan(60 + 70);
	});
});

describe.each([['86400'], ['0'], ['soon'], [undefined]])(
	'an hour of 429, Retry-After %s',
	(after) => {
		it('ends each item at its time-out, which says so, and is asked rarely', async () => {
			const service = new Service(3, refusal(after));
			const { ends, finish } = speak(service, { items: 5, timeout: 600 });
			expect(await finish(700)).toMatchObject({ lost: 5 });
			expect(ends.map(({ error, at }) => [error?.kind, Math.round(at)])).toEqual(
				Array(5).fill(['rateLimited', 600]),
			);
			// Five at once in the beginning, then one for all of them.
			expect(service.seen.length).toBeLessThan(40);
		});

		it('ends each paid item with its task', async () => {
			const service = new Service(3);
			const { ends, finish } = speak(service, { items: 5, timeout: 300 });
			await jest.advanceTimersByTimeAsync(1000);
			service.limit = refusal(after);
			await finish(700);
			for (const { error } of ends) {
				expect(error?.kind).toBe('timedOut');
				expect(error?.facts.taskId).toMatch(/^t\d$/);
				expect(error?.facts.lastNews).toContain('429');
			}
			expect(service.creates).toBe(5);
		});
	},
);

describe('what was learnt of an account', () => {
	it('holds for all executions, and is forgotten some minutes after the last use', async () => {
		const address = newAccount();
		const service = new Service(3, tokenBucket(60, 1, true));
		await speak(service, { items: 40, address }).finish(600);
		const before = service.seen.length;
		const other = speak(service, { items: 5, address: { ...address } });
		await jest.advanceTimersByTimeAsync(500);
		expect(service.seen.length - before).toBeLessThanOrEqual(2);
		await other.finish(600);
		expect(pacingOf(address).mostInWork).toBeLessThan(Infinity);
		await jest.advanceTimersByTimeAsync(301_000);
		service.limit = NO_LIMIT;
		const again = speak(service, { items: 20, address: { ...address } });
		await jest.advanceTimersByTimeAsync(500);
		expect(again.limiter.limit).toBeGreaterThanOrEqual(10);
		await again.finish(600);
	});
});
