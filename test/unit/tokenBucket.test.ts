import { TokenBucket } from '../../nodes/shared/async/tokenBucket';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

const never = () => new AbortController().signal;

/** Takes `count` turns at once and notes after how many seconds each was given. */
function takeMany(turns: TokenBucket, count: number, ownMs = 60_000) {
	const began = Date.now();
	const given: number[] = [];
	for (let n = 0; n < count; n++) {
		void turns.take(never(), ownMs).then((isMine) => {
			if (isMine) given.push((Date.now() - began) / 1000);
		});
	}
	return given;
}

describe('turns', () => {
	it('are given at once up to a number, then at a rate', async () => {
		const given = takeMany(new TokenBucket(3, () => 2000), 6);
		await jest.advanceTimersByTimeAsync(10_000);
		expect(given).toEqual([0, 0, 0, 2, 4, 6]);
	});

	it('are available again after a while, though never more than at first', async () => {
		const turns = new TokenBucket(3, () => 2000);
		takeMany(turns, 3);
		await jest.advanceTimersByTimeAsync(60_000);
		const given = takeMany(turns, 5);
		await jest.advanceTimersByTimeAsync(10_000);
		expect(given).toEqual([0, 0, 0, 2, 4]);
	});

	it('are given in the order they were asked for', async () => {
		const turns = new TokenBucket(1, () => 1000);
		const order: string[] = [];
		for (const name of ['a', 'b', 'c']) {
			void turns.take(never(), 60_000).then(() => order.push(name));
		}
		await jest.advanceTimersByTimeAsync(5000);
		expect(order).toEqual(['a', 'b', 'c']);
	});

	it('are not used up by one who leaves', async () => {
		const turns = new TokenBucket(1, () => 1000);
		takeMany(turns, 1);
		const leaving = new AbortController();
		const left = turns.take(leaving.signal, 60_000);
		const given = takeMany(turns, 1);
		leaving.abort();
		expect(await left).toBe(false);
		await jest.advanceTimersByTimeAsync(5000);
		expect(given).toEqual([1]);
	});

	it('leave no timer behind when nobody waits any more', async () => {
		const turns = new TokenBucket(1, () => 1000);
		takeMany(turns, 1);
		const leaving = new AbortController();
		const left = turns.take(leaving.signal, 60_000);
		await jest.advanceTimersByTimeAsync(1);
		leaving.abort();
		await left;
		await jest.advanceTimersByTimeAsync(0);
		expect(jest.getTimerCount()).toBe(0);
		expect(await turns.take(leaving.signal, 60_000)).toBe(false);
	});

	it('come as often as one alone would take them, when that is more often', async () => {
		const given = takeMany(new TokenBucket(1, () => 2000), 4, 1000);
		await jest.advanceTimersByTimeAsync(10_000);
		expect(given).toEqual([0, 1, 2, 3]);
	});

	it('come at the same rate after the clock was set back', async () => {
		const turns = new TokenBucket(3, () => 2000);
		takeMany(turns, 3);
		jest.setSystemTime(Date.now() - 10_800_000);
		const given = takeMany(turns, 2);
		await jest.advanceTimersByTimeAsync(10_000);
		expect(given).toEqual([2, 4]);
	});
});
