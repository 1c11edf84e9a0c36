import { getEventListeners } from 'node:events';
import {
	anyOf,
	remainingMs,
	settledWithin,
	startDeadline,
	steadyNow,
	whenAborted,
	withDeadline,
} from '../../nodes/shared/async/deadline';
import { Failure } from '../../nodes/shared/failure';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

describe('a deadline', () => {
	test('aborts at its end, or with the signal it follows', async () => {
		const run = new AbortController();
		const [short, long] = [startDeadline(1000, run.signal), startDeadline(5000, run.signal)];
		await jest.advanceTimersByTimeAsync(999);
		expect([short.signal.aborted, remainingMs(short.signal)]).toEqual([false, 1]);
		await jest.advanceTimersByTimeAsync(1);
		expect(short.signal.reason).toMatchObject({ kind: 'timedOut', facts: { limitMs: 1000 } });
		expect([remainingMs(short.signal), long.signal.aborted]).toEqual([0, false]);
		run.abort(new Failure('canceled'));
		expect(long.signal.reason).toMatchObject({ kind: 'canceled' });
		const { signal } = startDeadline(1000, undefined, AbortSignal.abort());
		expect(signal.reason).toMatchObject({ kind: 'canceled' });
	});

	test('that follows another one ends with whichever is sooner', () => {
		const { signal } = startDeadline(20_000);
		expect(remainingMs(startDeadline(60_000, signal).signal)).toBe(20_000);
		expect(remainingMs(startDeadline(5_000, signal).signal)).toBe(5000);
		expect(remainingMs(new AbortController().signal)).toBe(Infinity);
	});

	test('of more seconds than a timer can hold does not end at once', async () => {
		const { signal } = startDeadline(1e12);
		await jest.advanceTimersByTimeAsync(86_400_000);
		expect(signal.aborted).toBe(false);
	});

	test('that is lifted has no end of its own, but still follows the signal', async () => {
		const run = startDeadline(60_000);
		const { signal, lift } = startDeadline(1000, run.signal);
		lift();
		await jest.advanceTimersByTimeAsync(2000);
		expect([signal.aborted, remainingMs(signal)]).toEqual([false, 58_000]);
		await jest.advanceTimersByTimeAsync(58_000);
		expect(signal.reason).toMatchObject({ kind: 'timedOut', facts: { limitMs: 60_000 } });
	});

	test('never fires once stopped, and leaves nothing behind on the signal', async () => {
		const run = new AbortController();
		const { signal, stop } = startDeadline(1000, run.signal);
		stop();
		expect(getEventListeners(run.signal, 'abort')).toEqual([]);
		expect(jest.getTimerCount()).toBe(0);
		run.abort();
		expect(signal.aborted).toBe(false);
	});
});

describe('work under a deadline', () => {
	test.each([
		['done', async () => 'done'],
		['failed', async () => await Promise.reject<string>(new Error('failed'))],
	])('leaves nothing behind once it is %s', async (word, work) => {
		const run = new AbortController();
		const outcome = withDeadline(1000, run.signal, work).catch((error: Error) => error.message);
		expect(await outcome).toBe(word);
		expect(getEventListeners(run.signal, 'abort')).toEqual([]);
		expect(jest.getTimerCount()).toBe(0);
	});

	test('is told of its end', async () => {
		const outcome = withDeadline(1000, undefined, async (signal) => {
			await whenAborted(signal);
			throw signal.reason;
		});
		const failed = expect(outcome).rejects.toMatchObject({ kind: 'timedOut' });
		await jest.advanceTimersByTimeAsync(1000);
		await failed;
	});
});

test.each<[string, number]>([
	['the time is up', 1000],
	['the signal aborts', 10],
])('what is waited for is undefined when %s first', async (_, ms) => {
	const run = new AbortController();
	const outcome = settledWithin(1000, run.signal, new Promise(() => {}));
	await jest.advanceTimersByTimeAsync(ms);
	if (ms < 1000) run.abort();
	expect(await outcome).toBeUndefined();
	expect(await settledWithin(1000, new AbortController().signal, Promise.resolve(7))).toBe(7);
	expect(jest.getTimerCount()).toBe(0);
});

test('the steady clock goes on when the machine’s is set back', async () => {
	const began = steadyNow();
	jest.setSystemTime(Date.now() - 10_800_000);
	expect(steadyNow()).toBe(began);
	await jest.advanceTimersByTimeAsync(1000);
	expect(steadyNow() - began).toBe(1000);
});

describe('a signal that aborts with the first of several', () => {
	test('aborts for its reason, and leaves the others alone', () => {
		const [one, other] = [new AbortController(), new AbortController()];
		const either = anyOf(one.signal, other.signal);
		expect(either.aborted).toBe(false);
		other.abort('canceled');
		expect(either).toMatchObject({ aborted: true, reason: 'canceled' });
		one.abort('late');
		expect(either.reason).toBe('canceled');
	});

	test('is aborted from the start if one of them is', () => {
		const other = new AbortController();
		expect(anyOf(other.signal, AbortSignal.abort('over'))).toMatchObject({ reason: 'over' });
		expect(getEventListeners(other.signal, 'abort')).toEqual([]);
	});

	test('leaves nothing behind on a signal that outlives it', () => {
		const [long, short] = [new AbortController(), new AbortController()];
		anyOf(long.signal, short.signal);
		short.abort();
		expect(getEventListeners(long.signal, 'abort')).toEqual([]);
	});
});
