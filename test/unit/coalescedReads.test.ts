import { getEventListeners } from 'node:events';
import { whenAborted } from '../../nodes/shared/async/deadline';
import { CoalescedReads } from '../../nodes/shared/async/coalescedReads';
import { Failure } from '../../nodes/shared/failure';

/** Readings that end when the test says so. */
function stage() {
	const reads = new CoalescedReads();
	const startedReads: Array<{ signal: AbortSignal; end(result: string | Failure): void }> = [];
	const read = async (signal: AbortSignal) =>
		await new Promise<string>((resolve, reject) => {
			const end = (result: string | Failure) =>
				result instanceof Failure ? reject(result) : resolve(result);
			startedReads.push({ signal, end });
		});
	const ask = async (
		since = now(),
		signal = new AbortController().signal,
		key = 'task',
		readOne: Parameters<typeof reads.share<string>>[3] = read,
	) => await reads.share(key, since, signal, readOne);
	return { startedReads, ask };
}
const now = () => performance.timeOrigin + performance.now();
const turn = async () => await new Promise((resolve) => setImmediate(resolve));

test('whoever asks meanwhile shares the reading, its failure too, and a recent result', async () => {
	const { startedReads, ask } = stage();
	const first = [ask(), ask()];
	await turn();
	first.push(ask(0));
	startedReads[0]!.end(new Failure('throttled'));
	for (const { status } of await Promise.allSettled(first)) expect(status).toBe('rejected');
	const second = ask(0);
	await turn();
	startedReads[1]!.end('pending');
	expect(await second).toBe('pending');
	const third = ask();
	await turn();
	startedReads[2]!.end('done');
	expect([await third, await ask(now() - 60_000), startedReads.length]).toEqual([
		'done',
		'done',
		3,
	]);
});

test('who gives up a reading leaves the later one to the others', async () => {
	const { startedReads, ask } = stage();
	const impatient = new AbortController();
	const first = expect(ask(0, impatient.signal)).rejects.toMatchObject({ kind: 'canceled' });
	await turn();
	const second = ask();
	await turn();
	impatient.abort(new Failure('canceled'));
	await first;
	const third = ask(0);
	await turn();
	expect(startedReads.map(({ signal }) => signal.aborted)).toEqual([true, false]);
	startedReads[1]!.end('done');
	expect([await second, await third]).toEqual(['done', 'done']);
});

test('a result, which may be a whole file, is not kept for long', async () => {
	const { startedReads, ask } = stage();
	const first = ask();
	await turn();
	startedReads[0]!.end('large');
	await first;
	const before = performance.now();
	jest.spyOn(performance, 'now').mockReturnValue(before + 20_000);
	void ask(0, undefined, 'another');
	void ask(0);
	await turn();
	expect(startedReads.length).toBe(3);
	jest.restoreAllMocks();
});

test('a result is kept no longer because earlier readings had to wait for their turn', async () => {
	const { startedReads, ask } = stage();
	const turns: Array<() => void> = [];
	const waiting = async (_: AbortSignal, setWaiting: (isWaiting: boolean) => void) => {
		setWaiting(true);
		await new Promise<void>((resolve) => turns.push(resolve));
		setWaiting(false);
		return '';
	};
	void ask(0, undefined, 'waiting', waiting);
	const late = ask(0, undefined, 'late', waiting);
	const first = ask();
	await turn();
	startedReads[0]!.end('large');
	await first;
	jest.spyOn(performance, 'now').mockReturnValue(performance.now() + 20_000);
	turns[1]!();
	await late;
	void ask(0, undefined, 'another');
	void ask(0);
	await turn();
	expect(startedReads.length).toBe(3);
	jest.restoreAllMocks();
});

test('a reading that takes long is shared to its end, also after another has begun', async () => {
	const { startedReads, ask } = stage();
	const slow = ask();
	await turn();
	jest.spyOn(performance, 'now').mockReturnValue(performance.now() + 20_000);
	void ask(0, undefined, 'another');
	const late = ask(0);
	await turn();
	startedReads[0]!.end('done');
	expect([await slow, await late, startedReads.length]).toEqual(['done', 'done', 2]);
	jest.restoreAllMocks();
});

test('a reading from before the news does for nobody who has heard them', async () => {
	const { startedReads, ask } = stage();
	const early = ask();
	await turn();
	const late = [ask(), ask()];
	await turn();
	expect(startedReads.length).toBe(2);
	startedReads[1]!.end('done');
	expect(await Promise.all(late)).toEqual(['done', 'done']);
	startedReads[0]!.end('pending');
	expect(await early).toBe('pending');
});

test('who leaves ends only his own waiting, the last one the reading; nothing is left behind', async () => {
	const { startedReads, ask } = stage();
	const [one, other] = [new AbortController(), new AbortController()];
	const all = Promise.allSettled([ask(0, one.signal), ask(0, other.signal)]);
	await turn();
	one.abort(new Failure('canceled'));
	expect(startedReads[0]!.signal.aborted).toBe(false);
	other.abort(new Failure('timedOut'));
	const reasons = (await all).map((each) => 'reason' in each && (each.reason as Failure).kind);
	expect(startedReads[0]!.signal.aborted).toBe(true);
	expect(reasons).toEqual(['canceled', 'timedOut']);
	startedReads[0]!.end('done');
	const next = new AbortController();
	const again = ask(0, next.signal);
	await turn();
	startedReads[1]!.end('pending');
	expect(await again).toBe('pending');
	expect(getEventListeners(next.signal, 'abort')).toEqual([]);
	// Who has left already begins none.
	await expect(ask(now(), one.signal)).rejects.toMatchObject({ kind: 'canceled' });
	expect(startedReads.length).toBe(2);
});

test('a reading that was given up in its line serves nobody who asks later', async () => {
	const { startedReads, ask } = stage();
	const blocked = async (ended: AbortSignal, setWaiting: (isWaiting: boolean) => void) => {
		setWaiting(true);
		await whenAborted(ended);
		throw new Failure('canceled');
	};
	const leaving = new AbortController();
	const early = ask(0, leaving.signal, 'task', blocked);
	leaving.abort(new Failure('canceled'));
	await expect(early).rejects.toMatchObject({ kind: 'canceled' });
	await turn();
	const late = ask(0);
	await turn();
	expect(startedReads.at(-1)!.signal.aborted).toBe(false);
	startedReads.at(-1)!.end('done');
	expect(await late).toBe('done');
});
