import { getEventListeners } from 'node:events';
import { remainingMs, startDeadline } from '../../nodes/shared/async/deadline';
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
		expect(signal.reason).toMatchObject({ kind: 'canceled' });
	});
});
