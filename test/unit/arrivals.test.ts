import { Arrivals } from '../../nodes/MediaGenerationTrigger/tasks/arrivals';

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

it('an old task among new ones slows a flood down again', async () => {
	const closing = new AbortController();
	let released = 0;
	const arrivals = new Arrivals(closing.signal, {
		since: () => -Infinity,
		hasRoom: () => true,
		letGo: () => arrivals.found(++released !== 63),
		onFlood() {},
		onFull() {},
	});
	for (let n = 0; n < 1000; n++) arrivals.add(`task-${n}`, true);
	await jest.advanceTimersByTimeAsync(12_000);
	// 1, 2, 4 … 32 together, and then one.
	expect(released).toBe(63);
	await jest.advanceTimersByTimeAsync(2000);
	expect(released).toBe(64);
	closing.abort();
});
