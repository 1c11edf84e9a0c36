import type { IDataObject } from 'n8n-workflow';
import type { WorkflowResult } from '../../demo/engine.mts';
import type { RawStreamStep } from '../../simulator/simulator.mts';
import { good, hints } from './seen';
import { looks, made, posts } from './service';
import { begin, run, sim } from './setup';
import { completion, ids, quickVideo, raw } from './videos';

describe('completions that come one per video', () => {
	const three = (options: IDataObject = { timeout: 3 }) =>
		quickVideo('P', { numberOfVideos: 3, options });
	const FEWER = /fewer files than requested/;
	const hinted = (result: WorkflowResult) => hints(result).join();

	test.each<[string, RawStreamStep[]]>([
		['is reset', [{ delayMs: 50 }, 'RESET']],
		['falls silent', []],
	])('the stream %s: the others are waited for', async (_, rest) => {
		const files = ['a', 'b', 'c'].map((id) => made(id));
		raw([completion([files[0]]), ...rest]);
		const running = await begin(three({ timeout: 30, idleTimeout: 1 }));
		await sim.waitFor(() => looks() === 1);
		sim.history.push(...files.reverse());
		const result = await running.finished;
		expect(ids(good(result))).toEqual(['a', 'b', 'c']);
		expect(hinted(result)).not.toMatch(FEWER);
		expect(posts()).toBe(1);
	});

	test('the stream is reset, and the others do not come in time: a hint says that they may', async () => {
		raw([completion([made('a')]), { delayMs: 50 }, 'RESET']);
		const result = await run(three());
		expect(ids(good(result))).toEqual(['a']);
		expect(hinted(result)).toMatch(/1 of 3 .*may still come.*History → Get Many.*item 0/);
	});
});
