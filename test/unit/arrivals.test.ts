import { Arrivals } from '../../nodes/MediaGenerationTrigger/watch/arrivals';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

it('a flood of old tasks is released at less than one a second, even when few are left', async () => {
	const closing = new AbortController();
	let released = 0;
	const arrivals = new Arrivals(closing.signal, {
		since: () => -Infinity,
		hasRoom: () => true,
		letGo: () => released++,
		onFlood() {},
		onFull() {},
	});
	for (let n = 0; n < 300; n++) arrivals.add(`old-${n}`, false);
	for (let minute = 1; minute <= 15; minute++) {
		await jest.advanceTimersByTimeAsync(60_000);
		expect(released).toBeLessThan(60 * minute);
	}
	expect(released).toBe(300);
	closing.abort();
});
