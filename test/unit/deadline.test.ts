import { getEventListeners } from 'node:events';
import {
	backoffMs,
	linkedController,
	monotonicNow,
	sleep,
	watchIdle,
	whenAborted,
} from '../../nodes/shared/async/deadline';
import { Failure } from '../../nodes/shared/failure';
import { fakeTime } from '../service/fakeTime.mts';

/** As in old versions of n8n, which ignore the signal. */
jest.mock('n8n-workflow', () => ({
	sleep: async (ms: number) => await new Promise((resolve) => setTimeout(resolve, ms)),
}));

beforeEach(() => void fakeTime());
afterEach(() => {
	jest.useRealTimers();
	jest.restoreAllMocks();
});

test('a pause ends when it is aborted, also where n8n does not end it, and leaves nothing behind', async () => {
	const controller = new AbortController();
	const pause = sleep(60_000, controller.signal);
	const short = sleep(1000, controller.signal);
	await jest.advanceTimersByTimeAsync(1000);
	await short;
	expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1);
	controller.abort();
	await pause;
	await sleep(60_000, controller.signal);
});

test('what is aborted already is so for all who ask later', async () => {
	const aborted = AbortSignal.abort(new Failure('timedOut'));
	await whenAborted(aborted);
	const { signal } = linkedController(new AbortController().signal, aborted);
	expect((signal.reason as Failure).kind).toBe('timedOut');
});

test('the pause before a retry doubles up to a maximum, and at least half of it is certain', () => {
	const pauses = [0, 1].map((random) => {
		jest.spyOn(Math, 'random').mockReturnValue(random);
		return [0, 1, 2, 3, 4].map((attempt) => backoffMs(attempt));
	});
	expect(pauses).toEqual([
		[250, 500, 1000, 2000, 2000],
		[500, 1000, 2000, 4000, 4000],
	]);
});

test('silence is told once it has lasted, however late activity was, and not after the end', async () => {
	let idleAt = monotonicNow() + 30_000;
	const ended = new AbortController();
	const [onIdle, onIdleLater] = [jest.fn(), jest.fn()];
	void watchIdle(() => idleAt, new AbortController().signal, onIdle);
	void watchIdle(() => idleAt, ended.signal, onIdleLater);
	await jest.advanceTimersByTimeAsync(29_000);
	idleAt += 20_000;
	await jest.advanceTimersByTimeAsync(20_000);
	expect(onIdle).not.toHaveBeenCalled();
	ended.abort();
	await jest.advanceTimersByTimeAsync(2000);
	expect([onIdle.mock.calls.length, onIdleLater.mock.calls.length]).toEqual([1, 0]);
});
