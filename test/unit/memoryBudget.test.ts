import { Readable } from 'node:stream';
import { Api } from '../../nodes/shared/api/api';
import { GENERATIONS } from '../../nodes/shared/contract';
import { readCredential } from '../../nodes/shared/http/credential';
import { monotonicNow } from '../../nodes/shared/async/deadline';
import { Failure } from '../../nodes/shared/failure';
import { MemoryBudget, type MemoryNeed } from '../../nodes/shared/async/memoryBudget';
import { Throttle } from '../../nodes/shared/pace/throttle';

const { signal } = new AbortController();
let budget: MemoryBudget;
const need = (bytes: number): MemoryNeed => ({ budget, bytes });

beforeEach(() => {
	jest.useFakeTimers({ now: Date.now() });
	budget = new MemoryBudget(100);
});
afterEach(() => jest.useRealTimers());

/** Sends requests of accounts of their own; returns the names of those that are in memory. */
function senders() {
	const inMemory = new Map<string, () => void>();
	const send = async (name: string, bytes: number, from = signal) => {
		const call = await new Throttle().admit('create', from, 0, need(bytes));
		inMemory.set(name, () => {
			inMemory.delete(name);
			call.end('succeeded');
		});
	};
	return { inMemory, send };
}

test('a large body is not overtaken by small ones of other accounts, and comes alone', async () => {
	const { inMemory, send } = senders();
	await send('first', 60);
	void send('large', 300);
	await jest.advanceTimersByTimeAsync(200);
	void send('small', 10);
	await jest.advanceTimersByTimeAsync(5000);
	expect([...inMemory.keys()]).toEqual(['first']);
	inMemory.get('first')!();
	await jest.advanceTimersByTimeAsync(500);
	expect([...inMemory.keys()]).toEqual(['large']);
	inMemory.get('large')!();
	await jest.advanceTimersByTimeAsync(500);
	expect([...inMemory.keys()]).toEqual(['small']);
});

test('one that no longer waits, or waits for something else, holds up nobody', async () => {
	const { inMemory, send } = senders();
	await send('first', 60);
	const leaving = new AbortController();
	const large = send('large', 300, leaving.signal).catch(() => 'left');
	await jest.advanceTimersByTimeAsync(200);
	leaving.abort();
	expect(await large).toBe('left');
	void send('small', 10);
	await jest.advanceTimersByTimeAsync(1500);
	expect([...inMemory.keys()]).toEqual(['first', 'small']);
});

test('a request that waits for memory holds up no other of its account', async () => {
	const throttle = new Throttle();
	budget.take(need(90));
	void throttle.admit('create', signal, 0, need(20));
	await jest.advanceTimersByTimeAsync(200);
	const isAdmitted = jest.fn();
	void throttle.admit('create', signal).then(isAdmitted);
	await jest.advanceTimersByTimeAsync(50);
	expect(isAdmitted).toHaveBeenCalled();
});

test('what waits for memory when a quota turns out to be used up fails at once, what comes later waits', async () => {
	const throttle = new Throttle();
	const probe = await throttle.admit('create', signal, monotonicNow() - 600_000);
	budget.take(need(90));
	const waiting = throttle.admit('create', signal, 0, need(20));
	const failed = expect(waiting).rejects.toMatchObject({ facts: { meaning: 'quota' } });
	probe.end('throttled', new Failure('throttled', { meaning: 'quota' }));
	await failed;
	const isAdmitted = jest.fn();
	void throttle.admit('create', signal, 0, need(20)).then(isAdmitted);
	await jest.advanceTimersByTimeAsync(5000);
	expect(isAdmitted).not.toHaveBeenCalled();
});

test('after bodies of any sizes, one above the limit is not held up', () => {
	const needs = [1, 2, 6, 7].map((bytes) => need((bytes * 4) / 3));
	for (const one of needs) budget.take(one);
	for (const one of needs.reverse()) budget.giveBack(one);
	expect(budget.isFree(need(300))).toBe(true);
});

test('a fault of this package gives the memory back, too', async () => {
	jest.useRealTimers();
	const response = { statusCode: 200, headers: {}, body: Readable.from(['']) };
	const context = { helpers: { httpRequest: async () => response } };
	const credential = readCredential({ apiToken: 'token', baseUrl: 'https://media.example.com' });
	const options = { body: { bytes: Buffer.from('{}') }, memory: need(90) };
	const signals = { stopStarting: signal as never, abortInFlight: signal as never };
	const sent = new Api(context as never, credential).generate(
		GENERATIONS.framesToVideo,
		{ ...options, ...signals },
		async () => await Promise.reject(new TypeError('A fault')),
	);
	await expect(sent).rejects.toThrow('A fault');
	expect(budget.isFree(need(90))).toBe(true);
});
