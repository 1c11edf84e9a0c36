import { event, status } from '../faults/row.mts';
import { bad, good, hints, out } from './seen';
import { ALWAYS, answer, onCreate, posts } from './service';
import { CONTINUE, EACH, fakeTime, node, run, sim, start, texts, video } from './setup';
import { hasten } from './time';

/* Streams that begin with an error, and that the service does not end at once. */

const refusal = (code: number, error: string) => event('error', { code, error });
const quick = (prompt: string) => video(prompt, { timeout: 60 }, { download: false });

beforeEach(async () => await start({ pace: 0.01 }));

test.each<[string, Array<{ delayMs: number } | string>]>([
	['ends a moment later', [{ delayMs: 200 }, 'END']],
	['stays open', []],
])('a call that the first event refuses is sent again if the stream %s', async (_, more) => {
	const sse = [refusal(429, 'Too many requests'), ...more];
	onCreate({ sse } as never, { times: 1 });
	const result = await run(quick(EACH), texts('A', 'B'));
	expect(good(result)).toHaveLength(2);
	expect(posts()).toBe(3);
});

const started = { event: 'video_generation_status', data: 'starting' };
const refused = { event: 'error', error: 'Too many requests' };
test.each([
	['an event of an unknown name', event('hello', started) + event('error', refused)],
	['a line of JSON', `${JSON.stringify(started)}\n${JSON.stringify(refused)}\n`],
])('a call whose refusal comes after %s is not sent again', async (_, stream) => {
	onCreate(answer(200, stream), ALWAYS);
	expect(bad(await run(quick('A'))).message).toMatch(/could not generate.*Too many requests/);
	expect(posts()).toBe(1);
});

test('a token that the first event refuses is named, though the stream stays open', async () => {
	onCreate({ sse: [refusal(401, 'invalid_token')] } as never, ALWAYS);
	sim.fault({ method: 'GET', action: answer(401, { error: 'invalid_token' }), ...ALWAYS });
	expect(bad(await run(quick('A'))).message).toMatch(/refused the API token/);
});

test('an event with the code 401 ends only its own row, because the account can be read', async () => {
	onCreate({ sse: [refusal(401, 'Unauthorized'), 'END'] } as never, { ...ALWAYS, body: 'first' });
	const rows = video(EACH, { concurrency: 1, timeout: 60 }, { download: false });
	const result = await run(node(rows, CONTINUE), texts('first', 'B', 'C'));
	expect(out(result).map(({ json }) => json.error_kind)).toEqual([
		'not_allowed',
		undefined,
		undefined,
	]);
	expect(posts()).toBe(3);
});

test('an event with the code 402 that mentions a quota is about the credit, and not sent again', async () => {
	fakeTime();
	onCreate({ sse: [refusal(402, 'You exceeded your current quota'), 'END'] } as never, ALWAYS);
	const { result } = await hasten(quick('A'));
	expect(bad(result).message).toMatch(/out of credit/);
	expect(posts()).toBe(1);
});

test('an event with the code 429 whose text names an unsafe prompt is about the prompt', async () => {
	onCreate({ sse: [refusal(429, 'UNSAFE_GENERATION'), 'END'] } as never, ALWAYS);
	const result = await run(node(quick('A'), CONTINUE));
	expect(out(result)[0]!.json.error_kind).toBe('moderation');
	expect(posts()).toBe(1);
});

test.each([
	['the first event', []],
	['a later event', [status('starting')]],
])('%s refuses one of four videos, and the other three come out', async (_, before) => {
	await start({ pace: 1 });
	fakeTime();
	const files = [1, 2, 3].map((n) => ({ id: `v${n}`, file_url: `${sim.fileOrigin}/f/${n}.mp4` }));
	const complete = event('video_generation_complete', files);
	const sse = [...before, refusal(429, 'Too many tasks'), { delayMs: 5000 }, complete, 'END'];
	onCreate({ sse } as never, ALWAYS);
	const four = video('P', { timeout: 600 }, { download: false, numberOfVideos: 4 });
	const { result } = await hasten(four);
	expect(out(result)).toHaveLength(3);
	expect(hints(result)).toContain('Reason for the missing files: Too many tasks');
	expect(posts()).toBe(1);
});
