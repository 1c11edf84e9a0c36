import type { IDataObject } from 'n8n-workflow';
import type { WorkflowResult } from '../../demo/engine.mts';
import { allClosed, good } from './seen';
import { answer, onCreate, posts, tasks } from './service';
import { begin, run, sim, speech, start } from './setup';

const items = (count: number) => Array.from({ length: count }, (_, n) => ({ n }));
const N = '=N {{ $json.n }}';

/** Each item was spoken, in order, and paid for once. */
function expectAll(result: WorkflowResult, count: number) {
	expect(good(result).map(({ json }) => json.input)).toEqual(items(count).map(({ n }) => `N ${n}`));
	expect(sim.creates).toBe(count);
}

/** How many tasks were in work at once at most; seen at each create call. */
async function mostAtOnce(count: number, options: IDataObject, pace = 0.03) {
	await start({ pace });
	let most = 0;
	let sockets = 0;
	const inWork = () => tasks().filter(({ audioUrl }) => !audioUrl).length;
	const watched = sim.waitFor(() => {
		most = Math.max(most, inWork());
		sockets = Math.max(sockets, sim.sockets());
		return sim.tasks.size === count && inWork() === 0;
	}, 60_000);
	expectAll(await run(speech(N, options), { items: items(count) }), count);
	await watched;
	expect([posts(), sockets]).toEqual([count, 1]);
	await allClosed();
	return most;
}

test('one at a time', async () => expect(await mostAtOnce(4, { concurrency: 1 })).toBe(1));

test('three at a time', async () => {
	// Long enough that even a busy machine begins the third before the first one ends.
	expect(await mostAtOnce(9, { concurrency: 3 }, 0.2)).toBe(3);
});

test('automatic: ten at first, more as they are accepted', async () => {
	// Long enough that even a busy machine has more than ten in work before the first ones end.
	const most = await mostAtOnce(60, {}, 0.3);
	expect(most).toBeGreaterThan(10);
	expect(most).toBeLessThanOrEqual(100);
});

test('a rate limit in the middle of a batch: everything is made, once', async () => {
	onCreate(answer(429, '', { 'Retry-After': '1' }), { after: 5, times: 5 });
	expectAll(await run(speech(N), { items: items(12) }), 12);
});

test('a service that allows only eight at once: nothing is lost, nothing is paid twice', async () => {
	await start({ mostAtOnce: 8 });
	expectAll(await run(speech(N, { concurrency: 50 }), { items: items(30) }), 30);
	// Those that wait do not all ask again after each rest.
	expect(posts()).toBeLessThan(120);
});

test('automatic: all of 60 are begun before the first one is done', async () => {
	const running = await begin(speech(`${N} [sim:slow=2000]`), { items: items(60) });
	await sim.waitFor(() => sim.tasks.size === 60);
	expect(tasks().filter(({ audioUrl }) => audioUrl)).toEqual([]);
	running.cancel();
	await allClosed();
});

test('many that wait without a socket are each looked up as often as asked', async () => {
	sim.setWebSocketMode('refuse');
	const options = { concurrency: 40, pollInterval: 1 };
	const running = await begin(speech(`${N} [sim:slow=2000]`, options), { items: items(40) });
	// 120 lookups, where some 30 a minute used to be sent at most.
	await sim.waitFor(() => sim.tasks.size === 40 && tasks().every(({ reads }) => reads >= 3));
	running.cancel();
	await allClosed();
});

test('a limit of requests, lookups included: nothing is lost, and it is kept to', async () => {
	const limit = { requests: 20, seconds: 2 };
	await start({ requestLimit: limit });
	sim.setWebSocketMode('refuse');
	expectAll(await run(speech(N), { items: items(40) }), 40);
	const asked = sim.requests.filter(({ on }) => on === 'api');
	const windows = new Set(asked.map(({ time }) => Math.floor(time / 1000 / limit.seconds)));
	expect(asked.length).toBeLessThanOrEqual(1.3 * limit.requests * windows.size);
});
