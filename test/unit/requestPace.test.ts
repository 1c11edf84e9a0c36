import { steadyNow } from '../../nodes/shared/async/deadline';
import { Failure } from '../../nodes/shared/failure';
import { readCredential } from '../../nodes/shared/http/credential';
import { paceOf, type Pace } from '../../nodes/shared/pace/pace';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

const never = () => new AbortController().signal;
let count = 0;
const account = (apiToken = `token-${++count}`) =>
	paceOf(readCredential({ apiToken, baseUrl: 'https://x' }));

/** A reading is refused, and the service asks for a rest of so many ms. */
const refuse = (pace: Pace, retryAfterMs: number, sentAt = steadyNow()) =>
	pace.recordRefusal('read', sentAt, new Failure('rateLimited', { retryAfterMs }));

/** Lets `amount` requests go out as soon as they may; notes after how many seconds each did. */
function sendMany(pace: Pace, amount: number) {
	const began = steadyNow();
	const sent: number[] = [];
	for (let n = 0; n < amount; n++) {
		void pace.acquireSlot('read', never()).then(async () => {
			const sentAt = steadyNow();
			sent.push((sentAt - began) / 1000);
			await new Promise((resolve) => setTimeout(resolve, 5));
			pace.recordAnswer('read', sentAt, true);
			pace.releaseSlot('read', sentAt);
		});
	}
	return sent;
}

describe('requests of an account', () => {
	it('go out at once until one is refused', async () => {
		const sent = sendMany(account(), 20);
		await jest.advanceTimersByTimeAsync(0);
		expect(sent).toEqual(Array(20).fill(0));
	});

	it('all rest for as long as the service asks, wherever they come from', async () => {
		refuse(account('shared'), 5000);
		const sent = sendMany(account('shared'), 1);
		const other = sendMany(account(), 1);
		await jest.advanceTimersByTimeAsync(4999);
		expect([sent, other]).toEqual([[], [0]]);
		await jest.advanceTimersByTimeAsync(400);
		expect(sent.length).toBe(1);
	});

	/** Fifty requests of an account that was refused after a hundred. */
	async function sendAfterRefusal() {
		const pace = account();
		sendMany(pace, 100);
		await jest.advanceTimersByTimeAsync(10);
		refuse(pace, 1000);
		return { pace, sent: sendMany(pace, 50) };
	}

	it('come back one by one, at first slowly', async () => {
		const { sent } = await sendAfterRefusal();
		await jest.advanceTimersByTimeAsync(9000);
		expect(sent.length).toBe(50);
		const first = sent[0]!;
		expect(sent.filter((at) => at < first + 0.2).length).toBe(1);
		expect(sent.filter((at) => at < first + 1).length).toBeLessThanOrEqual(6);
	});

	it('rest again, and all of them, when the first ones are refused again', async () => {
		const { pace, sent } = await sendAfterRefusal();
		while (sent.length === 0) await jest.advanceTimersByTimeAsync(50);
		refuse(pace, 3000);
		await jest.advanceTimersByTimeAsync(2900);
		expect(sent.length).toBe(1);
		await jest.advanceTimersByTimeAsync(15_000);
		expect(sent.length).toBe(50);
	});

	it('wait for the answer to the first one after a rest, but not for ever', async () => {
		const pace = account();
		refuse(pace, 1000);
		let sent = 0;
		for (let n = 0; n < 3; n++) void pace.acquireSlot('read', never()).then(() => sent++);
		await jest.advanceTimersByTimeAsync(2500);
		expect(sent).toBe(1);
		await jest.advanceTimersByTimeAsync(1500);
		expect(sent).toBe(2);
	});

	it('stop resting when nobody wants them any more', async () => {
		const pace = account();
		refuse(pace, 60_000);
		const cancel = new AbortController();
		const over = pace.acquireSlot('read', cancel.signal);
		cancel.abort();
		expect(await over).toBe(false);
		await jest.advanceTimersByTimeAsync(0);
		expect(jest.getTimerCount()).toBe(0);
	});
});

test('200 readings of a trigger that nothing announced may come in half a minute, then 30 a minute', async () => {
	const { turns } = account();
	let given = 0;
	for (let n = 0; n < 500; n++) void turns.watch(never()).then(() => given++);
	await jest.advanceTimersByTimeAsync(30_000);
	expect(given).toBeGreaterThanOrEqual(200);
	const before = given;
	await jest.advanceTimersByTimeAsync(60_000);
	expect(given - before).toBe(30);
});

it('rests and lookups last no longer when the clock is set back', async () => {
	const pace = account();
	await pace.turns.lookup(5000, never());
	refuse(pace, 5000);
	jest.setSystemTime(Date.now() - 10_800_000);
	const sent = sendMany(pace, 1);
	const turn = pace.turns.lookup(5000, never());
	await jest.advanceTimersByTimeAsync(5400);
	expect(sent.length).toBe(1);
	await expect(Promise.race([turn, Promise.resolve('waiting')])).resolves.toBe(true);
});
