import { getEventListeners } from 'node:events';
import {
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
		await jest.advanceTimersByTimeAsync(1000);
		expect(short.signal.reason).toMatchObject({ kind: 'timedOut', facts: { limitMs: 1000 } });
		expect(long.signal.aborted).toBe(false);
		run.abort(new Failure('canceled'));
		expect(long.signal.reason).toMatchObject({ kind: 'canceled' });
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

	test('that is stopped leaves nothing behind on the signal', () => {
		const run = new AbortController();
		startDeadline(1000, run.signal).stop();
		expect(getEventListeners(run.signal, 'abort')).toEqual([]);
		expect(jest.getTimerCount()).toBe(0);
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
	expect(steadyNow() - began).toBe(0);
	await jest.advanceTimersByTimeAsync(1000);
	expect(steadyNow() - began).toBe(1000);
});
