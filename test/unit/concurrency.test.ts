import { forEachConcurrently, Concurrency } from '../../nodes/MediaGeneration/run/concurrency';
import { Failure } from '../../nodes/shared/failure';
import { Pace } from '../../nodes/shared/pace/pace';

/** The limit of a run whose account nobody knows anything about, unless another run has. */
const limiter = (concurrency: number, pace = new Pace()) => {
	const made = new Concurrency(pace, new AbortController().signal);
	made.configure(concurrency);
	return made;
};
const times = (count: number, work: () => void) => {
	for (let index = 0; index < count; index++) work();
};
const isAlive = async () => {};
/** The service refuses a create call while `underWay` are, sent after everything so far. */
const refuse = (pace: Pace, underWay: number) => {
	const ends = Array.from({ length: underWay + 1 }, () => pace.markUnderWay());
	jest.setSystemTime(Date.now() + 10);
	pace.recordRefusal('create', Date.now() - 1, new Failure('rateLimited'));
	for (const end of ends) end();
};

beforeEach(() => jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick'] }));
afterEach(() => jest.useRealTimers());

/** Lets everything that is ready run. */
const settle = async () => await new Promise((resolve) => setImmediate(resolve));

/** Work on items that goes on until the test ends it. */
function works() {
	const open = new Map<number, () => void>();
	const started: number[] = [];
	const work = async (index: number) => {
		started.push(index);
		await new Promise<void>((end) => open.set(index, end));
		return open.delete(index);
	};
	/** Ends the work on these, and lets what is ready run. */
	const end = async (...indexes: number[]) => {
		for (const index of indexes) open.get(index)!();
		await settle();
	};
	return { open, started, work, end };
}

describe('automatic concurrency', () => {
	it('begins with 10 and grows by one with each accepted create call, up to 100', async () => {
		const automatic = limiter(0);
		expect(automatic.limit).toBe(10);
		automatic.recordAccepted(isAlive);
		automatic.recordSuccess();
		expect(automatic.limit).toBe(11);
		times(200, () => automatic.recordAccepted(isAlive));
		expect(automatic.limit).toBe(100);
	});

	it('doubles beyond 20 once what was begun last is known to be alive', async () => {
		const automatic = limiter(0);
		let markAlive = () => {};
		const alive = new Promise<void>((resolve) => (markAlive = resolve));
		times(50, () => automatic.recordAccepted(async () => await alive));
		expect(automatic.limit).toBe(20);
		markAlive();
		await settle();
		expect(automatic.limit).toBe(60);
	});

	it('is halved where that has failed because too much is under way, and never grows so far again', async () => {
		const pace = new Pace();
		const automatic = limiter(0, pace);
		const ends = Array.from({ length: 20 }, () => pace.markUnderWay());
		const error = new Failure('taskFailed', { text: 'Too many concurrent tasks' });
		const began = Date.now();
		jest.setSystemTime(began + 10);
		times(10, () => automatic.recordAccepted(async () => await Promise.reject(error)));
		await settle();
		expect(automatic.limit).toBe(10);
		for (const end of ends.splice(5)) {
			pace.noteFailed(error, began, 1);
			end();
		}
		expect(automatic.limit).toBe(5);
		times(40, () => automatic.recordSuccess());
		expect(automatic.limit).toBe(5);
	});

	it('grows with each success where nothing is created', () => {
		const automatic = limiter(0);
		automatic.recordSuccess();
		expect(automatic.limit).toBe(11);
	});

	it('is halved by each refusal, never below one, and grows again by successes', () => {
		const pace = new Pace();
		const automatic = limiter(0, pace);
		refuse(pace, 9);
		expect(automatic.limit).toBe(5);
		times(11, () => refuse(pace, 9));
		expect(automatic.limit).toBe(1);
		times(3, () => automatic.recordSuccess());
		expect(automatic.limit).toBe(4);
	});
});

describe('a given concurrency', () => {
	it.each([1, 500])('of %i holds from the start and is never exceeded', (concurrency) => {
		const fixed = limiter(concurrency);
		expect(fixed.limit).toBe(concurrency);
		times(200, () => fixed.recordAccepted(isAlive));
		expect(fixed.limit).toBe(concurrency);
	});

	it('is lowered while the service refuses, also by what other executions have learnt', () => {
		const pace = new Pace();
		refuse(pace, 19);
		const other = limiter(20, pace);
		expect(other.limit).toBe(10);
		times(50, () => other.recordSuccess());
		expect(other.limit).toBe(20);
	});
});

describe('work on many items', () => {
	it('starts in order, as many at once as allowed, and ends with the last', async () => {
		const { work, started, end } = works();
		let over = false;
		void forEachConcurrently(4, limiter(2), work).then(() => (over = true));
		await settle();
		expect(started).toEqual([0, 1]);
		await end(1);
		expect(started).toEqual([0, 1, 2]);
		await end(0, 2);
		expect(started).toEqual([0, 1, 2, 3]);
		expect(over).toBe(false);
		await end(3);
		expect(over).toBe(true);
	});

	it('takes up more as the limit grows, and less once the service refuses', async () => {
		const { work, started, open, end } = works();
		const pace = new Pace();
		const over = forEachConcurrently(100, limiter(0, pace), work);
		await settle();
		expect(open.size).toBe(10);
		await end(0);
		expect(open.size).toBe(11);
		refuse(pace, 10);
		await end(1, 2, 3);
		// 11 of 12 were open and 3 ended: the limit of 5, grown to 8, lets none in.
		expect(started.length).toBe(12);
		while (open.size > 0) await end(...open.keys());
		await over;
		expect(started).toEqual(Array.from({ length: 100 }, (_, index) => index));
	});

	it('takes up more as soon as a create call is accepted, not only when an item is done', async () => {
		const { work, open, end } = works();
		const automatic = limiter(0);
		const over = forEachConcurrently(100, automatic, work);
		times(5, () => automatic.recordAccepted(isAlive));
		await settle();
		expect(open.size).toBe(15);
		for (let round = 0; round < 3; round++) {
			times(70, () => automatic.recordAccepted(isAlive));
			await settle();
		}
		expect(open.size).toBe(100);
		await end(...open.keys());
		await over;
	});

	it('with a hundred thousand items that are done at once does not exhaust the stack', async () => {
		let count = 0;
		await forEachConcurrently(100_000, limiter(100), async () => {
			count++;
			return true;
		});
		expect(count).toBe(100_000);
	});
});

describe('items in parts', () => {
	it('as many parts at once as allowed, of one item or of several, the first item first', async () => {
		const concurrency = limiter(3);
		const ends = new Map<string, () => void>();
		const joined: number[] = [];
		const over = forEachConcurrently(3, concurrency, async (item) => {
			const workOn = async (part: number) => {
				await new Promise<void>((resolve) => ends.set(`${item}.${part}`, resolve));
				return true;
			};
			await forEachConcurrently([5, 2, 2][item]!, concurrency, workOn, 'part');
			return joined.push(item) > 0;
		});
		const end = async (...names: string[]) => {
			for (const name of names) {
				ends.get(name)!();
				ends.delete(name);
				await settle();
			}
			await settle();
			return [...ends.keys()];
		};
		expect(await end()).toEqual(['0.0', '0.1', '0.2']);
		expect(await end('0.1', '0.0')).toEqual(['0.2', '0.3', '0.4']);
		expect(await end('0.3')).toEqual(['0.2', '0.4', '1.0']);
		expect(await end('0.2', '0.4')).toEqual(['1.0', '1.1', '2.0']);
		expect(joined).toEqual([0]);
		await end('1.0', '1.1', '2.0', '2.1');
		await over;
		expect(joined).toEqual([0, 1, 2]);
	});

	it.each([1, 7])('a hundred items of as many parts, %i at once, all end', async (atOnce) => {
		let count = 0;
		const concurrency = limiter(atOnce);
		await forEachConcurrently(100, concurrency, async () => {
			await forEachConcurrently(100, concurrency, async () => ++count > 0, 'part');
			return true;
		});
		expect(count).toBe(10_000);
	});
});
