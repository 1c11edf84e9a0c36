import { remainingMs, startDeadline, steadyNow } from '../../nodes/shared/async/deadline';
import { Failure } from '../../nodes/shared/failure';
import {
	pollUntil,
	type News,
	type Reading,
	type PollOptions,
} from '../../nodes/shared/async/pollUntil';
import type { NewsKind } from '../../nodes/shared/async/timetable';

/** A channel in the test's hand. */
function channel(live = true) {
	let tell: (news: NewsKind) => void = () => {};
	const news: News & { live: boolean; tell(word: NewsKind): void } = {
		live,
		isLive: () => news.live,
		start: (onNews) => (tell = onNews),
		tell: (word) => tell(word),
	};
	return news;
}

const never = () => new AbortController().signal;
const pending: Reading<string> = { done: false };
const done: Reading<string> = { done: true, value: 'the result' };
const passing = () => new Failure('unavailable', { transient: true });

/** Readings that find these one after another. */
const inTurn =
	(...found: Array<Reading<string> | Failure>) =>
	async () => {
		const next = found.shift()!;
		if (next instanceof Failure) throw next;
		return next;
	};

/** A reading that ends only by its signal, as a request that hangs. */
const hanging = (signal: AbortSignal) =>
	new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(passing())));

/** An account that may be asked again in `ms`. */
const restingFor = (ms: number) => {
	const freeAt = Date.now() + ms;
	return () => Math.max(0, freeAt - Date.now());
};

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/** Starts a wait and notes at which second each reading took place, and how it ended. */
function start({ read = async () => pending, ...options }: Partial<PollOptions<string>> = {}) {
	const began = Date.now();
	const seconds = () => (Date.now() - began) / 1000;
	const wait = {
		at: new Array<number>(),
		ended: undefined as { value?: string; error?: unknown; at: number } | undefined,
		pass: async (s: number) => await jest.advanceTimersByTimeAsync(s * 1000),
	};
	void pollUntil<string>({
		pollMs: 5000,
		signal: never(),
		...options,
		async read(signal, lastAt) {
			wait.at.push(seconds());
			return await read(signal, lastAt);
		},
	}).then(
		(value) => (wait.ended = { value, at: seconds() }),
		(error: unknown) => (wait.ended = { error, at: seconds() }),
	);
	return wait;
}

describe('when readings take place', () => {
	it.each<[title: string, at: number[], options: Partial<PollOptions<string>>]>([
		['every poll interval without a channel', [5, 10, 15, 20], {}],
		[
			'every poll interval on a channel that is not live',
			[5, 10, 15, 20],
			{ news: channel(false) },
		],
		['ever less often on a live channel', [5, 15, 35, 65, 95, 125], { news: channel() }],
		['no more often than asked for', [60, 120, 180], { news: channel(), pollMs: 60_000 }],
	])('%s', async (_, at, options) => {
		const wait = start(options);
		await wait.pass(at.at(-1)! + 1);
		expect(wait.at).toEqual(at);
	});

	it('at once first, where a task may be done already', async () => {
		const wait = start({ readFirst: true, read: async () => done });
		await wait.pass(0);
		expect(wait.at).toEqual([0]);
		expect(wait.ended).toEqual({ value: 'the result', at: 0 });
	});

	it('not at all while messages keep coming', async () => {
		const news = channel();
		const wait = start({ news });
		for (let count = 0; count < 20; count++) {
			await wait.pass(4);
			news.tell('progress');
		}
		expect(wait.at).toEqual([]);
	});

	it('at the constant pace again once the channel is lost', async () => {
		const news = channel();
		const wait = start({ news });
		await wait.pass(66);
		expect(wait.at).toEqual([5, 15, 35, 65]);
		news.live = false;
		news.tell('lost');
		await wait.pass(15);
		expect(wait.at.slice(4)).toEqual([71, 76, 81]);
	});

	it('not before the account may be asked again', async () => {
		let restMs = restingFor(12_000);
		const wait = start({ cooldownMs: () => restMs() });
		await wait.pass(16);
		expect(wait.at).toEqual([12]);
		restMs = restingFor(20_000);
		await wait.pass(20);
		expect(wait.at).toEqual([12, 36]);
	});

	it('not before the account may be asked again, even when the outcome is announced', async () => {
		const news = channel();
		const wait = start({ news, cooldownMs: restingFor(3000) });
		news.tell('outcome');
		await wait.pass(2.9);
		expect(wait.at).toEqual([]);
		await wait.pass(0.1);
		expect(wait.at).toEqual([3]);
	});
});

describe('when the outcome is announced', () => {
	it('it is read at once', async () => {
		const news = channel();
		const wait = start({ news, read: async () => done });
		await wait.pass(2);
		news.tell('outcome');
		await wait.pass(0);
		expect(wait.ended).toEqual({ value: 'the result', at: 2 });
	});

	it('it is read at once even when that was before the wait', async () => {
		const news: News = { isLive: () => true, start: (onNews) => onNews('outcome') };
		const wait = start({ news, read: async () => done });
		await wait.pass(0);
		expect(wait.ended).toEqual({ value: 'the result', at: 0 });
	});

	it('a reading that hangs is given up for a new one', async () => {
		const news = channel();
		let reads = 0;
		const wait = start({
			news,
			read: async (signal) => (++reads === 1 ? await hanging(signal) : done),
		});
		await wait.pass(6);
		expect(wait.at).toEqual([5]);
		news.tell('outcome');
		await wait.pass(0);
		expect(wait.ended).toEqual({ value: 'the result', at: 6 });
	});

	it('again and again, a reading under way is still given the time to answer', async () => {
		const news = channel();
		const wait = start({
			news,
			async read(signal) {
				await new Promise((resolve, reject) => {
					setTimeout(resolve, 150);
					signal.addEventListener('abort', () => reject(passing()));
				});
				return done;
			},
		});
		for (let count = 0; count < 20; count++) {
			news.tell('outcome');
			await wait.pass(0.1);
		}
		expect(wait.ended).toMatchObject({ value: 'the result' });
		expect(wait.ended!.at).toBeLessThan(0.5);
	});

	it('by a reading itself, the rest is read for soon', async () => {
		const soon: Reading<string> = { done: false, soon: true };
		const wait = start({ read: inTurn(soon, soon, soon, done) });
		await wait.pass(6);
		expect(wait.ended).toMatchObject({ value: 'the result' });
		expect(wait.ended!.at).toBeLessThan(5.5);
	});
});

describe('readings that fail', () => {
	it('are repeated while the failure may pass', async () => {
		const wait = start({ read: inTurn(passing(), passing(), passing(), done) });
		await wait.pass(20);
		expect(wait.ended).toEqual({ value: 'the result', at: 20 });
	});

	it.each([
		['final', new Failure('taskFailed', { text: 'no' })],
		['not one that is known', new TypeError('oops')],
	])('end the wait at once when the failure is %s', async (_, error) => {
		const wait = start({ read: async () => await Promise.reject(error) });
		await wait.pass(5);
		expect(wait.ended).toEqual({ error, at: 5 });
	});
});

describe('right before the deadline', () => {
	const within = (seconds: number, options: Partial<PollOptions<string>> = {}) =>
		start({ ...options, signal: startDeadline(seconds * 1000).signal });

	it('what is there by then comes out', async () => {
		const wait = within(30, { news: channel(), pollMs: 60_000, read: async () => done });
		await wait.pass(30);
		expect(wait.ended).toEqual({ value: 'the result', at: 28 });
	});

	it('the reading waits for no turn, even if it already did', async () => {
		const turn = async (_: unknown, __: number, signal: AbortSignal) =>
			await new Promise<boolean>((resolve) => {
				signal.addEventListener('abort', () => resolve(false), { once: true });
			});
		const wait = within(10, {
			news: channel(),
			pollMs: 1000,
			waitForTurn: turn,
			read: async () => done,
		});
		await wait.pass(10);
		expect(wait.ended).toEqual({ value: 'the result', at: 9 });
	});

	it('the reading is made even while messages keep coming', async () => {
		const news = channel();
		const wait = within(20, { news });
		for (let count = 0; count < 19; count++) {
			await wait.pass(1);
			news.tell('progress');
		}
		expect(wait.at).toEqual([18]);
	});

	it('every reading is told of it', async () => {
		const told: number[] = [];
		const began = steadyNow();
		const read = async (_: AbortSignal, lastAt: number) => {
			told.push((lastAt - began) / 1000);
			return pending;
		};
		await within(10, { pollMs: 5000, read }).pass(10);
		expect(told).toEqual([9, 9]);
	});

	it('a reading that began before is followed by one more', async () => {
		let reads = 0;
		const slowFirst = async () => {
			if (++reads === 1) await new Promise((resolve) => setTimeout(resolve, 4500));
			return reads === 1 ? pending : done;
		};
		const wait = within(10, { pollMs: 5000, read: slowFirst });
		await wait.pass(10);
		expect(wait.ended).toEqual({ value: 'the result', at: 9.5 });
	});

	it('the account is left alone as long as it asks for', async () => {
		const wait = within(20, { pollMs: 60_000, cooldownMs: restingFor(19_000) });
		await wait.pass(20);
		expect(wait.at).toEqual([19]);
	});
});

describe('deadline and cancel', () => {
	it('end a pause at once, with their reason', async () => {
		const wait = start({ signal: startDeadline(12_000).signal });
		await wait.pass(12);
		expect(wait.ended).toMatchObject({
			at: 12,
			error: { kind: 'timedOut', facts: { limitMs: 12_000 } },
		});
		// The last one is made right before the deadline.
		expect(wait.at).toEqual([5, 10, 10.8]);
	});

	it('end a reading that hangs at once', async () => {
		const cancel = new AbortController();
		const wait = start({ signal: cancel.signal, read: hanging });
		await wait.pass(6);
		cancel.abort(new Failure('canceled'));
		await wait.pass(0);
		expect(wait.ended).toMatchObject({ at: 6, error: { kind: 'canceled' } });
	});

	it('end the wait at once even when a reading ignores its signal, as a shared one does', async () => {
		const { signal } = startDeadline(7_000);
		const wait = start({ signal, read: async () => await new Promise(() => {}) });
		await wait.pass(8);
		expect(wait.ended).toMatchObject({ at: 7, error: { kind: 'timedOut' } });
	});

	it.each<[title: string, read: () => Promise<Reading<string>>]>([
		['leave no time for a reading', async () => done],
		['end it when a reading ignores them', async () => await new Promise(() => {})],
	])('that are over before the wait begins %s', async (_, read) => {
		const wait = start({ signal: AbortSignal.abort(), readFirst: true, read });
		await wait.pass(1);
		expect(wait.ended).toMatchObject({ at: 0, error: { kind: 'canceled' } });
	});

	it('win over a result that comes too late', async () => {
		const cancel = new AbortController();
		const wait = start({
			signal: cancel.signal,
			async read() {
				cancel.abort(new Failure('canceled'));
				return done;
			},
		});
		await wait.pass(5);
		expect(wait.ended).toMatchObject({ error: { kind: 'canceled' } });
	});

	it('end the wait while the account is to be left alone', async () => {
		const wait = start({ signal: startDeadline(3_000).signal, cooldownMs: () => 60_000 });
		await wait.pass(3);
		expect(wait.ended).toMatchObject({ at: 3, error: { kind: 'timedOut' } });
	});

	it('leave no timer behind once the wait is over', async () => {
		const deadline = startDeadline(3_600_000);
		const wait = start({ signal: deadline.signal, news: channel(), read: inTurn(pending, done) });
		await wait.pass(20);
		expect(wait.ended).toMatchObject({ value: 'the result' });
		deadline.stop();
		await wait.pass(0);
		expect(jest.getTimerCount()).toBe(0);
	});
});

describe('a deadline', () => {
	it('is over after its seconds, and says how many they were', async () => {
		const deadline = startDeadline(60_000);
		await jest.advanceTimersByTimeAsync(59_999);
		expect(deadline.signal.aborted).toBe(false);
		expect(remainingMs(deadline.signal)).toBe(1);
		await jest.advanceTimersByTimeAsync(1);
		expect(deadline.signal.reason).toMatchObject({ kind: 'timedOut', facts: { limitMs: 60_000 } });
		expect(remainingMs(deadline.signal)).toBe(0);
	});

	it('that depends on another one is over with the sooner', () => {
		const sooner = startDeadline(20_000);
		expect(remainingMs(startDeadline(60_000, sooner.signal).signal)).toBe(20_000);
		expect(remainingMs(startDeadline(5_000, sooner.signal).signal)).toBe(5000);
		expect(remainingMs(never())).toBe(Infinity);
	});

	it('of more seconds than a timer can hold does not end at once', async () => {
		const deadline = startDeadline(1e12);
		await jest.advanceTimersByTimeAsync(86_400_000);
		expect(deadline.signal.aborted).toBe(false);
		deadline.stop();
	});

	it('ends with whatever it depends on, also when that is over already', () => {
		const cancel = new AbortController();
		const other = startDeadline(60_000, undefined, cancel.signal);
		cancel.abort();
		expect(other.signal.reason).toMatchObject({ kind: 'canceled' });
		expect(startDeadline(60_000, cancel.signal).signal.aborted).toBe(true);
	});

	it('never fires once stopped', async () => {
		const cancel = new AbortController();
		const deadline = startDeadline(5_000, cancel.signal);
		deadline.stop();
		await jest.advanceTimersByTimeAsync(10_000);
		cancel.abort();
		expect(deadline.signal.aborted).toBe(false);
		expect(jest.getTimerCount()).toBe(0);
	});
});

it('a wait goes on reading when the clock is set back', async () => {
	const wait = start();
	await wait.pass(5);
	jest.setSystemTime(Date.now() - 10_800_000);
	// One pause may begin anew.
	await wait.pass(10);
	expect(wait.at.length).toBe(2);
	await wait.pass(10);
	expect(wait.at.length).toBe(4);
});
