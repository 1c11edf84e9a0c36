import { startDeadline, monotonicNow } from '../../nodes/shared/async/deadline';
import { Failure } from '../../nodes/shared/failure';
import { CircuitBreaker } from '../../nodes/shared/pace/circuitBreaker';
import { ConcurrencyLimit } from '../../nodes/shared/pace/concurrencyLimit';
import { RequestInterval } from '../../nodes/shared/pace/requestInterval';
import { Throttle } from '../../nodes/shared/pace/throttle';
import { fakeTime } from '../service/fakeTime.mts';

const QUOTA = new Failure('throttled', { meaning: 'quota' });
const RATE = new Failure('throttled', { reason: 'Too many requests' });
const FULL = new Failure('throttled', { reason: 'Too many concurrent tasks' });
const OVERLOAD = new Failure('taskFailed', { reason: 'Too many concurrent tasks' });
const { signal } = new AbortController();
const pass = (seconds: number) => void jest.advanceTimersByTime(seconds * 1000);

beforeEach(() => void fakeTime());
afterEach(() => {
	jest.useRealTimers();
	jest.restoreAllMocks();
});

describe('the circuit breaker', () => {
	beforeEach(() => void jest.spyOn(Math, 'random').mockReturnValue(0));

	test('is closed, open after a failure, half-open after the cooldown, and closed by an answer', () => {
		const breaker = new CircuitBreaker();
		const sentAt = monotonicNow();
		expect(breaker.delayMs).toBe(0);
		pass(1);
		breaker.onFailure(sentAt, false);
		expect(breaker.delayMs).toBe(1000);
		pass(1);
		expect(breaker.delayMs).toBeLessThanOrEqual(0);
		breaker.onSent();
		expect(breaker.delayMs).toBe(1500);
		const probedAt = monotonicNow();
		breaker.onEnd(sentAt, true);
		expect(breaker.delayMs).toBe(1500);
		breaker.onEnd(probedAt, true);
		expect(breaker.delayMs).toBe(0);
	});

	/** One that has just opened, and when the request that failed was sent. */
	function opened(isOutage: boolean) {
		const breaker = new CircuitBreaker();
		const sentAt = monotonicNow();
		pass(1);
		breaker.onFailure(sentAt, isOutage);
		return { breaker, sentAt };
	}

	test('counts the failures of requests in flight together as one, with the longest cooldown', () => {
		const { breaker, sentAt } = opened(false);
		breaker.onFailure(sentAt, false);
		expect([breaker.consecutiveFailures, breaker.delayMs]).toEqual([1, 1000]);
		breaker.onFailure(sentAt, false, 5000);
		breaker.onFailure(sentAt, false, 3000);
		expect(breaker.delayMs).toBe(5000);
		pass(5);
		breaker.onSent();
		breaker.onFailure(sentAt, false, 5000);
		expect(breaker.delayMs).toBe(5000);
	});

	test('has others wait a moment for a slow probe, in an outage until it has ended', () => {
		const { breaker } = opened(false);
		pass(1);
		breaker.onSent();
		pass(1.5);
		breaker.onSent();
		expect(breaker.delayMs).toBeLessThanOrEqual(0);

		const { breaker: unavailable } = opened(true);
		pass(1);
		unavailable.onSent();
		const probedAt = monotonicNow();
		pass(60);
		expect(unavailable.delayMs).toBe(Infinity);
		// It was refused, which does not show that the outage is over; another probe follows.
		unavailable.onFailure(probedAt, false);
		expect([unavailable.isOutage, unavailable.delayMs]).toEqual([true, 2000]);
		pass(2);
		expect(unavailable.delayMs).toBeLessThanOrEqual(0);
		// So does one after a probe that was canceled.
		unavailable.onSent();
		unavailable.onEnd(monotonicNow(), false);
		expect([unavailable.isOutage, unavailable.delayMs <= 0]).toEqual([true, true]);
	});

	test('takes no late failure for a new outage', () => {
		const { breaker, sentAt } = opened(true);
		pass(1);
		breaker.onEnd(monotonicNow(), true);
		breaker.onFailure(sentAt, true);
		expect([breaker.isOutage, breaker.delayMs]).toEqual([false, 0]);
	});

	test('spreads the end of its cooldown', () => {
		jest.spyOn(Math, 'random').mockReturnValue(1);
		expect(opened(false).breaker.delayMs).toBe(1500);
	});

	test('doubles its cooldown, and waits longer if the service asks for it', () => {
		const breaker = new CircuitBreaker();
		const cooldowns = [...Array<undefined>(6).fill(undefined), 100, 90_000].map((retryAfterMs) => {
			pass(100);
			breaker.onFailure(monotonicNow(), false, retryAfterMs);
			return breaker.delayMs;
		});
		expect(cooldowns).toEqual([1000, 2000, 4000, 8000, 15_000, 15_000, 15_000, 60_000]);
	});
});

test('an interval grows with each refusal, is kept for a while, and is gone two minutes later', () => {
	const interval = new RequestInterval();
	expect(interval.ms).toBe(0);
	interval.onThrottled(monotonicNow());
	expect(interval.ms).toBe(50);
	for (let n = 0; n < 20; n++) {
		pass(0.001);
		interval.onThrottled(monotonicNow());
	}
	const longest = interval.ms;
	expect(longest).toBeCloseTo(50 * 1.2 ** 20);
	// It was sent before the last refusal.
	interval.onThrottled(monotonicNow() - 1);
	expect(interval.ms).toBe(longest);
	pass(37);
	expect(interval.ms).toBe(longest);
	pass(2);
	expect(interval.ms).toBeCloseTo(longest / 1.2);
	pass(21);
	expect(interval.ms).toBeCloseTo(longest / 1.2 ** 3);
	pass(60);
	expect(interval.ms).toBeLessThan(longest / 250);
});

test('an interval is hardly longer than a minute, however long everything is refused', () => {
	const interval = new RequestInterval();
	for (let n = 0; n < 100; n++) {
		let waitedSeconds = 0;
		do {
			pass(1);
			waitedSeconds++;
		} while (waitedSeconds * 1000 < interval.ms);
		expect(waitedSeconds).toBeLessThan(60);
		interval.onThrottled(monotonicNow());
	}
});

describe('the concurrency limit', () => {
	test('leaves room for others when more is refused, and rises with the square of the time', () => {
		const limit = new ConcurrencyLimit();
		expect(limit.delayMs(1000)).toBe(0);
		limit.onRefused(monotonicNow(), 20);
		expect(limit.current).toBeCloseTo(19);
		pass(150);
		expect(limit.current).toBeCloseTo(20);
		pass(600);
		expect(limit.current).toBeCloseTo(44);
		limit.onRefused(monotonicNow(), 10);
		expect(limit.delayMs(10)).toBeCloseTo(Math.sqrt(1.5) * 150_000);
		pass(100);
		expect(limit.delayMs(10)).toBeCloseTo(Math.sqrt(1.5) * 150_000 - 100_000);
	});

	test('rises by the same in every process, so that who has less catches up', () => {
		const risen = [2, 20].map((inFlight) => {
			const limit = new ConcurrencyLimit();
			limit.onRefused(monotonicNow(), inFlight);
			const before = limit.current;
			pass(300);
			return limit.current - before;
		});
		for (const rise of risen) expect(rise).toBeCloseTo(4);
	});

	test('tries for more after rounds, not after minutes, where tasks take seconds', () => {
		const limit = new ConcurrencyLimit();
		limit.onRefused(monotonicNow(), 2);
		for (let n = 0; n < 40; n++) limit.onSuccess(1);
		for (let n = 0; n < 10; n++) limit.onSuccess(2);
		expect(limit.delayMs(2)).toBeGreaterThan(60_000);
		for (let n = 0; n < 35; n++) limit.onSuccess(2);
		expect(limit.delayMs(2)).toBe(0);
		const before = limit.current;
		pass(150);
		expect(limit.current - before).toBeGreaterThan(3);
	});

	test('lets one more out at once when its only one has ended', () => {
		const limit = new ConcurrencyLimit();
		limit.onRefused(monotonicNow(), 1);
		expect([limit.delayMs(0), limit.delayMs(1) > 60_000]).toEqual([0, true]);
	});

	test('what was on its way when another was refused is not forgotten', () => {
		const limit = new ConcurrencyLimit();
		limit.onRefused(monotonicNow(), 2);
		for (let inFlight = 3; inFlight < 11; inFlight++) limit.onAccepted(inFlight);
		expect(limit.current).toBeCloseTo(10);
	});

	test('stays below what is charged and fails, and time changes nothing', () => {
		const limit = new ConcurrencyLimit();
		for (const inFlight of [20, 6, 5, 12]) limit.onOverload(inFlight);
		pass(3600);
		limit.onAccepted(12);
		expect([limit.current, limit.delayMs(5)]).toEqual([5, Infinity]);
	});

	it('is not cut by a call that was accepted beyond it', () => {
		const limit = new ConcurrencyLimit();
		limit.onRefused(monotonicNow(), 20);
		const before = limit.current;
		limit.onAccepted(19);
		expect(limit.current).toBeGreaterThanOrEqual(before);
	});
});

describe('the throttle', () => {
	/** Returns a function that tells whether a call has been admitted. */
	const watch = (admission: Promise<unknown>) => {
		let isAdmitted = false;
		void admission.then(() => (isAdmitted = true));
		return () => isAdmitted;
	};
	/** Lets time pass, and expects that a call is admitted in it: not before `after`, but `within`, both in ms from now. */
	const expectAdmitted = async (
		admission: Promise<unknown>,
		{ after, within }: { after: number; within: number },
	) => {
		const isAdmitted = watch(admission);
		await jest.advanceTimersByTimeAsync(after);
		expect(isAdmitted()).toBe(false);
		await jest.advanceTimersByTimeAsync(within - after);
		expect(isAdmitted()).toBe(true);
	};
	/** Sends one call, which fails. */
	const refuse = async (throttle: Throttle, failure: Failure, since = monotonicNow()) =>
		(await throttle.admit('create', signal, since)).end('throttled', failure);
	const late = async (throttle: Throttle, since: number) => {
		const waiting = throttle.admit('create', startDeadline(20).signal, since);
		const outcome = expect(waiting).rejects.toBeInstanceOf(Failure);
		await jest.advanceTimersByTimeAsync(30);
		await outcome;
	};

	test.each([
		['a used-up quota fails all that waits, until a call is accepted', QUOTA, false, true],
		[
			'a call that has waited its whole time for none to be accepted says the same',
			RATE,
			false,
			true,
		],
		['nobody who waits fails if another was accepted meanwhile', QUOTA, true, false],
		['nobody fails early where the service speaks of what is in flight', FULL, false, false],
	])('%s', async (_, failure, isAnother, isExhausted) => {
		const throttle = new Throttle();
		const since = monotonicNow();
		pass(1);
		if (isAnother) (await throttle.admit('create', signal)).end('succeeded');
		await refuse(throttle, failure);
		let isOtherOver = false;
		throttle.admit('create', signal, since).catch(() => (isOtherOver = true));
		await late(throttle, since);
		expect([throttle.failFast.isQuotaExhausted, isOtherOver]).toEqual([isExhausted, isExhausted]);
	});

	test('what waits when the quota turns out to be used up is not sent, what comes later is', async () => {
		const throttle = new Throttle();
		const probe = await throttle.admit('create', signal, monotonicNow() - 600_000);
		const waiting = throttle.admit('create', signal);
		const failed = expect(waiting).rejects.toMatchObject({ facts: { meaning: 'quota' } });
		const read = watch(throttle.admit('read', signal));
		probe.end('throttled', QUOTA);
		await failed;
		expect(throttle.failFast.isQuotaExhausted).toBe(true);
		await jest.advanceTimersByTimeAsync(2000);
		expect(read()).toBe(true);
		(await throttle.admit('create', signal)).end('succeeded');
		expect(throttle.failFast.isQuotaExhausted).toBe(false);
		// What was not sent takes nobody's place.
		await jest.advanceTimersByTimeAsync(2000);
		throttle.limit.onRefused(monotonicNow(), 1);
		const next = watch(throttle.admit('create', signal));
		await jest.advanceTimersByTimeAsync(2000);
		expect(next()).toBe(true);
	});

	test('who is canceled says so, and tells nothing of a quota', async () => {
		const throttle = new Throttle();
		const canceled = AbortSignal.abort(new Failure('canceled'));
		const isCanceled = { kind: 'canceled' };
		await expect(throttle.admit('create', canceled)).rejects.toMatchObject(isCanceled);
		await refuse(throttle, RATE);
		await expect(throttle.admit('read', canceled)).rejects.toMatchObject(isCanceled);
		// The last refusal says more than that a call was canceled while it waited.
		await expect(throttle.admit('create', canceled, monotonicNow())).rejects.toMatchObject(RATE);
		expect(throttle.failFast.isQuotaExhausted).toBe(false);
	});

	test('a used-up quota ends a wait of ten minutes, but not one that begins after a night', async () => {
		const throttle = new Throttle();
		await refuse(throttle, QUOTA);
		pass(8 * 3600);
		const since = monotonicNow();
		for (let minutes = 0; minutes <= 10; minutes++) {
			expect(throttle.failFast.isQuotaExhausted).toBe(false);
			await refuse(throttle, QUOTA, since);
			pass(60);
		}
		expect(throttle.failFast.isQuotaExhausted).toBe(true);
	});

	test('waits for seconds where the service counts a task a moment longer than it lasts', async () => {
		const throttle = new Throttle();
		let next = throttle.admit('create', signal);
		for (let n = 0; n < 3; n++) {
			(await next).end('succeeded');
			const task = throttle.startTask();
			await jest.advanceTimersByTimeAsync(3000);
			task.end();
			await refuse(throttle, FULL);
			next = throttle.admit('create', signal);
			await expectAdmitted(next, { after: 4000, within: 6000 });
		}
	});

	test('the pause grows while others hold all places, and no task of ours is in flight', async () => {
		const throttle = new Throttle();
		let call = await throttle.admit('create', signal);
		for (const seconds of [5, 10, 20, 40, 40]) {
			await jest.advanceTimersByTimeAsync(100);
			call.end('throttled', FULL);
			const next = throttle.admit('create', signal);
			await expectAdmitted(next, { after: 1000 * seconds - 1000, within: 1000 * seconds + 1000 });
			call = await next;
		}
		expect(throttle.createBreaker.isOutage).toBe(false);
	});

	test('the pause is longer after each one that is charged and fails alone, until one succeeds', async () => {
		const throttle = new Throttle();
		const pauses: number[] = [];
		let call = await throttle.admit('create', signal);
		for (const outcome of [...Array<Failure>(3).fill(OVERLOAD), undefined, OVERLOAD]) {
			call.end('succeeded');
			const task = throttle.startTask();
			await jest.advanceTimersByTimeAsync(3000);
			task.end(outcome);
			const endedAt = monotonicNow();
			const next = throttle.admit('create', signal);
			void next.then(() => pauses.push((monotonicNow() - endedAt) / 1000));
			await jest.advanceTimersByTimeAsync(1_000_000);
			call = await next;
		}
		expect(pauses).toEqual([40, 320, 320, 0, 40]);
	});

	test('a refusal does not end the pause after one that was charged and failed alone', () => {
		const limit = new ConcurrencyLimit();
		limit.onOverload(0);
		limit.onOverload(0);
		limit.onRefused(monotonicNow() + 1, 0);
		expect(limit.delayMs(0)).toBeGreaterThan(19_000);
	});

	test('a refusal that comes before the others are accepted does not hold up the next call', async () => {
		const throttle = new Throttle();
		(await throttle.admit('create', signal)).end('succeeded');
		const sent = await Promise.all([1, 2, 3].map(() => throttle.admit('create', signal)));
		sent[0]!.end('throttled', FULL);
		const tasks = sent.slice(1).map((call) => {
			call.end('succeeded');
			return throttle.startTask();
		});
		tasks[0]!.end();
		const isAdmitted = watch(throttle.admit('create', signal));
		await jest.advanceTimersByTimeAsync(1000);
		expect(isAdmitted()).toBe(true);
	});

	test('no other call takes the place of one whose task begins a moment after the answer', async () => {
		const throttle = new Throttle();
		(await throttle.admit('read', signal)).end('succeeded');
		await jest.advanceTimersByTimeAsync(1);
		throttle.limit.onRefused(monotonicNow(), 1);
		const call = await throttle.admit('create', signal);
		const isAdmitted = watch(throttle.admit('create', signal));
		call.end('succeeded');
		for (let turn = 0; turn < 20; turn++) await Promise.resolve();
		const task = throttle.startTask();
		await jest.advanceTimersByTimeAsync(1000);
		expect(isAdmitted()).toBe(false);
		task.end();
		await jest.advanceTimersByTimeAsync(1000);
		expect(isAdmitted()).toBe(true);
	});

	test('an overload of the whole service holds up create calls only, and leaves no interval', async () => {
		const throttle = new Throttle();
		const facts = { status: 503, meaning: 'throttled', retryAfterMs: 3000 } as const;
		await refuse(throttle, new Failure('unavailable', facts));
		const create = throttle.admit('create', signal).then((call) => call.end('succeeded'));
		await throttle.admit('read', signal);
		expect(throttle.createBreaker.isOutage).toBe(false);
		await expectAdmitted(create, { after: 3000, within: 4000 });
		const since = monotonicNow();
		await Promise.all([1, 2, 3].map(() => throttle.admit('create', signal)));
		expect(monotonicNow()).toBe(since);
	});

	test.each(['read', 'poll', 'background', 'create'] as const)(
		'a %s waits as long as the service asks for, then one goes out before all others',
		async (kind) => {
			jest.spyOn(Math, 'random').mockReturnValue(0);
			const throttle = new Throttle();
			await refuse(throttle, new Failure('throttled', { retryAfterMs: 5000 }));
			const first = throttle.admit(kind, signal);
			const isSecondAdmitted = watch(throttle.admit(kind, signal));
			await expectAdmitted(first, { after: 4900, within: 5100 });
			await jest.advanceTimersByTimeAsync(800);
			expect(isSecondAdmitted()).toBe(false);
			(await first).end('succeeded');
			await jest.advanceTimersByTimeAsync(500);
			expect(isSecondAdmitted()).toBe(true);
		},
	);

	test('the first create call goes out alone, because its answer may be that of all', async () => {
		const throttle = new Throttle();
		const first = await throttle.admit('create', signal);
		const isSecondAdmitted = watch(throttle.admit('create', signal));
		await jest.advanceTimersByTimeAsync(1000);
		expect(isSecondAdmitted()).toBe(false);
		first.end('succeeded');
		await jest.advanceTimersByTimeAsync(0);
		expect(isSecondAdmitted()).toBe(true);
	});

	test('a trigger’s reads are eight a second at most, also where nothing was refused', async () => {
		const throttle = new Throttle();
		let read = 0;
		for (let waiting = 0; waiting < 100; waiting++)
			void throttle.admit('background', signal).then((call) => (read++, call.end('succeeded')));
		await jest.advanceTimersByTimeAsync(5000);
		expect([read > 35, read < 45]).toEqual([true, true]);
	});

	test('a read that is refused holds up all requests for a moment, and no place is taken', async () => {
		const throttle = new Throttle();
		for (const failure of [FULL, new Failure('unavailable', { status: 503 })]) {
			(await throttle.admit('read', signal)).end('throttled', failure);
			await expectAdmitted(throttle.admit('read', signal), { after: 900, within: 3000 });
			await jest.advanceTimersByTimeAsync(2000);
		}
		expect(throttle.limit.current).toBe(Infinity);
		expect(throttle.createBreaker.consecutiveFailures).toBe(0);
	});

	test('a refusal beside others in flight holds up the next call until some have ended', async () => {
		const throttle = new Throttle();
		const tasks = [1, 2, 3].map(() => throttle.startTask());
		await refuse(throttle, FULL);
		const next = throttle.admit('create', signal);
		const isAdmitted = watch(next);
		await jest.advanceTimersByTimeAsync(1000);
		expect(isAdmitted()).toBe(false);
		for (const task of tasks) task.end();
		await jest.advanceTimersByTimeAsync(0);
		expect(isAdmitted()).toBe(true);
	});

	test('a poll waits while a create call does, unless others in flight hold that up', async () => {
		const throttle = new Throttle();
		(await throttle.admit('create', signal)).end('succeeded');
		await refuse(throttle, RATE);
		const order: string[] = [];
		const poll = throttle.admit('poll', signal).then(() => order.push('poll'));
		const create = throttle.admit('create', signal).then(() => order.push('create'));
		await jest.advanceTimersByTimeAsync(60_000);
		await Promise.all([poll, create]);
		expect(order).toEqual(['create', 'poll']);
		throttle.startTask();
		await refuse(throttle, FULL);
		void throttle.admit('create', signal).catch(() => {});
		await jest.advanceTimersByTimeAsync(40_000);
		(await throttle.admit('poll', signal)).end('succeeded');
	});

	test('a trigger’s reads get a tenth of the rate, however many create calls wait for it', async () => {
		const throttle = new Throttle();
		(await throttle.admit('create', signal)).end('succeeded');
		let created = 0;
		const create = async () => {
			await throttle.admit('create', signal).then((call) => call.end('succeeded'));
			created++;
			void create();
		};
		let read = 0;
		const readNext = async () => {
			(await throttle.admit('background', signal)).end('succeeded');
			read++;
		};
		await refuse(throttle, RATE);
		for (let waiting = 0; waiting < 3; waiting++) void create();
		for (let waiting = 0; waiting < 500; waiting++) void readNext();
		await jest.advanceTimersByTimeAsync(20_000);
		expect(read).toBeGreaterThan(20);
		expect(created / read).toBeGreaterThan(8);
		expect(created / read).toBeLessThan(10);
	});

	test('while a quota counts as used up, create calls do not wait, but reads keep their pace', async () => {
		const throttle = new Throttle();
		const since = monotonicNow() - 600_000;
		await refuse(throttle, QUOTA, since);
		await jest.advanceTimersByTimeAsync(20_000);
		await refuse(throttle, QUOTA, since);
		expect(throttle.failFast.isQuotaExhausted).toBe(true);
		await refuse(throttle, QUOTA);
		let read = 0;
		for (let waiting = 0; waiting < 100; waiting++)
			void throttle.admit('background', signal).then((call) => (read++, call.end('succeeded')));
		await jest.advanceTimersByTimeAsync(10_000);
		expect(read).toBeGreaterThan(0);
		expect(read).toBeLessThan(80);
	});

	test('reads early each task that raises the number in flight by a quarter', () => {
		const throttle = new Throttle();
		const counts = Array.from({ length: 50 }, (_, index) => index + 1);
		const early = counts.filter(() => throttle.startTask().isSpotCheck);
		expect(early).toEqual([8, 10, 13, 17, 22, 28, 35, 44]);
	});

	test('what succeeds raises the limit, what fails does not', () => {
		const rise = (error?: Failure) => {
			const throttle = new Throttle();
			throttle.limit.onRefused(monotonicNow(), 1);
			for (let n = 0; n < 20; n++) throttle.startTask().end(error);
			return throttle.limit.current - 1;
		};
		expect([rise() > 0.5, rise(new Failure('taskFailed'))]).toEqual([true, 0]);
	});

	test('a call counts until it ends, however it ends', async () => {
		const throttle = new Throttle();
		const tasks = [1, 2, 3, 4, 5].map(() => throttle.startTask());
		expect(throttle.inFlight).toBe(5);
		expect(tasks[4]!.end(OVERLOAD)).toMatchObject({ facts: { safeInFlight: 4 } });
		// The others show that not everything fails.
		expect(throttle.createBreaker.delayMs).toBeLessThanOrEqual(0);
		tasks[3]!.end();
		throttle.limit.onRefused(monotonicNow() + 1, 2);
		// A number for the user, although the limit is 1.9.
		expect(tasks[2]!.end(OVERLOAD)).toMatchObject({ facts: { safeInFlight: 1 } });
		tasks[1]!.end();
		tasks[0]!.end(OVERLOAD);
		expect(throttle.inFlight).toBe(0);
		expect(throttle.limit.current).toBe(1 / 16);
	});

	test.each([
		['succeeded', false],
		['rejected', false],
		['unknown', true],
	] as const)('an outage after which a create call has %s: does it go on?', async (...row) => {
		const [outcome, isOutage] = row;
		const throttle = new Throttle();
		(await throttle.admit('create', signal)).end('unavailable', new Failure('unavailable'));
		const probe = throttle.admit('create', signal);
		await jest.advanceTimersByTimeAsync(2000);
		(await probe).end(outcome);
		expect(throttle.createBreaker.isOutage).toBe(isOutage);
	});
});
