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

/** A reading that goes out as soon as it may. */
function send(pace: Pace) {
	const sent = { out: false };
	void pace.acquireSlot('read', never()).then(() => (sent.out = true));
	return sent;
}

describe('requests of an account', () => {
	it('all rest for as long as the service asks, wherever they come from', async () => {
		refuse(account('shared'), 5000);
		const sent = send(account('shared'));
		const other = send(account());
		await jest.advanceTimersByTimeAsync(4999);
		expect([sent.out, other.out]).toEqual([false, true]);
		await jest.advanceTimersByTimeAsync(400);
		expect(sent.out).toBe(true);
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
	const sent = send(pace);
	const turn = pace.turns.lookup(5000, never());
	await jest.advanceTimersByTimeAsync(5400);
	expect(sent.out).toBe(true);
	await expect(Promise.race([turn, Promise.resolve('waiting')])).resolves.toBe(true);
});
