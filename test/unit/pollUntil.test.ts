import { startDeadline } from '../../nodes/shared/async/deadline';
import { Failure } from '../../nodes/shared/failure';
import {
	nextSchedule,
	type ChannelEvent,
	type Schedule,
	type ScheduleEvent,
} from '../../nodes/shared/async/pollSchedule';
import { pollUntil, type ReadResult } from '../../nodes/shared/async/pollUntil';

/** Five seconds of silence before a reading, ten at most; 1 s of the first pause is over. */
const WAITING: Schedule = {
	...{ pollMs: 5000, startedAt: -20_000 },
	...{ pauseMs: 5000, nextAt: 4000, hasShortPauses: false, lastReadAt: -60_000 },
};
const PATIENT: Schedule = { ...WAITING, maxBackoffMs: 300_000 };
/** After a minute. */
const OLD: Schedule = { ...WAITING, startedAt: -60_000 };
/** After long silence. */
const LATE: Schedule = { ...WAITING, startedAt: -600_000, pauseMs: 30_000, nextAt: 19_000 };
const DUE: Schedule = { ...WAITING, pauseMs: 0, nextAt: 0, hasShortPauses: true };
/** `event`, so many times. */
const times = <One>(count: number, ...events: One[]) => Array<One[]>(count).fill(events).flat();

/** A reading, and then a channel that is cut and soon back. */
const CUT: ScheduleEvent[] = ['noOutcomeBesideChannel', 'disconnected', 'reconnected'];

describe('the next reading', () => {
	it.each<[string, Schedule, ScheduleEvent[], afterMs: number, isDue?: boolean]>([
		['waits for a silence after progress', WAITING, ['progress'], 5000],
		['is soon again after progress', LATE, ['progress', 'noOutcomeBesideChannel'], 10_000],
		['comes at once for an announcement', WAITING, ['announced'], 0, true],
		['comes as planned when the channel is lost', WAITING, ['disconnected'], 4000],
		['of a long pause comes sooner then', { ...WAITING, nextAt: 19_000 }, ['disconnected'], 5000],
		['comes soon when the channel is back', WAITING, ['reconnected'], 2000],
		['is not put off by that', { ...WAITING, nextAt: 1000 }, ['reconnected'], 1000],
		['is not repeated by a channel that comes and goes', WAITING, CUT, 5000],
		['is not as rare then as the user allows', { ...LATE, pollMs: 3_600_000 }, CUT, 30_000],
		['is due, whatever else is heard', DUE, ['progress', 'disconnected', 'reconnected'], 0, true],
		['follows a reading after a silence', WAITING, ['noOutcome'], 5000],
		['is rarer beside a channel', WAITING, ['noOutcomeBesideChannel'], 10_000],
		['doubles its pause there', OLD, times(2, 'noOutcomeBesideChannel'), 15_000],
		['is not rarer there for a young task', WAITING, times(9, 'noOutcomeBesideChannel'), 10_000],
		['is never too rare there', LATE, times(9, 'noOutcomeBesideChannel'), 30_000],
		['is as rare there as a trigger wants', PATIENT, times(9, 'noOutcomeBesideChannel'), 300_000],
		['repeats the last one if it is due', DUE, ['finalRead', 'noOutcome'], 50, true],
		['follows what was announced ever later', DUE, times(3, 'noOutcome'), 200, true],
		['takes its time if nothing comes of that', DUE, times(9, 'noOutcome'), 5000],
		['comes in a moment if it expects something', WAITING, ['readSoon'], 50, true],
		['comes ever later if throttled again', WAITING, times(9, 'readSoon'), 5000, true],
		['comes at once as the last', { ...WAITING, nextAt: 19_000 }, ['finalRead'], 0],
		['is one, as the last', WAITING, ['finalRead', 'noOutcomeBesideChannel'], 5000],
	])('%s', (_, schedule, events, afterMs, isDue = false) => {
		const found = events.reduce((one, event) => nextSchedule(one, event, 0), schedule);
		expect([found.nextAt, found.hasShortPauses]).toEqual([afterMs, isDue]);
	});

	it('is not put off for ever by a channel that comes and goes', () => {
		let schedule = WAITING;
		for (let now = 0; now < 2000; now += 100) {
			schedule = nextSchedule(schedule, now % 200 ? 'disconnected' : 'reconnected', now);
			expect(schedule.nextAt).toBe(2000);
		}
	});
});

/** A reading that takes two seconds, with what is heard meanwhile: how many began, and when it ended. */
async function during(...channelEvents: ChannelEvent[]) {
	const began = Date.now();
	let readCount = 0;
	let onEvent: (event: ChannelEvent) => void = () => {};
	const wait = pollUntil<string>({
		async read(): Promise<ReadResult<string>> {
			const value = `reading ${++readCount}`;
			for (const event of readCount === 1 ? channelEvents : []) {
				await new Promise((resolve) => setTimeout(resolve, 500));
				onEvent(event);
			}
			await new Promise((resolve) => setTimeout(resolve, 2000 - 500 * channelEvents.length));
			return { done: true, value };
		},
		signal: startDeadline(60_000).signal,
		...{ pollMs: 5000, readFirst: true },
		subscribe: (listener) => {
			onEvent = listener;
			return () => {};
		},
	}).then((value) => [value, Date.now() - began]);
	await jest.advanceTimersByTimeAsync(30_000);
	// That of the deadline.
	expect(jest.getTimerCount()).toBe(1);
	return await wait;
}

describe('a reading in flight', () => {
	beforeEach(() => void jest.useFakeTimers());
	afterEach(() => void jest.useRealTimers());

	it.each<ChannelEvent[]>([
		['progress', 'progress', 'progress'],
		['progress', 'disconnected', 'reconnected'],
	])('brings its outcome, whatever else is heard: %s, %s, %s', async (...channelEvents) => {
		expect(await during(...channelEvents)).toEqual(['reading 1', 2000]);
	});

	it.each<ChannelEvent[]>([
		['progress', 'announced'],
		['progress', 'announced', 'announced'],
	])(
		'gives way to another one when the outcome is announced, once: %s, %s',
		async (...channelEvents) => {
			expect((await during(...channelEvents))[0]).toBe('reading 2');
		},
	);
});

describe('a wait', () => {
	beforeEach(() => void jest.useFakeTimers());
	afterEach(() => void jest.useRealTimers());

	/** One whose reads bring nothing, beside an open channel. */
	function waiting() {
		const began = Date.now();
		const canceling = new AbortController();
		const { signal } = startDeadline(60_000, canceling.signal);
		const readAt: number[] = [];
		const urgent: boolean[] = [];
		const found = { kind: '', readAt, urgent, unsubscribe: jest.fn() };
		let onEvent: (event: ChannelEvent) => void = () => {};
		pollUntil<string>({
			async read(_signal, isUrgent) {
				readAt.push(Date.now() - began);
				urgent.push(isUrgent);
				return { done: false };
			},
			...{ signal, pollMs: 5000, isChannelOpen: () => true },
			subscribe(listener) {
				onEvent = listener;
				return found.unsubscribe;
			},
		}).catch(({ kind }: Failure) => (found.kind = kind));
		return { ...{ canceling, found }, announce: (event: ChannelEvent) => onEvent(event) };
	}

	it('reads earlier when the channel is back or lost', async () => {
		const { found, announce } = waiting();
		await jest.advanceTimersByTimeAsync(1000);
		announce('reconnected');
		await jest.advanceTimersByTimeAsync(3000);
		expect(found.readAt).toEqual([3000]);
		announce('disconnected');
		await jest.advanceTimersByTimeAsync(5000);
		expect(found.readAt).toEqual([3000, 9000]);
	});

	it('takes no step for progress that only puts off the next reading', async () => {
		const { found, announce } = waiting();
		const startTimer = jest.spyOn(globalThis, 'setTimeout');
		for (let times = 0; times < 50; times++) {
			await jest.advanceTimersByTimeAsync(80);
			announce('progress');
		}
		const timerCount = startTimer.mock.calls.length;
		await jest.advanceTimersByTimeAsync(5000);
		expect([timerCount, found.readAt]).toEqual([0, [9000]]);
	});

	it('reads before others when the outcome is announced, and at the end', async () => {
		const [silent, announced] = [waiting(), waiting()];
		await jest.advanceTimersByTimeAsync(1000);
		announced.announce('announced');
		await jest.advanceTimersByTimeAsync(4000);
		expect([silent.found.urgent, announced.found.urgent[0]]).toEqual([[false], true]);
		await jest.advanceTimersByTimeAsync(54_000);
		expect(silent.found.urgent.at(-1)).toBe(true);
	});

	it('ends at once when it is canceled, and leaves nothing behind', async () => {
		const { canceling, found } = waiting();
		await jest.advanceTimersByTimeAsync(1000);
		canceling.abort(new Failure('canceled'));
		await jest.advanceTimersByTimeAsync(0);
		expect(found.kind).toBe('canceled');
		expect(found.unsubscribe).toHaveBeenCalledTimes(1);
		expect(jest.getTimerCount()).toBe(0);
	});
});
