import { getEventListeners } from 'node:events';
import { remainingMs, startDeadline, steadyNow } from '../../nodes/shared/async/deadline';
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

test('the steady clock goes on when the machine’s is set back', async () => {
	const began = steadyNow();
	jest.setSystemTime(Date.now() - 10_800_000);
	expect(steadyNow()).toBe(began);
	await jest.advanceTimersByTimeAsync(1000);
	expect(steadyNow() - began).toBe(1000);
});
