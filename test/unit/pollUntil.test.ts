import { startDeadline, steadyNow } from '../../nodes/shared/async/deadline';
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
const soon: Reading<string> = { done: false, soon: true };
const done: Reading<string> = { done: true, value: 'the result' };
const found = async () => done;
/** A reading that takes so many milliseconds, unless its signal ends it. */
const slowly = (ms: number) => async (signal: AbortSignal) =>
	await new Promise<Reading<string>>((resolve, reject) => {
		setTimeout(() => resolve(done), ms);
		signal.addEventListener('abort', () => reject(passing()));
	});
const unanswered = async () => await new Promise<never>(() => {});
const passing = () => new Failure('unavailable', { transient: true });
/** `seconds`: until the deadline. */
type Options = Partial<PollOptions<string>> & { seconds?: number };

/** Readings that find these one after another. */
const inTurn =
	(...found: Array<Reading<string> | Failure>) =>
	async () => {
		const next = found.shift()!;
		if (next instanceof Failure) throw next;
		return next;
	};

/** An account that may be asked again in `ms`. */
const restingFor = (ms: number) => {
	const freeAt = Date.now() + ms;
	return () => Math.max(0, freeAt - Date.now());
};

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/** Starts a wait and notes at which second each reading took place, and how it ended. */
function start({ read = async () => pending, seconds: limit, ...options }: Options = {}) {
	const began = Date.now();
	const seconds = () => (Date.now() - began) / 1000;
	const wait = {
		at: new Array<number>(),
		ended: undefined as { value?: string; error?: unknown; at: number } | undefined,
		pass: async (s: number) => await jest.advanceTimersByTimeAsync(s * 1000),
	};
	void pollUntil<string>({
		pollMs: 5000,
		cooldownMs: () => 0,
		signal: limit === undefined ? never() : startDeadline(limit * 1000).signal,
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
	it('ever less often on a live channel, and at the constant pace again once it is lost', async () => {
		const news = channel();
		const wait = start({ news });
		await wait.pass(66);
		expect(wait.at).toEqual([5, 15, 35, 65]);
		news.live = false;
		news.tell('lost');
		await wait.pass(15);
		expect(wait.at.slice(4)).toEqual([71, 76, 81]);
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

describe('a wait ends with its result', () => {
	/** Nobody's turn comes. */
	const waitForTurn: PollOptions<string>['waitForTurn'] = async (_, __, signal) =>
		await new Promise((resolve) => {
			signal.addEventListener('abort', () => resolve(false), { once: true });
		});
	const announced: News = { isLive: () => true, start: (tell) => tell('outcome') };
	const quick = inTurn(pending, done);
	let reads = 0;
	const slowFirst = async () => {
		if (++reads === 1) await new Promise((resolve) => setTimeout(resolve, 4500));
		return await quick();
	};

	it.each<[title: string, at: number, options: Options]>([
		['at once where it may be there already', 0, { readFirst: true, read: found }],
		['at once where it was announced before the wait', 0, { news: announced, read: found }],
		['soon where a reading announced it', 5.35, { read: inTurn(soon, soon, soon, done) }],
		['although readings fail, if that may pass', 15, { read: inTurn(passing(), passing(), done) }],
		['right before the deadline', 28, { seconds: 30, pollMs: 60_000, read: found }],
		['then, though no turn has come', 9, { seconds: 10, waitForTurn, read: found }],
		['then by one more reading, after a slow one', 9.5, { seconds: 10, read: slowFirst }],
	])('%s', async (_, at, options) => {
		const wait = start(options);
		await wait.pass(at);
		expect(wait.ended).toEqual({ value: 'the result', at });
	});

	it('as soon as that is announced', async () => {
		const news = channel();
		const wait = start({ news, read: found });
		await wait.pass(2);
		news.tell('outcome');
		await wait.pass(0);
		expect(wait.ended).toEqual({ value: 'the result', at: 2 });
	});
});

it('an outcome announced again and again leaves a reading under way the time to answer', async () => {
	const news = channel();
	const wait = start({ news, read: slowly(150) });
	for (let count = 0; count < 20; count++) {
		news.tell('outcome');
		await wait.pass(0.1);
	}
	expect(wait.ended).toMatchObject({ value: 'the result' });
	expect(wait.ended!.at).toBeLessThan(0.5);
});

describe('right before the deadline', () => {
	it('every reading is told of it', async () => {
		const told: number[] = [];
		const began = steadyNow();
		const read = async (_: AbortSignal, lastAt: number) => {
			told.push((lastAt - began) / 1000);
			return pending;
		};
		await start({ seconds: 10, read }).pass(10);
		expect(told).toEqual([9, 9]);
	});

	it('the account is left alone as long as it asks for', async () => {
		const cooldownMs = restingFor(19_000);
		const wait = start({ seconds: 20, pollMs: 60_000, cooldownMs });
		await wait.pass(20);
		expect(wait.at).toEqual([19]);
	});
});

describe('deadline and cancel', () => {
	it('end a pause at once, with their reason', async () => {
		const wait = start({ seconds: 12 });
		await wait.pass(12);
		const error = { kind: 'timedOut', facts: { limitMs: 12_000 } };
		expect(wait.ended).toMatchObject({ at: 12, error });
		// The last one is made right before the deadline.
		expect(wait.at).toEqual([5, 10, 10.8]);
	});

	const over = AbortSignal.abort();
	it.each<[title: string, at: number, kind: string, options: Options]>([
		['although a reading hangs', 7, 'timedOut', { seconds: 7, read: slowly(60_000) }],
		['although a reading ignores its signal', 7, 'timedOut', { seconds: 7, read: unanswered }],
		['while the account rests', 3, 'timedOut', { seconds: 3, cooldownMs: () => 60_000 }],
		['before a reading', 0, 'canceled', { signal: over, readFirst: true, read: found }],
		['although it hangs', 0, 'canceled', { signal: over, readFirst: true, read: unanswered }],
	])('end the wait %s', async (_, at, kind, options) => {
		const wait = start(options);
		await wait.pass(at + 1);
		expect(wait.ended).toMatchObject({ at, error: { kind } });
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

it.each([
	['final', new Failure('taskFailed', { text: 'no' })],
	['not one that is known', new TypeError('oops')],
])('a reading ends the wait at once when its failure is %s', async (_, error) => {
	const wait = start({ read: async () => await Promise.reject(error) });
	await wait.pass(5);
	expect(wait.ended).toEqual({ error, at: 5 });
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
