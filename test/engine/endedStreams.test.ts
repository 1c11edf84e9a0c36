import type { HistoryItem } from '../../simulator/simulator.mts';
import { event, status } from '../faults/row.mts';
import { bad, good, out, stored } from './seen';
import { made, onCreate, posts } from './service';
import { begin, EACH, fakeTime, sim, start, texts, video } from './setup';
import { hasten, pass, passWhile } from './time';
import { activate, beginCalled, callOf, CALLER } from './triggerSetup';

/* Streams that the service ends while some of the videos are still being generated. */

const done = (data: unknown) => event('video_generation_complete', data);
const list = (id: string, changes: Partial<HistoryItem> = {}) =>
	sim.history.unshift(made(id, { created_at: new Date().toISOString(), ...changes }));
const several = { download: false, numberOfVideos: 4 };

beforeEach(async () => {
	await start({ pace: 1 });
	fakeTime();
});

test.each<[string, () => string[]]>([
	[
		'whose IDs were announced before',
		() => [...[...'abcd'].map((id) => status({ status: 'processing', id })), done([made('a')])],
	],
	[
		'that the completion says are in progress',
		() => [done([made('a'), made('b'), ...['c', 'd'].map((id) => ({ id, status: 'processing' }))])],
	],
	['after one event per video', () => [status('processing'), done([made('a')]), done([made('b')])]],
])('videos %s are found in the history', async (_, events) => {
	onCreate({ sse: [...events(), 'END'] });
	const { finished } = await begin(video('P', {}, several));
	await pass(40);
	for (const id of 'abcd') list(id);
	const ids = out(await passWhile(finished)).map(({ json }) => json.id);
	expect(ids.sort()).toEqual(['a', 'b', 'c', 'd']);
});

const announced = (ids: string) => [...ids].map((id) => status({ status: 'processing', id }));

test.each<[string, () => string[]]>([
	['a list, after the ID of the job', () => [...announced('j'), done([made('a'), made('b')])]],
	['a growing list', () => [done([made('a')]), done([made('a'), made('b')])]],
	['a list, after each by itself', () => [made('a'), made('b'), [made('a'), made('b')]].map(done)],
	[
		'a list, and an error without ID',
		() => [...announced('abcd'), done([made('a'), made('b')]), event('error', { error: 'Unsafe' })],
	],
])('fewer videos than requested are the result at once, if they come as %s', async (_, events) => {
	onCreate({ sse: [...events(), 'END'] });
	const { result, seconds } = await hasten(video('P', {}, several));
	expect(out(result).map(({ json }) => json.id)).toEqual(['a', 'b']);
	expect(seconds).toBeLessThan(10);
});

test('a video after an empty list is found within a minute', async () => {
	onCreate({ sse: [status('processing'), done([]), 'END'] });
	const { finished } = await begin(video('P', {}, { download: false }));
	await pass(40);
	list('late');
	expect(good(await passWhile(finished)).map(({ json }) => json.id)).toEqual(['late']);
});

test('a video whose stream goes on is not taken for that of a lost stream', async () => {
	onCreate({ sse: [status('processing'), 'RESET'] });
	const slow = [status('processing'), { delayMs: 60_000 }, done([made('slow')]), 'END'];
	onCreate({ sse: slow } as never);
	setTimeout(() => list('slow'), 5000);
	setTimeout(() => list('lost'), 100_000);
	const { result } = await hasten(
		video(EACH, { concurrency: 2 }, { download: false }),
		texts('P', 'P'),
	);
	expect(good(result).map(({ json }) => json.id)).toEqual(['lost', 'slow']);
});

test('videos that were refused are requested again once the history has been searched', async () => {
	onCreate({ sse: [...announced('ab'), event('error', { error: 'UNSAFE' }), 'END'] });
	const two = video('P', { timeout: 5 }, { ...several, numberOfVideos: 2 });
	const first = await hasten(two);
	expect(bad(first.result).message).toBe('The result did not arrive: UNSAFE');
	jest.setSystemTime(Date.now() + 660_000);
	const second = await hasten(two, { retryOf: stored(first.result) });
	expect(bad(second.result).message).toBe('The service could not generate the video: UNSAFE');
	expect(posts()).toBe(1);
	await hasten(two, { retryOf: stored(second.result) });
	expect(posts()).toBe(2);
});

test('of others’ videos with the prompt, only as many are ignored as may be its own', async () => {
	const parameters = { events: ['generated'] };
	const setting = { workflowId: CALLER, behind: [callOf()], parameters };
	const [trigger] = await Promise.all([activate(setting), pass(3)]);
	onCreate({ sse: [status('processing'), done([made('fa'), made('fb')]), 'END'] });
	const { finished } = await beginCalled(video('P', {}, several));
	await pass(20);
	await finished;
	for (const id of ['fa', 'fb', 'x1', 'x2', 'x3', 'x4', 'x5', 'x6']) {
		list(id);
		await pass(60);
	}
	await pass(60);
	expect(trigger.started.map(({ item }) => item.json.id)).toEqual(['x3', 'x4', 'x5', 'x6']);
});

test.each([
	['one event per video', (n: string) => [done([made(`${n}a`)]), done([made(`${n}b`)])]],
	['a list that is too short', (n: string) => [done([made(`${n}a`), made(`${n}b`)])]],
])(
	'videos that come later do not start the workflow that called for them: %s',
	async (_, events) => {
		let count = 0;
		/** Runs the called workflow, whose other videos are in the history a minute later. */
		const runCalled = async () => {
			// Requests of other tests have the same prompt, so the IDs must be different.
			const name = `${_}-${++count}-`;
			if (count > 5) return undefined;
			onCreate({ sse: [status('processing'), ...events(name), 'END'] });
			const { finished } = await beginCalled(video('P', {}, several));
			setTimeout(() => [...'abcd'].forEach((id) => list(name + id)), 60_000);
			return (await finished).run;
		};
		const setting = {
			...{ workflowId: CALLER, behind: [callOf()], parameters: { events: ['generated'] } },
			execute: async () => (await runCalled()) as never,
		};
		await Promise.all([activate(setting), pass(3)]);
		const first = runCalled();
		await pass(600, 5);
		await first;
		expect(posts()).toBe(1);
	},
);
