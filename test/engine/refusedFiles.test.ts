import { bad, good } from './seen';
import { ALWAYS, answer, onFile, posts, requests, tasks } from './service';
import { CONTINUE, fakeTime, node, sim, speech, start, video } from './setup';
import { hasten } from './time';

/* File hosts that refuse for rate or load. */

beforeEach(async () => {
	await start({ pace: 0.01 });
	fakeTime();
});

const files = () => requests('GET', '/files/');
const N = '=N {{ $json.n }}';
const items = (count: number) => ({ items: Array.from({ length: count }, (_, n) => ({ n })) });

test.each([
	[429, { 'Retry-After': '5' }],
	[429, undefined],
	[503, { 'Retry-After': '5' }],
])(
	'a file that is refused with %d (%j) for longer than failures last comes out',
	async (status, headers) => {
		onFile(answer(status, 'slow down', headers), { times: 9 });
		const { result, seconds } = await hasten(speech('Hi.'));
		expect(good(result)[0]!.binary!.data!.mimeType).toBe('audio/wav');
		expect([posts(), files().length]).toEqual([1, 10]);
		expect(seconds).toBeGreaterThan(20);
	},
);

test('a file that is refused to the end of the time is named, and why', async () => {
	onFile(answer(429, 'slow down', { 'Retry-After': '86400' }), ALWAYS);
	const { result, seconds } = await hasten(video('A beetle', { timeout: 200 }));
	const { message, description } = bad(result);
	expect(message).toContain('the file host responded with 429 (slow down)');
	expect(description).toContain(sim.history[0]!.file_url);
	expect(seconds).toBeGreaterThan(190);
	// A day is not waited for, but a minute is.
	expect(files()).toHaveLength(4);
});

test('a host that refuses a file now and then gives the others as fast as before', async () => {
	onFile(answer(429, '', { 'Retry-After': '1' }), { ...ALWAYS, every: 20 });
	const { result, seconds } = await hasten(speech(N), items(400));
	expect(good(result)).toHaveLength(400);
	expect(seconds).toBeLessThan(60);
});

test('files whose turn never comes are told apart from those not made in time', async () => {
	onFile(answer(429, '', { 'Retry-After': '86400' }), ALWAYS);
	const fields = speech(N, { timeout: 50 });
	const { result } = await hasten(node(fields, CONTINUE), items(10));
	for (const { json } of good(result)) {
		expect(json.error).toMatch(/^The file was generated but could not be downloaded: /);
		expect(tasks().map(({ id }) => String(id))).toContain(json.task_id);
	}
	expect(good(result)).toHaveLength(10);
});
