import { bad, good } from './seen';
import { ALWAYS, answer, onFile, posts, requests } from './service';
import { fakeTime, sim, speech, start, video } from './setup';
import { hasten } from './time';

/* File hosts that refuse for rate or load. */

beforeEach(async () => {
	await start({ pace: 0.01 });
	fakeTime();
});

const files = () => requests('GET', '/files/');

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
