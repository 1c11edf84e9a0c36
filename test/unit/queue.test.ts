import { randomUUID } from 'node:crypto';
import { getEventListeners } from 'node:events';
import { ConcurrencyLimiter } from '../../nodes/MediaGeneration/run/concurrency';
import { accountOf } from '../../nodes/shared/account';
import { monotonicNow, withDeadline } from '../../nodes/shared/async/deadline';
import { Queue } from '../../nodes/shared/async/queue';
import { Semaphore } from '../../nodes/shared/async/semaphore';
import { Throttle } from '../../nodes/shared/pace/throttle';
import { fakeTime } from '../service/fakeTime.mts';

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
	).enter(undefined, signal);
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
		await queue.enter(lane, new AbortController().signal);
		order.push(lane);
	};
	await Promise.all([...'aaabbc'].map(enter));
	expect(order.join('')).toBe('abcaba');
});

test('many lanes that may all begin are not each looked at for each other', async () => {
	const delayMs = jest.fn(() => 0);
	const queue = new Queue<number>(delayMs, () => {});
	await Promise.all(Array.from({ length: 1000 }, async (_, lane) => await queue.enter(lane)));
	expect(delayMs.mock.calls.length).toBeLessThan(3000);
});

/** The API of a run for a new account, as far as slots are concerned. */
function newApi() {
	const credential = { accountKey: randomUUID() };
	return { credential, throttle: accountOf(credential).get(Throttle) };
}
type FakeApi = ReturnType<typeof newApi>;

test('rows that wait put no listeners on a signal that they share', async () => {
	const listen = jest.spyOn(EventTarget.prototype, 'addEventListener');
	const api = newApi();
	const units = Array.from({ length: 50 }, () => ({ api }));
	await new ConcurrencyLimiter(50).forEach(units, async () => true);
	const count = listen.mock.calls.length;
	listen.mockRestore();
	expect(count).toBe(0);
});
describe('the slots of an account', () => {
	// After a second an account has more slots, and a busy machine may take that second.
	beforeEach(() => void fakeTime());
	afterEach(() => void jest.useRealTimers());

	const many = (api: FakeApi, count = 20) => Array.from({ length: count }, () => api);
	const settle = async () => await new Promise((resolve) => setImmediate(resolve));

	/** Begins a run of one unit for each of these APIs. */
	function beginRun(apis: FakeApi[]) {
		const started: FakeApi[] = [];
		/** Each ends a unit that was started, with or without success. */
		const ends: Array<(hasSucceeded: boolean) => void> = [];
		let release = () => {};
		const released = new Promise<boolean>((resolve) => (release = () => resolve(true)));
		// As in each run of the node, those of one account share one object.
		const own = new Map(apis.map((api) => [api, { ...api }]));
		const units = apis.map((api) => ({ api: own.get(api)!, shared: api }));
		const limiter = new ConcurrencyLimiter(0);
		const ended = limiter.forEach(units, async ({ shared }) => {
			started.push(shared);
			const end = new Promise<boolean>((resolve) => ends.push(resolve));
			return await Promise.race([end, released]);
		});
		/** Says that so many units have proved healthy, all in the same moment. */
		const prove = (count: number) => {
			for (const unit of units.slice(0, count)) limiter.onHealthy(unit);
		};
		return { started, ends, release, ended, prove };
	}
	const endAll = async (runs: Array<ReturnType<typeof beginRun>>) => {
		for (const { release } of runs) release();
		await Promise.all(runs.map(({ ended }) => ended));
	};

	test.each([
		{ runCount: 5, slots: 2 },
		{ runCount: 12, slots: 1 },
	])('$runCount runs of an account share what slow start allows', async ({ runCount, slots }) => {
		const api = newApi();
		const runs = Array.from({ length: runCount }, () => beginRun(many(api)));
		await settle();
		const counts = runs.map(({ started }) => started.length);
		await endAll(runs);
		expect(counts).toEqual(Array(runCount).fill(slots));
		// Nothing is left of them: the next run begins as alone.
		const next = beginRun(many(api));
		await settle();
		const nextCount = next.started.length;
		await endAll([next]);
		expect(nextCount).toBe(10);
	});

	test.each([
		{ name: 'slow start', limit: Infinity, before: [10, 1], ended: 6, after: [11, 5] },
		{ name: 'the concurrency limit', limit: 4, before: [4, 1], ended: 3, after: [5, 2] },
	])(
		'a slot of $name that becomes free goes to the run that uses the fewest',
		async ({ limit, before, ended, after }) => {
			const api = newApi();
			if (limit < Infinity) api.throttle.limit.onRefused(monotonicNow(), limit + 1);
			const first = beginRun(many(api));
			await settle();
			const second = beginRun(many(api));
			await settle();
			const counts = () => [first, second].map(({ started }) => started.length);
			const countsBefore = counts();
			for (const end of first.ends.slice(0, ended)) {
				end(false);
				await settle();
			}
			const countsAfter = counts();
			await endAll([first, second]);
			// The second run begins with one slot too many, so the first slot that becomes free goes to nobody.
			expect([countsBefore, countsAfter]).toEqual([before, after]);
		},
	);

	test('each of ten units that prove healthy in the same moment is worth five slots', async () => {
		const run = beginRun(many(newApi(), 60));
		await settle();
		run.prove(10);
		await settle();
		const count = run.started.length;
		await endAll([run]);
		expect(count).toBe(50);
	});

	test('a run begins as slowly beside single executions as alone, however many of them succeed', async () => {
		const api = newApi();
		const long = beginRun([api]);
		for (let count = 0; count < 50; count++) await endAll([beginRun([api])]);
		const next = beginRun(many(api, 50));
		await settle();
		const count = next.started.length;
		await endAll([long, next]);
		expect(count).toBe(9);
	});

	test('a run has a slot of each of its accounts, whatever another run uses', async () => {
		const [one, other] = [newApi(), newApi()];
		const runs = [beginRun(many(one)), beginRun([...many(other), one])];
		await settle();
		const count = runs[1]!.started.filter((api) => api === one).length;
		await endAll(runs);
		expect(count).toBe(1);
	});
});
