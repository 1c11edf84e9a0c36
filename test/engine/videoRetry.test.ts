import type { WorkflowResult } from '../../demo/engine.mts';
import { bad, good, only } from './seen';
import { answer, looks, onCreate, posts } from './service';
import { EACH, fakeTime, node, RETRY, run, sim, start, texts, video } from './setup';
import { hasten } from './time';
import { lose, quickVideo } from './videos';

/** Retry On Fail, with pauses of a second, in which the service goes on. */
const SLOWLY = { ...RETRY, maxTries: 3, waitBetweenTries: 1000 };

/** It was made, and paid for, once. */
function expectOnce(result: WorkflowResult) {
	expect(only(result).json.id).toBe(sim.history[0]!.id);
	expect(posts()).toBe(1);
}

describe('Retry On Fail never pays again', () => {
	beforeEach(async () => await start({ pace: 0.01 }));

	test('a generation not found in time is found by the next attempt', async () => {
		lose({ finishesInHistoryAfterMs: 1600 });
		expectOnce(await run(node(video('A', { timeout: 1 }), SLOWLY)));
	});

	test('HTTP 502, not in the history either: the retry says so, and when, but not that it is paid', async () => {
		fakeTime();
		onCreate(answer(502));
		const subject = node(quickVideo('A', { options: { timeout: 60 } }), { ...RETRY, maxTries: 3 });
		const { result } = await hasten(subject);
		const { message, description } = bad(result);
		expect(message).toMatch(/earlier attempt .* no clear response: HTTP 502 at \d\d:\d\d/);
		expect(description).toMatch(/may have accepted/);
		expect(description).not.toMatch(/has been charged/);
		expect([posts(), looks()]).toEqual([1, 2]);
	});
});

describe('a stream that ends without a result is looked up in the history', () => {});

describe('several lost items of one run', () => {
	test('share their readings of the history, and each gets its own', async () => {
		lose({}, { times: 8 });
		const prompts = Array.from({ length: 8 }, (_, index) => `Lost ${index}`);
		const output = good(await run(video(EACH, { timeout: 14 }), texts(...prompts)));
		expect(output.map(({ json }) => json.prompt)).toEqual(prompts);
		expect(posts()).toBe(8);
		expect(looks()).toBeLessThanOrEqual(2);
	});
});
