import { newAccount, refusal, Service, speak, type Limit } from './limitedService';

/* Whole batches, on fake timers, against a service that is away, takes nothing any more, or fails what is
 * too much. */

beforeEach(() => jest.useFakeTimers({ now: Date.parse('2026-01-01T00:00:20Z') }));
afterEach(() => jest.useRealTimers());

/** Everything, or only create calls, is answered 502 for so many seconds from now. */
function away(seconds: number, onlyCreates = false, status = 502): Limit {
	const until = Date.now() + seconds * 1000;
	const passes = (isCreate: boolean) => Date.now() > until || (onlyCreates && !isCreate);
	return { ...refusal(status === 503 ? '1' : undefined), passes, status };
}

describe('an outage of fifteen seconds', () => {
	it.each([
		[0, false, 502],
		[0, true, 502],
		[7, false, 502],
		[7, true, 502],
		[0, true, 503],
	])(
		'that begins after %d s (of create calls only: %j, %d) costs a few of 300 rows',
		async (after, onlyCreates, status) => {
			const service = new Service(3);
			const batch = speak(service, { items: 300 });
			await jest.advanceTimersByTimeAsync(after * 1000);
			service.limit = away(15, onlyCreates, status);
			const { lost, seconds } = await batch.finish(300);
			expect(lost).toBeLessThanOrEqual(15);
			expect(service.creates).toBe(300 - lost);
			expect(seconds).toBeLessThan(90);
		},
	);

	it('costs several executions of an account not much more', async () => {
		const [service, address] = [new Service(3), newAccount()];
		service.limit = away(15);
		const batches = [1, 2, 3].map(() => speak(service, { items: 50, address }));
		let all = 0;
		for (const batch of batches) all += (await batch.finish(300)).lost;
		expect(all).toBeLessThanOrEqual(35);
		expect(service.creates).toBe(150 - all);
	});
});

const QUOTA = 'You exceeded your current quota, please check your plan and billing details.';

describe('a used-up quota', () => {
	it('ends 30 rows within two timeouts, with the words of the service', async () => {
		const service = new Service(3, { ...refusal(), says: QUOTA });
		const batch = speak(service, { items: 30, timeout: 2 });
		const { seconds, lost } = await batch.finish(60);
		expect(lost).toBe(30);
		expect(seconds).toBeLessThanOrEqual(4);
		for (const { error } of batch.ends) {
			expect([error?.kind, error?.facts.text]).toEqual(['rateLimited', QUOTA]);
		}
	});

	it.each([
		['at once', undefined, 600, 680],
		['longer, where the service asks to wait', '1200', 1260, 1340],
	])(
		'ends all that waits after ten minutes, or %s, and not before',
		async (_, retryAfter, from, to) => {
			const [service, address] = [new Service(3), newAccount()];
			const batch = speak(service, { items: 20, address });
			await batch.finish(60);
			service.limit = refusal(retryAfter);
			const refused = speak(service, { items: 30, address });
			const { seconds, lost } = await refused.finish(3000);
			expect(lost).toBe(30);
			expect(seconds).toBeGreaterThanOrEqual(from);
			expect(seconds).toBeLessThan(to);

			const before = service.seen.length;
			const rows = speak(service, { items: 5, concurrency: 1, address });
			expect(await rows.finish(30)).toMatchObject({ lost: 5 });
			expect(service.seen.length - before).toBe(5);

			service.limit = new Service(3).limit;
			expect(await speak(service, { items: 5, address }).finish(60)).toMatchObject({ lost: 0 });
		},
	);

	it('is not taken for one while a task of the account is under way', async () => {
		const service = new Service(900).allowAtOnce(1);
		const { lost } = await speak(service, { items: 2 }).finish(2400);
		expect([lost, service.creates]).toEqual([0, 2]);
	});
});

it('a service that accepts and charges everything, and fails above five at once, costs at most 15 of 60', async () => {
	const service = new Service(3);
	service.failsAbove = 5;
	const batch = speak(service, { items: 60, pollInterval: 5 });
	const { lost } = await batch.finish(600);
	expect(lost).toBeLessThanOrEqual(15);
	expect(service.creates).toBe(60);
});
