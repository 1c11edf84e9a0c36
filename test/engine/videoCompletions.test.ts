import type { IDataObject } from 'n8n-workflow';
import type { WorkflowResult } from '../../demo/engine.mts';
import type { RawStreamStep } from '../../simulator/simulator.mts';
import { bad, good, hints } from './seen';
import { answer, looks, made, onCreate, posts } from './service';
import { begin, run, sim, video } from './setup';
import { completion, elsewhere, event, ids, quickVideo, raw, serveFiles } from './videos';

describe('completions that come one per video', () => {
	const three = (options: IDataObject = { timeout: 3 }) =>
		quickVideo('P', { numberOfVideos: 3, options });
	const FEWER = /fewer files than requested/;
	const hinted = (result: WorkflowResult) => hints(result).join();

	test('all come out, in the order they came, without a look into the history', async () => {
		const files = ['c', 'a', 'b'].map((id) => made(id));
		raw([...files.map((file) => completion(file)), completion(files)]);
		const result = await run(three());
		expect(ids(good(result))).toEqual(['c', 'a', 'b']);
		expect(hinted(result)).toBe('');
		expect(looks()).toBe(0);
	});

	test.each<[string, RawStreamStep[]]>([
		['the stream ends', ['END']],
		['the stream is reset', [{ delayMs: 50 }, 'RESET']],
		['an error comes', [event('error', 'overloaded'), 'END']],
		['nothing more is heard', []],
	])('%s before the last: it is in the history', async (_, rest) => {
		const files = ['a', 'b', 'c'].map((id) => made(id));
		raw([...files.slice(0, 2).map((file) => completion([file])), ...rest]);
		sim.history.push(...files);
		const result = await run(three({ timeout: 8, idleTimeout: 1 }));
		expect(ids(good(result))).toEqual(['a', 'b', 'c']);
		expect(hinted(result)).not.toMatch(FEWER);
		expect([posts(), looks()]).toEqual([1, 1]);
	});

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

	test('the stream is reset, and another item fails: the next attempt waits for the others', async () => {
		const files = ['a', 'b', 'c'].map((id) => made(id));
		raw([completion([files[0]]), { delayMs: 50 }, 'RESET']);
		onCreate({ delayMs: 700, ...answer(400, '{}') }, { after: 1 });
		const options = { timeout: 30 };
		const fields = { prompt: '={{ $json.p }}', numberOfVideos: '={{ $json.n }}', options };
		const items = [
			{ p: 'P', n: 3 },
			{ p: 'Q', n: 1 },
		];
		const failed = await run(quickVideo('', fields), { items });
		expect(bad(failed).message).toMatch(/rejected.*item 1/);
		const before = looks();
		const retry = await begin(quickVideo('', fields), { retryOf: failed.run, ...elsewhere() });
		await sim.waitFor(() => looks() > before);
		sim.history.push(...files.reverse());
		expect(ids(good(await retry.finished)).slice(0, 3)).toEqual(['a', 'b', 'c']);
		expect(posts()).toBe(3);
	});

	test('the time is up before the last: the next attempt has it as well, without paying', async () => {
		const files = ['a', 'b', 'c'].map((id) => made(id));
		raw(files.slice(0, 2).map((file) => completion([file])));
		sim.history.push(...files);
		serveFiles();
		const failed = await run(video('P', { timeout: 1 }, { numberOfVideos: 3 }));
		expect(bad(failed).description).toMatch(/charged/);
		const retry = { retryOf: failed.run, ...elsewhere() };
		expect(ids(good(await run(three(), retry)))).toEqual(['a', 'b', 'c']);
		expect(posts()).toBe(1);
	});
});
