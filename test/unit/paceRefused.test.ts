import { refusal, Service, speak, tokenBucket } from './limitedService';

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
