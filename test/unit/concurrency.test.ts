import { Concurrency } from '../../nodes/MediaGeneration/run/concurrency';
import { Pace } from '../../nodes/shared/pace/pace';

/** The limit of a run whose account nobody knows anything about. */
const limiter = (concurrency: number) => {
	const made = new Concurrency(new Pace());
	made.configure(concurrency);
	return made;
};
const times = (count: number, work: () => void) => {
	for (let index = 0; index < count; index++) work();
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

describe('a given concurrency', () => {
	it.each([1, 500])('of %i holds from the start and is never exceeded', (concurrency) => {
		const fixed = limiter(concurrency);
		expect(fixed.limit).toBe(concurrency);
		times(200, () => fixed.recordAccepted());
		expect(fixed.limit).toBe(concurrency);
	});
});

describe('work on many items', () => {
	it('starts in order, as many at once as allowed, and ends with the last', async () => {
		const { work, started, end } = works();
		let over = false;
		void limiter(2)
			.forEach(4, work)
			.then(() => (over = true));
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

	it('with a hundred thousand items that are done at once does not exhaust the stack', async () => {
		let count = 0;
		await limiter(100).forEach(100_000, async () => {
			count++;
			return true;
		});
		expect(count).toBe(100_000);
	});
});

describe('items in parts', () => {
	it.each([1, 7])('a hundred items of as many parts, %i at once, all end', async (atOnce) => {
		let count = 0;
		const concurrency = limiter(atOnce);
		await concurrency.forEach(100, async () => {
			await concurrency.forEach(100, async () => ++count > 0, 'part');
			return true;
		});
		expect(count).toBe(10_000);
	});
});
