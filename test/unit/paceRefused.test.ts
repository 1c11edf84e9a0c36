import { getEventListeners } from 'node:events';
import { forEachConcurrently, Concurrency } from '../../nodes/MediaGeneration/run/concurrency';
import { startDeadline } from '../../nodes/shared/async/deadline';
import { paceOf } from '../../nodes/shared/pace/pace';
import { Api } from '../../nodes/shared/api/api';
import {
	contextFor,
	fixedWindow,
	newAccount,
	NO_LIMIT,
	refusal,
	Service,
	speak,
	tokenBucket,
} from './limitedService';

/* Whole batches, on fake timers, against services that refuse by load, for long, or now and then. */

// In the middle of a minute: a window that is counted by the clock does not begin with the batch.
beforeEach(() => jest.useFakeTimers({ now: Date.parse('2026-01-01T00:00:20Z') }));
afterEach(() => jest.useRealTimers());

describe('a service that allows eight tasks at once', () => {
	it.each(['1', undefined])('makes 50 items in little more time (%s)', async (retryAfter) => {
		const service = new Service(3).allowAtOnce(8, retryAfter);
		const { seconds, lost } = await speak(service, { items: 50 }).finish(300);
		expect([lost, service.creates]).toEqual([0, 50]);
		expect(seconds).toBeLessThan(1.5 * 21);
	});
});

it('a task is looked up though create calls rest', async () => {
	const service = new Service(3).allowAtOnce(1, '3600');
	const { ends, finish } = speak(service, { items: 2, timeout: 20 });
	expect(await finish(30)).toMatchObject({ lost: 1 });
	expect(ends.map(({ error }) => error?.kind).sort()).toEqual(['rateLimited', undefined]);
});

it.each([true, false])(
	'a service that refuses lookups with 503 is asked as it allows (Retry-After: %s)',
	async (tells) => {
		const bucket = tokenBucket(30, 5, tells);
		const passes = (isCreate: boolean) => isCreate || bucket.passes(isCreate);
		const service = new Service(60, { ...bucket, passes, status: 503 });
		const { seconds, lost } = await speak(service, { items: 40 }).finish(900);
		expect([lost, service.creates]).toEqual([0, 40]);
		expect(service.seen.length - 40).toBeLessThanOrEqual(1.3 * bucket.allows(seconds));
	},
);

it.each([120, 300])('a long batch uses what a limit of %d a minute allows', async (perMinute) => {
	const service = new Service(3, tokenBucket(perMinute, 10, true));
	const { seconds, lost } = await speak(service, { items: 600 }).finish(1200);
	expect([lost, service.creates]).toEqual([0, 600]);
	// A create call and a lookup for each.
	expect(seconds).toBeLessThan((1.2 * 1200 * 60) / perMinute);
	expect(service.seen.length).toBeLessThan(1.3 * service.limit.allows(seconds));
});

it('once a limit is lifted, a batch is soon as fast as without one', async () => {
	const service = new Service(3, tokenBucket(30, 5, true));
	const batch = speak(service, { items: 200 });
	await jest.advanceTimersByTimeAsync(60_000);
	service.limit = NO_LIMIT;
	const { seconds, lost } = await batch.finish(900);
	expect([lost, service.creates]).toEqual([0, 200]);
	expect(seconds).toBeLessThan(60 + 70);
});

describe.each(['86400', '0', undefined])('an hour of 429, Retry-After %s', (after) => {
	it('ends each item at its time-out, which says so, and is asked rarely', async () => {
		const service = new Service(3, refusal(after));
		const { ends, finish } = speak(service, { items: 5, timeout: 600 });
		expect(await finish(700)).toMatchObject({ lost: 5 });
		const failed = ends.map(({ error, at }) => [error?.kind, Math.round(at)]);
		expect(failed).toEqual(Array(5).fill(['rateLimited', 600]));
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
});

it('what was learnt of an account holds for all executions, and is forgotten some minutes after the last use', async () => {
	const address = newAccount();
	const service = new Service(3, tokenBucket(60, 1, true));
	await speak(service, { items: 40, address }).finish(600);
	const before = service.seen.length;
	const other = speak(service, { items: 5, address: { ...address } });
	await jest.advanceTimersByTimeAsync(500);
	expect(service.seen.length - before).toBeLessThanOrEqual(2);
	await other.finish(600);
	expect(paceOf(address).atOnce).toBeLessThan(Infinity);
	await jest.advanceTimersByTimeAsync(301_000);
	service.limit = NO_LIMIT;
	const again = speak(service, { items: 20, address: { ...address } });
	await jest.advanceTimersByTimeAsync(500);
	expect(again.limiter.limit).toBeGreaterThanOrEqual(10);
	await again.finish(600);
});

it('readings without a deadline outlast a window in which the account is refused', async () => {
	const service = new Service(1, fixedWindow(30, false));
	const address = newAccount();
	const limiter = new Concurrency(paceOf(address), new AbortController().signal);
	limiter.configure(0);
	const api = new Api(contextFor(service), address, limiter);
	const { signal } = new AbortController();
	await speak(service, { items: 1, address, pollInterval: 2 }).finish(60);
	let done = 0;
	void forEachConcurrently(60, limiter, async () => {
		await api.listHistory({ page: 1 }, signal).then(() => done++);
		return true;
	});
	for (let s = 0; s < 300 && done < 60; s++) await jest.advanceTimersByTimeAsync(1000);
	expect(done).toBe(60);
});

test('refusals of a create call leave nothing behind on the signal of the run', async () => {
	const service = new Service(1, refusal('1'));
	const api = new Api(contextFor(service), newAccount());
	const { signal } = new AbortController();
	const deadline = startDeadline(60_000);
	const limits = { signal, begin: deadline.signal, limitMs: 300_000 };
	const opened = api
		.openStream('image', Buffer.from('{}'), limits, async (body) => body)
		.catch(() => {});
	while (service.seen.length < 3) await jest.advanceTimersByTimeAsync(50);
	expect(getEventListeners(signal, 'abort').length).toBeLessThan(3);
	await jest.advanceTimersByTimeAsync(60_000);
	await opened;
	expect(getEventListeners(signal, 'abort')).toEqual([]);
});
