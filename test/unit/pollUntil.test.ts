import { remainingMs, startDeadline } from '../../nodes/shared/async/deadline';
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

/** A reading that ends only by its signal, as a request that hangs. */
const hanging = (signal: AbortSignal) =>
	new Promise<never>((_, reject) => {
		signal.addEventListener('abort', () => reject(new Failure('noAnswer', { transient: true })));
	});

beforeEach(() => {
	jest.useFakeTimers();
});

afterEach(() => {
	jest.useRealTimers();
});

/** Starts a wait and writes down at which second each reading took place. */
function start(options: Partial<PollOptions<string>> = {}) {
	const began = Date.now();
	const at: number[] = [];
	let ended: { value?: string; error?: unknown; at: number } | undefined;
	const seconds = () => (Date.now() - began) / 1000;
	const read = options.read ?? (async () => pending);
	const over = pollUntil<string>({
		pollMs: 5000,
		signal: never(),
		...options,
		async read(signal) {
			at.push(seconds());
			return await read(signal);
		},
	}).then(
		(value) => (ended = { value, at: seconds() }),
		(error: unknown) => (ended = { error, at: seconds() }),
	);
	return {
		at,
		over,
		get ended() {
			return ended;
		},
		pass: async (s: number) => await jest.advanceTimersByTimeAsync(s * 1000),
	};
}

/** Reads pending until the given reading (1 for the first). */
const doneAt = (count: number) => {
	let reads = 0;
	return async () => (++reads >= count ? done : pending);
};

describe('when readings take place', () => {
	it('every poll interval without a channel', async () => {
		const wait = start();
		await wait.pass(21);
		expect(wait.at).toEqual([5, 10, 15, 20]);
	});

	it('at once first, where a task may be done already', async () => {
		const wait = start({ readFirst: true, read: async () => done });
		await wait.over;
		expect(wait.at).toEqual([0]);
		expect(wait.ended).toEqual({ value: 'the result', at: 0 });
	});

	it('ever less often on a live channel, up to every 30 s', async () => {
		const wait = start({ news: channel() });
		await wait.pass(130);
		expect(wait.at).toEqual([5, 15, 35, 65, 95, 125]);
	});

	it('about twice a minute in a long wait on a live channel', async () => {
		const wait = start({ news: channel() });
		await wait.pass(600);
		const before = wait.at.length;
		await wait.pass(3600);
		expect(wait.at.length - before).toBeLessThanOrEqual(120);
	});

	it('never more often than the poll interval, also when that is longer than 30 s', async () => {
		const wait = start({ news: channel(), pollMs: 60_000 });
		await wait.pass(185);
		expect(wait.at).toEqual([60, 120, 180]);
	});

	it('constantly when the channel is not live', async () => {
		const wait = start({ news: channel(false) });
		await wait.pass(21);
		expect(wait.at).toEqual([5, 10, 15, 20]);
	});

	it('soon again after one that failed, when the one before found the outcome to be imminent', async () => {
		let reads = 0;
		const answers: Array<() => Reading<string>> = [
			() => ({ done: false, soon: true }),
			() => {
				throw passing();
			},
			() => done,
		];
		// Turns are rare: a reading that needs none is the only one that can be soon.
		const turn = async () =>
			await new Promise<boolean>((resolve) => setTimeout(() => resolve(true), 30_000));
		const wait = start({
			news: channel(),
			waitForTurn: turn,
			read: async () => answers[reads++]!(),
		});
		await wait.pass(37);
		expect(wait.ended).toMatchObject({ value: 'the result' });
	});

	it('rarely again when an imminent outcome can no longer be read', async () => {
		let reads = 0;
		const wait = start({
			news: channel(),
			read: async () => {
				if (reads++ === 0) return { done: false, soon: true };
				throw passing();
			},
		});
		await wait.pass(60);
		const before = wait.at.length;
		await wait.pass(600);
		expect(wait.at.length - before).toBeLessThanOrEqual(22);
	});

	it('anew from the poll interval with each message', async () => {
		const news = channel();
		const wait = start({ news });
		await wait.pass(40);
		expect(wait.at).toEqual([5, 15, 35]);
		news.tell('progress');
		await wait.pass(20);
		expect(wait.at).toEqual([5, 15, 35, 45, 55]);
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
		let freeAt = Date.now() + 12_000;
		const wait = start({ cooldownMs: () => Math.max(0, freeAt - Date.now()) });
		await wait.pass(16);
		expect(wait.at).toEqual([12]);
		freeAt = Date.now() + 20_000;
		await wait.pass(20);
		expect(wait.at).toEqual([12, 36]);
	});

	it('not before the account may be asked again, even when the outcome is announced', async () => {
		const news = channel();
		const freeAt = Date.now() + 3000;
		const wait = start({ news, cooldownMs: () => Math.max(0, freeAt - Date.now()) });
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
		await wait.over;
		expect(wait.ended).toEqual({ value: 'the result', at: 2 });
	});

	it('it is read at once also when the announcement came before the wait', async () => {
		const news: News = { isLive: () => true, start: (onNews) => onNews('outcome') };
		const wait = start({ news, read: async () => done });
		await wait.over;
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
		await wait.over;
		expect(wait.ended).toEqual({ value: 'the result', at: 6 });
	});

	it('and the reading is a moment too early, it is read again in quick succession', async () => {
		const news = channel();
		const wait = start({ news, read: doneAt(4) });
		news.tell('outcome');
		await wait.pass(1);
		expect(wait.ended).toMatchObject({ value: 'the result' });
		expect(wait.ended!.at).toBeLessThan(0.5);
	});

	it('and never comes, readings return to their usual pace', async () => {
		const news = channel();
		const wait = start({ news });
		news.tell('outcome');
		await wait.pass(20);
		const before = wait.at.length;
		expect(before).toBeLessThanOrEqual(11);
		await wait.pass(60);
		expect(wait.at.length - before).toBeLessThanOrEqual(4);
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
		let reads = 0;
		const wait = start({
			read: async () => (++reads < 4 ? { done: false, soon: true } : done),
		});
		await wait.pass(6);
		expect(wait.ended).toMatchObject({ value: 'the result' });
		expect(wait.ended!.at).toBeLessThan(5.5);
	});

	it('by a reading itself for a long time, the service is asked sparingly', async () => {
		const wait = start({ read: async () => ({ done: false, soon: true }) });
		await wait.pass(65);
		expect(wait.at.length).toBeLessThanOrEqual(30);
	});
});

describe('readings that fail', () => {
	it('are repeated while the failure may pass', async () => {
		let reads = 0;
		const wait = start({
			async read() {
				if (++reads < 4) throw passing();
				return done;
			},
		});
		await wait.pass(20);
		expect(wait.ended).toEqual({ value: 'the result', at: 20 });
	});

	it('end the wait at once when the failure is final', async () => {
		const failure = new Failure('taskFailed', { text: 'no' });
		const wait = start({
			async read() {
				throw failure;
			},
		});
		await wait.pass(5);
		expect(wait.ended).toEqual({ error: failure, at: 5 });
	});

	it('end the wait when the failure is none that is known', async () => {
		const wait = start({
			async read() {
				throw new TypeError('oops');
			},
		});
		await wait.pass(5);
		expect(wait.ended?.error).toBeInstanceOf(TypeError);
	});
});

describe('right before the deadline', () => {
	const within = (seconds: number, options: Partial<PollOptions<string>> = {}) =>
		start({ ...options, signal: startDeadline(seconds * 1000).signal });

	it.each([
		['of a second', 1, 0.9],
		['of five seconds', 5, 4.5],
		['of a minute', 60, 58],
		['of two hours', 7200, 7198],
	])('a wait %s reads once more', async (_, seconds, last) => {
		const wait = within(seconds, { news: channel(), pollMs: 3_600_000 });
		await wait.pass(seconds);
		expect(wait.at.at(-1)).toBe(last);
		expect(wait.ended).toMatchObject({ at: seconds, error: { kind: 'timedOut' } });
	});

	it('what is there by then comes out', async () => {
		const wait = within(30, { news: channel(), pollMs: 60_000, read: async () => done });
		await wait.pass(30);
		expect(wait.ended).toEqual({ value: 'the result', at: 28 });
	});

	it('the reading waits for no turn, also when it already did', async () => {
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

	it('the reading is made also while messages keep coming', async () => {
		const news = channel();
		const wait = within(20, { news });
		for (let count = 0; count < 19; count++) {
			await wait.pass(1);
			news.tell('progress');
		}
		expect(wait.at).toEqual([18]);
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
		const freeAt = Date.now() + 19_000;
		const holdMs = () => Math.max(0, freeAt - Date.now());
		const wait = within(20, { pollMs: 60_000, cooldownMs: holdMs });
		await wait.pass(20);
		expect(wait.at).toEqual([19]);
	});

	it('no timer is left behind by a wait that ends before', async () => {
		const deadline = startDeadline(3_600_000);
		const wait = start({ signal: deadline.signal, read: async () => done });
		await wait.pass(5);
		deadline.stop();
		await wait.pass(0);
		expect(jest.getTimerCount()).toBe(0);
	});
});

describe('deadline and cancel', () => {
	it('end a pause at once, with their reason', async () => {
		const deadline = startDeadline(12_000);
		const wait = start({ signal: deadline.signal });
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

	it('end the wait at once also when a reading ignores its signal, as a shared look does', async () => {
		const deadline = startDeadline(7_000);
		const wait = start({ signal: deadline.signal, read: async () => await new Promise(() => {}) });
		await wait.pass(8);
		expect(wait.ended).toMatchObject({ at: 7, error: { kind: 'timedOut' } });
	});

	it('that are over before the wait begins leave no time for a reading', async () => {
		const wait = start({ signal: AbortSignal.abort(), readFirst: true, read: async () => done });
		await wait.pass(1);
		expect(wait.ended).toMatchObject({ at: 0, error: { kind: 'canceled' } });
	});

	it('that are over before the wait begins also end it when a reading ignores them', async () => {
		const read = async () => await new Promise<never>(() => {});
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
		const deadline = startDeadline(3_000);
		const wait = start({ signal: deadline.signal, cooldownMs: () => 60_000 });
		await wait.pass(3);
		expect(wait.ended).toMatchObject({ at: 3, error: { kind: 'timedOut' } });
	});

	it('of n8n without a reason of ours counts as canceled', async () => {
		const cancel = new AbortController();
		const wait = start({ signal: cancel.signal });
		cancel.abort();
		await wait.pass(0);
		expect(wait.ended).toMatchObject({ error: { kind: 'canceled' } });
	});

	it('leave no timer behind once the wait is over', async () => {
		const deadline = startDeadline(3_600_000);
		const wait = start({ signal: deadline.signal, news: channel(), read: doneAt(2) });
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
