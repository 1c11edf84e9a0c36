import type { INode } from 'n8n-workflow';
import type { RawStreamStep } from '../../simulator/simulator.mts';
import { bad, begin, good, NODE, run, sim } from './setup';
import {
	completion,
	elsewhere,
	HISTORY,
	event,
	ids,
	made,
	quickVideo,
	raw,
	serveFiles,
} from './videos';

describe('completions that come one per video', () => {
	const three = (extra: Partial<INode> = {}) => quickVideo('P', { numberOfVideos: 3 }, extra);
	const FEWER = /fewer files than requested/;
	const hints = (result: Awaited<ReturnType<typeof run>>) =>
		result
			.hints(NODE)
			.map(({ message }) => message)
			.join();

	test('all come out, in the order they came, without a look into the history', async () => {
		const files = ['c', 'a', 'b'].map((id) => made(id));
		raw([...files.map((file) => completion(file)), completion(files)]);
		const result = await run(three());
		expect(ids(good(result))).toEqual(['c', 'a', 'b']);
		expect(hints(result)).toBe('');
		expect(sim.count('GET', HISTORY)).toBe(0);
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
		const subject = quickVideo('P', { numberOfVideos: 3, options: { timeout: 8, idleTimeout: 1 } });
		const result = await run(subject);
		expect(ids(good(result))).toEqual(['a', 'b', 'c']);
		expect(hints(result)).not.toMatch(FEWER);
		expect([sim.count('POST', '/'), sim.count('GET', HISTORY)]).toEqual([1, 1]);
	});

	test.each<[string, RawStreamStep[]]>([
		['is reset', [{ delayMs: 50 }, 'RESET']],
		['falls silent', []],
	])('the stream %s: the others are waited for', async (_, rest) => {
		const files = ['a', 'b', 'c'].map((id) => made(id));
		raw([completion([files[0]]), ...rest]);
		const subject = quickVideo('P', {
			numberOfVideos: 3,
			options: { timeout: 30, idleTimeout: 1 },
		});
		const running = await begin(subject);
		await sim.waitFor(() => sim.count('GET', HISTORY) === 1);
		sim.history.push(...files.reverse());
		const result = await running.finished;
		expect(ids(good(result))).toEqual(['a', 'b', 'c']);
		expect(hints(result)).not.toMatch(FEWER);
		expect(sim.count('POST', '/')).toBe(1);
	});

	test('the stream is reset, and the others do not come in time: a hint says that they may', async () => {
		raw([completion([made('a')]), { delayMs: 50 }, 'RESET']);
		const result = await run(three());
		expect(ids(good(result))).toEqual(['a']);
		expect(hints(result)).toMatch(/1 of 3 .*may still come.*History → Get Many.*item 0/);
	});

	test('the stream is reset, and another item fails: the next try waits for the others', async () => {
		const files = ['a', 'b', 'c'].map((id) => made(id));
		raw([completion([files[0]]), { delayMs: 50 }, 'RESET']);
		const respond = { status: 400, body: '{}' };
		sim.fault({ method: 'POST', after: 1, action: { delayMs: 700, respond } });
		const options = { timeout: 30 };
		const fields = { prompt: '={{ $json.p }}', numberOfVideos: '={{ $json.n }}', options };
		const items = [
			{ p: 'P', n: 3 },
			{ p: 'Q', n: 1 },
		];
		const failed = await run(quickVideo('', fields), { items });
		expect(bad(failed).message).toMatch(/rejected.*item 1/);
		const looks = sim.count('GET', HISTORY);
		const retry = await begin(quickVideo('', fields), { retryOf: failed.run, ...elsewhere() });
		await sim.waitFor(() => sim.count('GET', HISTORY) > looks);
		sim.history.push(...files.reverse());
		expect(ids(good(await retry.finished)).slice(0, 3)).toEqual(['a', 'b', 'c']);
		expect(sim.count('POST', '/')).toBe(3);
	});

	test('plain JSON with fewer: the rest is in the history, or there are fewer', async () => {
		const files = ['a', 'b', 'c'].map((id) => made(id));
		const respond = { status: 200, body: files.slice(0, 2) };
		sim.fault({ method: 'POST', action: { respond } });
		sim.history.push(files[2]!, files[1]!, files[0]!);
		expect(ids(good(await run(three())))).toEqual(['a', 'b', 'c']);
		sim.fault({ method: 'POST', action: { respond } });
		const result = await run(three());
		expect(ids(good(result))).toEqual(['a', 'b']);
		expect(hints(result)).toMatch(FEWER);
	});

	test('a look that fails costs no file', async () => {
		raw([completion([made('a'), made('b')]), 'END']);
		sim.fault({ path: HISTORY, times: Infinity, action: { respond: { status: 401, body: '{}' } } });
		const result = await run(three());
		expect(ids(good(result))).toEqual(['a', 'b']);
		expect(hints(result)).toMatch(FEWER);
	});

	test('the time is up before the last: the next try has it as well, without paying', async () => {
		const files = ['a', 'b', 'c'].map((id) => made(id));
		raw(files.slice(0, 2).map((file) => completion([file])));
		sim.history.push(...files);
		serveFiles();
		const parameters = { numberOfVideos: 3, options: { timeout: 1 }, download: true };
		const failed = await run(quickVideo('P', parameters));
		expect(bad(failed).description).toMatch(/charged/);
		const retry = { retryOf: failed.run, ...elsewhere() };
		expect(ids(good(await run(three(), retry)))).toEqual(['a', 'b', 'c']);
		expect(sim.count('POST', '/')).toBe(1);
	});
});
