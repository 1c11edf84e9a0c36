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

test('three at a time, over one socket', async () => {
	// Long enough that even a busy machine begins the third before the first one ends.
	await start({ pace: 0.2 });
	let [most, sockets] = [0, 0];
	const inWork = () => tasks().filter(({ audioUrl }) => !audioUrl).length;
	const watched = sim.waitFor(() => {
		most = Math.max(most, inWork());
		sockets = Math.max(sockets, sim.sockets());
		return sim.tasks.size === 9 && inWork() === 0;
	}, 60_000);
	expectAll(await run(speech(N, { concurrency: 3 }), { items: items(9) }), 9);
	await watched;
	expect([most, posts(), sockets]).toEqual([3, 9, 1]);
	await allClosed();
});

test('a rate limit in the middle of a batch: everything is made, once', async () => {
	onCreate(answer(429, '', { 'Retry-After': '1' }), { after: 5, times: 5 });
	expectAll(await run(speech(N), { items: items(12) }), 12);
});

test('automatic: all of 60 are begun before the first one is done', async () => {
	const running = await begin(speech(`${N} [sim:slow=2000]`), { items: items(60) });
	await sim.waitFor(() => sim.tasks.size === 60);
	expect(tasks().filter(({ audioUrl }) => audioUrl)).toEqual([]);
	running.cancel();
	await allClosed();
});
