import { getEventListeners } from 'node:events';
import { ConcurrencyLimiter } from '../../nodes/MediaGeneration/run/concurrency';
import { monotonicNow, withDeadline } from '../../nodes/shared/async/deadline';
import { Queue } from '../../nodes/shared/async/queue';
import { Semaphore } from '../../nodes/shared/async/semaphore';
import { Throttle } from '../../nodes/shared/pace/throttle';

test('more bytes than the limit come alone into memory, and are not overtaken', async () => {
	const memory = new Semaphore(100);
	const order: string[] = [];
	const enter = async (name: string, bytes: number) => {
		const leave = await memory.acquire(bytes, new AbortController().signal);
		order.push(name);
		setImmediate(() => {
			order.push(`${name} leaves`);
			leave();
		});
	};
	await Promise.all([enter('small', 10), enter('large', 500), enter('later', 10)]);
	expect(order).toEqual(['small', 'small leaves', 'large', 'large leaves', 'later']);
});

test('whoever leaves lets the next one in', async () => {
	const memory = new Semaphore(100);
	const { signal } = new AbortController();
	await memory.acquire(10, signal);
	const leaving = new AbortController();
	const large = memory.acquire(500, leaving.signal);
	const small = memory.acquire(10, signal);
	// Both wait by now.
	await new Promise((resolve) => setImmediate(resolve));
	leaving.abort();
	await expect(large).rejects.toMatchObject({ kind: 'canceled' });
	await small;
});

test('what is over leaves nothing with a signal that lasts', async () => {
	const { signal } = new AbortController();
	await new Queue(
		() => 0,
		() => {},
	).enter(signal, undefined);
	await withDeadline(1000, signal, async () => {});
	expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('what waits for an event costs nothing meanwhile', async () => {
	jest.useFakeTimers();
	const delayMs = jest.fn(() => Infinity);
	void new Queue(delayMs, () => {}).enter(undefined, undefined);
	await jest.advanceTimersByTimeAsync(1000);
	jest.useRealTimers();
	expect(delayMs).toHaveBeenCalledTimes(1);
});

test('lanes of the same rank take turns', async () => {
	const queue = new Queue<string>(
		() => 0,
		() => {},
	);
	const order: string[] = [];
	const enter = async (lane: string) => {
		await queue.enter(new AbortController().signal, lane);
		order.push(lane);
	};
	await Promise.all([...'aaabbc'].map(enter));
	expect(order.join('')).toBe('abcaba');
});

test('rows that wait put no listeners on a signal that they share', async () => {
	const listen = jest.spyOn(EventTarget.prototype, 'addEventListener');
	const api = { throttle: new Throttle() };
	const units = Array.from({ length: 50 }, () => ({ api }));
	await new ConcurrencyLimiter(50).forEach(units, async () => true);
	const count = listen.mock.calls.length;
	listen.mockRestore();
	expect(count).toBe(0);
});

test('the runs of an account share what slow start allows, and each has at least one slot', async () => {
	const api = { throttle: new Throttle() };
	const units = Array.from({ length: 20 }, () => ({ api }));
	let started = 0;
	let release = () => {};
	const released = new Promise<void>((resolve) => (release = resolve));
	const run = async () => {
		started++;
		await released;
		return true;
	};
	const runs = [1, 2, 3, 4, 5].map(() => new ConcurrencyLimiter(0).forEach(units, run));
	await new Promise((resolve) => setImmediate(resolve));
	expect(started).toBe(14);
	release();
	await Promise.all(runs);
	expect([api.throttle.usedSlots, api.throttle.healthyCount]).toEqual([0, 0]);
});

test('a run begins as slowly beside single executions as alone, however many of them succeed', async () => {
	const api = { throttle: new Throttle() };
	let release = () => {};
	const released = new Promise<void>((resolve) => (release = resolve));
	const runAll = async (count: number, run: () => Promise<boolean>) =>
		await new ConcurrencyLimiter(0).forEach(Array(count).fill({ api }), run);
	let started = 0;
	const run = async () => {
		started++;
		await released;
		return true;
	};
	const long = runAll(1, run);
	for (let count = 0; count < 50; count++) await runAll(1, async () => await Promise.resolve(true));
	const many = runAll(50, run);
	await new Promise((resolve) => setImmediate(resolve));
	expect(started).toBe(10);
	release();
	await Promise.all([long, many]);
});

/** Begins a run of one unit for each of these accounts; its units end when `release` is called. */
function beginRun(throttles: Throttle[]) {
	const started: Throttle[] = [];
	let release = () => {};
	const released = new Promise<void>((resolve) => (release = resolve));
	const units = throttles.map((throttle) => ({ api: { throttle } }));
	const ended = new ConcurrencyLimiter(0).forEach(units, async ({ api }) => {
		started.push(api.throttle);
		await released;
		return true;
	});
	return { started, release, ended };
}
const many = (throttle: Throttle, count = 20) => Array.from({ length: count }, () => throttle);
const settle = async () => await new Promise((resolve) => setImmediate(resolve));

test('a run that holds all places of an account leaves another run as many slots', async () => {
	const throttle = new Throttle();
	throttle.limit.onRefused(monotonicNow(), 5);
	const runs = [beginRun(many(throttle)), beginRun(many(throttle))];
	await settle();
	const counts = runs.map(({ started }) => started.length);
	for (const { release } of runs) release();
	await Promise.all(runs.map(({ ended }) => ended));
	expect(counts).toEqual([4, 4]);
});

test('a run has a slot of each of its accounts, whatever another run uses', async () => {
	const [one, other] = [new Throttle(), new Throttle()];
	const runs = [beginRun(many(one)), beginRun([...many(other), one])];
	await settle();
	const count = runs[1]!.started.filter((throttle) => throttle === one).length;
	for (const { release } of runs) release();
	await Promise.all(runs.map(({ ended }) => ended));
	expect(count).toBe(1);
});
