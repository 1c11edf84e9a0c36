import { steadyNow } from '../../nodes/shared/async/deadline';
import { rateLimitOf } from '../../nodes/shared/pace/rateLimit';
import { readCredential } from '../../nodes/shared/http/credential';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

const never = () => new AbortController().signal;
let count = 0;
const account = (apiToken = `token-${++count}`) =>
	rateLimitOf(readCredential({ apiToken, baseUrl: 'https://x' }));

/** Lets `amount` requests go out as soon as they may; notes after how many seconds each did. */
function sendMany(pacing: ReturnType<typeof account>, amount: number) {
	const began = steadyNow();
	const sent: number[] = [];
	for (let n = 0; n < amount; n++) {
		void pacing.waitForSlot(never()).then(async () => {
			const sentAt = steadyNow();
			sent.push((sentAt - began) / 1000);
			await new Promise((resolve) => setTimeout(resolve, 5));
			pacing.accepted('read', sentAt);
			pacing.answered();
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
		account('shared').refused('read', steadyNow(), 5000);
		const sent = sendMany(account('shared'), 1);
		const other = sendMany(account(), 1);
		await jest.advanceTimersByTimeAsync(4999);
		expect([sent, other]).toEqual([[], [0]]);
		await jest.advanceTimersByTimeAsync(400);
		expect(sent.length).toBe(1);
	});

	/** Fifty requests of an account that was refused after a hundred. */
	async function sendAfterRefusal() {
		const pacing = account();
		sendMany(pacing, 100);
		await jest.advanceTimersByTimeAsync(10);
		pacing.refused('read', steadyNow(), 1000);
		return { pacing, sent: sendMany(pacing, 50) };
	}

	it('do not all come back at the same moment', async () => {
		const { sent } = await sendAfterRefusal();
		await jest.advanceTimersByTimeAsync(5000);
		expect(sent.length).toBe(50);
		const first = sent[0]!;
		expect(sent.filter((at) => at < first + 0.25).length).toBe(1);
		expect(sent.filter((at) => at < first + 0.6).length).toBeLessThanOrEqual(4);
		expect(sent.at(-1)! - first).toBeLessThan(1.5);
	});

	it('rest again, and all of them, when the first ones are refused again', async () => {
		const { pacing, sent } = await sendAfterRefusal();
		while (sent.length === 0) await jest.advanceTimersByTimeAsync(50);
		pacing.refused('read', steadyNow(), 3000);
		await jest.advanceTimersByTimeAsync(2900);
		expect(sent.length).toBe(1);
		await jest.advanceTimersByTimeAsync(5000);
		expect(sent.length).toBe(50);
	});

	it('wait for the answer to the first one after a rest', async () => {
		const pacing = account();
		pacing.refused('read', steadyNow(), 1000);
		let sent = 0;
		for (let n = 0; n < 3; n++) void pacing.waitForSlot(never()).then(() => sent++);
		await jest.advanceTimersByTimeAsync(2500);
		expect(sent).toBe(1);
		pacing.answered();
		await jest.advanceTimersByTimeAsync(0);
		expect(sent).toBe(2);
	});

	it('wait only once for one that is never answered', async () => {
		const pacing = account();
		pacing.refused('read', Date.now(), 1000);
		void pacing.waitForSlot(never());
		await jest.advanceTimersByTimeAsync(2500);
		const sent = sendMany(pacing, 4);
		await jest.advanceTimersByTimeAsync(4200);
		expect(sent.length).toBe(4);
	});

	it('stop resting when nobody wants them any more', async () => {
		const pacing = account();
		pacing.refused('read', steadyNow(), 60_000);
		const cancel = new AbortController();
		const over = pacing.waitForSlot(cancel.signal);
		cancel.abort();
		await over;
		await jest.advanceTimersByTimeAsync(0);
		expect(jest.getTimerCount()).toBe(0);
	});
});

describe('readings of a trigger that nothing announced', () => {
	/** How many turns of a kind are given within so many seconds, to that many that wait. */
	async function given(
		kind: 'poll' | 'livePoll' | 'catchUp' | 'past',
		waits: number,
		seconds: number,
	) {
		const pacing = account();
		let count = 0;
		for (let n = 0; n < waits; n++) pacing.begin('watched');
		for (let n = 0; n < 500; n++) {
			void pacing.turns.watch(kind, never()).then((isMine) => (count += Number(isMine)));
		}
		await jest.advanceTimersByTimeAsync(seconds * 1000);
		return count;
	}

	it.each([
		['are some 30 a minute for all together', 'poll', 50, 300, 10 + 150],
		['are not more beside a live socket, however many wait', 'livePoll', 500, 300, 3 + 150],
		['may be hundreds in a row after the socket was away', 'catchUp', 50, 19.9, 399],
		['are then some 30 a minute, too', 'catchUp', 50, 80.5, 400 + 40],
		['may come some at once of tasks that old messages name', 'past', 50, 0, 60],
	] as const)('%s', async (_, kind, waits, seconds, count) => {
		expect(await given(kind, waits, seconds)).toBe(count);
	});

	it.each([1, 5, 15])('are fewer than two a minute each for %d beside a live socket', async (n) => {
		const minutes = 5;
		expect(await given('livePoll', n, minutes * 60)).toBeLessThan(2 * n * minutes + 2);
	});

	it('may come at once again after a while', async () => {
		const { turns } = account();
		const take = () => Array.from({ length: 15 }, () => turns.watch('poll', never()));
		void take();
		await jest.advanceTimersByTimeAsync(60_000);
		let count = 0;
		for (const turn of take()) void turn.then(() => count++);
		await jest.advanceTimersByTimeAsync(0);
		expect(count).toBe(10);
	});

	it('count only those that still wait', async () => {
		const pacing = account();
		const ends = Array.from({ length: 20 }, () => pacing.begin('watched'));
		ends.slice(1).forEach((end) => end());
		let count = 0;
		for (let n = 0; n < 50; n++) void pacing.turns.watch('livePoll', never()).then(() => count++);
		await jest.advanceTimersByTimeAsync(120_000);
		expect(count).toBe(3 + 3);
	});
});

it('a rest lasts no longer when the clock is set back', async () => {
	const pacing = account();
	pacing.refused('read', steadyNow(), 5000);
	jest.setSystemTime(Date.now() - 10_800_000);
	const sent = sendMany(pacing, 1);
	await jest.advanceTimersByTimeAsync(5400);
	expect(sent.length).toBe(1);
});

it('lookups of waiting items go on when the clock is set back', async () => {
	const pacing = account();
	await pacing.turns.lookup(5000, never());
	jest.setSystemTime(Date.now() - 10_800_000);
	const turn = pacing.turns.lookup(5000, never());
	await jest.advanceTimersByTimeAsync(5000);
	await expect(Promise.race([turn, Promise.resolve('waiting')])).resolves.toBe(true);
});
