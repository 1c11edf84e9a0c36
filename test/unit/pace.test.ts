import { fixedWindow, Service, speak, tokenBucket } from './limitedService';

/*
 * Whole batches against services with limits, on fake timers: what goes out when, and what becomes of
 * the items.
 */

// In the middle of a minute: a window that is counted by the clock does not begin with the batch.
beforeEach(() => jest.useFakeTimers({ now: Date.parse('2026-01-01T00:00:20Z') }));
afterEach(() => jest.useRealTimers());

describe('a service without limits', () => {
	it('makes 50 items of 3 s at once, nothing set but the socket blocked', async () => {
		const service = new Service(3);
		const { seconds, lost } = await speak(service, { items: 50 }).finish(60);
		expect(lost).toBe(0);
		expect(seconds).toBeLessThan(5.5);
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
	['a window of a minute, unannounced', () => fixedWindow(30, false)],
	['a bucket of thirty', () => tokenBucket(30, 30, true)],
	['a bucket of thirty, unannounced', () => tokenBucket(30, 30, false)],
	['a bucket of one', () => tokenBucket(30, 1, true)],
	['a bucket of one, unannounced', () => tokenBucket(30, 1, false)],
])('30 requests a minute, by %s', (_, limit) => {
	it.each([
		['automatic', 0, 3],
		['concurrency 40', 40, 3],
		['long tasks', 0, 60],
	])('are kept to, and used, and no item is lost (%s)', async (__, concurrency, taskSeconds) => {
		const service = new Service(taskSeconds, limit());
		const { seconds, lost } = await speak(service, { items: 60, concurrency }).finish(3600);
		expect([lost, service.creates]).toEqual([0, 60]);
		expect(service.seen.length).toBeLessThanOrEqual(1.3 * service.limit.allows(seconds));
	});
});

it.each([
	['a window', () => fixedWindow(60, true)],
	['a bucket', () => tokenBucket(60, 60, true)],
])('60 requests a minute make 50 items within 1.3 times what they allow (%s)', async (_, limit) => {
	const service = new Service(3, limit());
	const { seconds, lost } = await speak(service, { items: 50 }).finish(300);
	expect([lost, service.creates]).toEqual([0, 50]);
	// One create call and one lookup each; the window's second minute begins after 40 s.
	expect(seconds).toBeLessThan(1.3 * 44);
});
