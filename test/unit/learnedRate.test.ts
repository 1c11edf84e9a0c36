import { LearnedRate } from '../../nodes/shared/pace/learnedRate';

/** Sends and has accepted one request each `gapMs` from `from` on; returns when the last one went. */
function send(rate: LearnedRate, count: number, gapMs: number, from: number): number {
	for (let n = 0; n < count; n++) {
		rate.sent(from + n * gapMs);
		rate.accepted();
	}
	return from + (count - 1) * gapMs;
}

describe('the rate of an account', () => {
	it('is without limit until the first refusal', () => {
		const rate = new LearnedRate();
		send(rate, 1000, 1, 1000);
		expect(rate.gapMs).toBe(0);
	});

	it('is half of what was in use when it is refused', () => {
		const rate = new LearnedRate();
		const now = send(rate, 200, 100, 1000);
		rate.refused(now);
		expect(rate.gapMs).toBeGreaterThan(180);
		expect(rate.gapMs).toBeLessThan(220);
	});

	it('is not slowed to a crawl by one refusal of one request', () => {
		const rate = new LearnedRate();
		rate.sent(1000);
		rate.refused(31_000);
		expect(rate.gapMs).toBe(1000);
	});

	it('is never less than what was accepted between two refusals', () => {
		const rate = new LearnedRate();
		rate.refused(1000);
		const now = send(rate, 10, 500, 1500);
		rate.refused(now);
		expect(rate.gapMs).toBeCloseTo((now - 1000) / 10);
	});

	it('is not lowered by one more refusal before anything was accepted', () => {
		const rate = new LearnedRate();
		rate.refused(1000);
		rate.refused(9000);
		expect(rate.gapMs).toBe(1000);
	});

	it.each([
		[7, 3],
		[2, 5],
	])('grows again when a lower one does not help: %d pass, %d times', (passing, times) => {
		const rate = new LearnedRate();
		let now = 1000;
		const refuseAfter = (accepted: number, gapMs: number) => {
			now = send(rate, accepted, gapMs, now + gapMs);
			rate.refused(now);
			return rate.gapMs;
		};
		const slower = Array.from({ length: times }, (_, n) => refuseAfter(passing, 200 * 2 ** n));
		const slowest = slower.at(-1)!;
		const faster = [0, 1, 2].map(() => refuseAfter(passing, 3200));
		expect(faster).toEqual([1, 2, 3].map((n) => slowest / 2 ** n));
	});

	it('is lowered again when a higher one is refused more', () => {
		const rate = new LearnedRate();
		let now = 1000;
		const refuseAfter = (accepted: number) => {
			now = send(rate, accepted, 500, now + 500);
			rate.refused(now);
			return rate.gapMs;
		};
		for (let n = 0; n < 5; n++) refuseAfter(5);
		const gaps = [0, 1, 2, 3].map(() => refuseAfter(1));
		expect(Math.max(...gaps)).toBe(gaps.at(-1));
	});

	it('grows by and by with what is accepted, until it is without limit again', () => {
		const rate = new LearnedRate();
		rate.refused(1000);
		const now = send(rate, 10, 1000, 2000);
		expect(rate.gapMs).toBe(1000);
		send(rate, 8, 1000, now);
		expect(rate.gapMs).toBeCloseTo(1000 / 1.1 ** 8);
		send(rate, 40, 100, now + 8000);
		expect(rate.gapMs).toBe(0);
	});
});
