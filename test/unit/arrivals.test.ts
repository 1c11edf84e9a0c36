import { steadyNow } from '../../nodes/shared/async/deadline';
import { Arrivals } from '../../nodes/MediaGenerationTrigger/tasks/arrivals';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/** Arrivals, and how many of their tasks were released; `isNew` says what is then found of one. */
function arriving(isNew?: (released: number) => boolean, since = -Infinity) {
	const closing = new AbortController();
	let released = 0;
	const arrivals = new Arrivals(closing.signal, {
		since: () => since,
		hasRoom: () => true,
		letGo() {
			released++;
			if (isNew) arrivals.found(isNew(released));
		},
		warn() {},
	});
	return { arrivals, released: () => released, close: () => closing.abort() };
}

it('a flood of old tasks is released at less than one a second, even when few are left', async () => {
	const { arrivals, released, close } = arriving();
	for (let n = 0; n < 300; n++) arrivals.add(`old-${n}`, false);
	for (let minute = 1; minute <= 15; minute++) {
		await jest.advanceTimersByTimeAsync(60_000);
		expect(released()).toBeLessThan(60 * minute);
	}
	expect(released()).toBe(300);
	close();
});

it('an old task among new ones slows a flood down again', async () => {
	const { arrivals, released, close } = arriving((count) => count !== 63);
	for (let n = 0; n < 1000; n++) arrivals.add(`task-${n}`, true);
	await jest.advanceTimersByTimeAsync(12_000);
	// 1, 2, 4 … 32 together, and then one.
	expect(released()).toBe(63);
	await jest.advanceTimersByTimeAsync(2000);
	expect(released()).toBe(64);
	close();
});

it('new tasks are released as ever after the clock was set back', async () => {
	const since = steadyNow();
	const { arrivals, released, close } = arriving(() => true, since);
	await jest.advanceTimersByTimeAsync(120_000);
	expect(steadyNow() - since).toBe(120_000);
	jest.setSystemTime(Date.now() - 10_800_000);
	for (let n = 0; n < 150; n++) arrivals.add(`task-${n}`, false);
	await jest.advanceTimersByTimeAsync(1000);
	expect(released()).toBe(150);
	close();
});
