import type { WorkflowResult } from '../../demo/engine.mts';
import { good, out } from './seen';
import { ALWAYS, answer, onCreate, onRead, posts, readings, tasks } from './service';
import { begin, CONTINUE, fakeTime, node, run, sim, speech, start, video } from './setup';
import { hasten, hastenFinely, pass, passUntil } from './time';

/* What an account may send, and does not tell: beside one who knows it, test/pace/main.mts. */

const N = '=N {{ $json.n }}';
const BUSY = 'Too many concurrent tasks';
const QUOTA = 'You exceeded your current quota, please check your plan and billing details.';
const items = (count: number) => Array.from({ length: count }, (_, n) => ({ n }));
const rows = (count: number, options = {}, word = '') =>
	[node(speech(`${N} ${word}`, options), CONTINUE), { items: items(count) }] as const;
const lostOf = (result: WorkflowResult) => out(result).filter(({ json }) => json.error);

/** How many of the rows are lost, after how many seconds. */
async function ends(...batch: Parameters<typeof rows>) {
	const { result, seconds } = await hasten(...rows(...batch));
	return { seconds, lost: lostOf(result) };
}

describe('a used-up quota', () => {
	it('ends 30 rows within two timeouts, with the words of the service', async () => {
		onCreate(answer(429, { error: QUOTA }), ALWAYS);
		fakeTime();
		const { result, seconds } = await hastenFinely(...rows(30, { timeout: 2 }));
		const lost = lostOf(result);
		expect(lost).toHaveLength(30);
		for (const { json } of lost) expect(json.error).toContain(QUOTA);
		expect(seconds).toBeLessThan(8);
	});

	it('ends all that waits after ten minutes, and not before', async () => {
		await start({ pace: 0.01 });
		good(await run(speech(N), { items: items(1) }));
		fakeTime();
		onCreate(answer(429, { error: QUOTA }), ALWAYS);
		const { seconds, lost } = await ends(30);
		expect(lost).toHaveLength(30);
		expect(seconds).toBeGreaterThanOrEqual(600);
		expect(seconds).toBeLessThanOrEqual(680);

		const before = posts();
		expect((await ends(5, { concurrency: 1 })).lost).toHaveLength(5);
		expect(posts() - before).toBe(5);
		sim.clearFaults();
		expect((await ends(5)).lost).toEqual([]);
	});

	it.each([
		['a task', speech],
		['a stream', video],
	])('is not taken for one while %s of the account is under way', async (_, of) => {
		await start({ pace: 1, concurrencyLimit: 1 });
		fakeTime();
		const slow = of(`${N} [sim:slow=900]`, { timeout: 3600, idleTimeout: 3600 });
		const { result, seconds } = await hasten(node(slow, CONTINUE), { items: items(2) });
		expect([lostOf(result), sim.chargedCalls]).toEqual([[], 2]);
		expect(seconds).toBeGreaterThan(1200);
	});
});

/** Makes all beyond the first five under way fail, charged all the same, each time that it is called. */
const failing = {
	speech() {
		const refused = new Set<string>();
		const busy = answer(200, { id: 1, status: 'error', error: BUSY });
		return () => {
			const open = tasks().filter(({ audioUrl, id }) => !audioUrl && !refused.has(id));
			for (const { id } of open.slice(5)) {
				refused.add(id);
				onRead(busy, { path: `/v1/labs/task/${id}`, ...ALWAYS });
			}
		};
	},
	video() {
		const said = 'event: video_generation_status\ndata: "processing"\n\n';
		const busy = `event: error\ndata: ${JSON.stringify({ code: BUSY, status: 400 })}\n\n`;
		return () => {
			sim.clearFaults();
			if (sim.inFlight.size >= 5)
				sim.fault({
					method: 'POST',
					...ALWAYS,
					action: { sse: [said, { delayMs: 1000 }, busy, 'END'] },
				});
		};
	},
};

it.each([
	['tasks', failing.speech, speech, 60, 15],
	// Streams tell that they are alive before they fail: at most 100 are begun by then.
	['streams that have begun', failing.video, video, 200, 125],
] as const)(
	'a service that accepts and charges everything, and fails %s above five at once, costs no more than that',
	async (_, failingOf, parametersOf, count, maxInFlight) => {
		await start({ pace: 1 });
		fakeTime();
		const failMore = failingOf();
		const areAllCreated = () => {
			failMore();
			return sim.chargedCalls === count;
		};
		const watching = sim.waitFor(areAllCreated, 10_000_000);
		const parameters = parametersOf(`${N} [sim:slow=3]`, { pollInterval: 5 });
		const { result } = await hasten(node(parameters, CONTINUE), { items: items(count) });
		await watching;
		const lost = lostOf(result).length;
		expect(lost).toBeGreaterThan(0);
		expect(lost).toBeLessThanOrEqual(maxInFlight);
		expect(sim.chargedCalls).toBe(count);
	},
);

describe('where nothing is limited', () => {
	it('40 rows that take a minute are all begun after a fifth of it', async () => {
		await start({ pace: 1 });
		fakeTime();
		onRead({ delayMs: 1000 });
		const { seconds, lost } = await ends(40, {}, '[sim:slow=60]');
		expect(lost).toEqual([]);
		expect(seconds).toBeLessThan(74);
	});

	it('200 answers that take a second each come in a few', async () => {
		good(await run(speech('Once.'), {}));
		const taskId = tasks()[0]!.id;
		fakeTime();
		onRead({ delayMs: 1000 }, ALWAYS);
		const get = node({ resource: 'speech', operation: 'get', taskId, download: false });
		const { seconds } = await hasten(get, { items: items(200) });
		expect(seconds).toBeLessThan(10);
	});
});

it('many silent tasks are each read at most twice a minute, evenly', async () => {
	sim.setWebSocketMode('silent');
	fakeTime();
	const running = await begin(...rows(90, {}, '[sim:slow=36000]'));
	await passUntil(() => sim.tasks.size === 90);
	await pass(120, 5);
	const before = readings().length;
	let maxInFlight = 0;
	for (let seconds = 0; seconds < 60; seconds++) {
		const then = readings().length;
		await pass(1);
		maxInFlight = Math.max(maxInFlight, readings().length - then);
	}
	expect(readings().length - before).toBeLessThanOrEqual(180);
	expect(maxInFlight).toBeLessThanOrEqual(30);
	running.cancel();
	await passUntil(() => sim.countOpenSockets() + sim.countOpenConnections() === 0);
});
