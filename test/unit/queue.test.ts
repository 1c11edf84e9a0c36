import { Semaphore } from '../../nodes/shared/async/queue';

const never = new AbortController().signal;
const settle = async () => await new Promise((resolve) => setImmediate(resolve));

/** Reserves, and tells whether it has got its turn. */
function ask(budget: Semaphore, bytes: number, signal = never) {
	const asked = { entered: false, release: () => {}, error: undefined as unknown };
	budget.acquire(bytes, signal).then(
		(release) => Object.assign(asked, { entered: true, release }),
		(error: unknown) => Object.assign(asked, { error }),
	);
	return asked;
}

describe('the bytes of request bodies in memory', () => {
	it('may be more than the limit for one that comes alone, and it is not overtaken', async () => {
		const budget = new Semaphore(100);
		const small = ask(budget, 10);
		const large = ask(budget, 500);
		const later = ask(budget, 10);
		await settle();
		expect([large.entered, later.entered]).toEqual([false, false]);
		small.release();
		await settle();
		expect([large.entered, later.entered]).toEqual([true, false]);
		large.release();
		await settle();
		expect(later.entered).toBe(true);
	});
});
