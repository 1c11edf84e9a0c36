import type { ServerResponse } from 'node:http';
import { drip, FakeService, type Handler } from '../service/fakeService.mts';
import { status } from '../faults/row.mts';
import { bad, good, hints } from './seen';
import { image, node, RETRY, run, sim, start, fakeTime, video } from './setup';
import { hasten } from './time';

/* Streams that never tell the result, which is in the history: the clocks are hastened. */

let front: FakeService;
beforeEach(async () => {
	await start({ pace: 0.01 });
	front = await FakeService.inFrontOf(sim.baseUrl);
	fakeTime();
});
afterEach(async () => await front.stop());

/** The service makes it, and its stream says this every ten seconds, or there is no answer at all. */
const saying =
	(piece?: string, isMade = true): Handler =>
	(request, response: ServerResponse) => {
		if (isMade) front.forward(request);
		if (piece === undefined) return;
		response.writeHead(200, { 'content-type': 'text/event-stream' }).write(piece);
		drip(response, piece, 10_000);
	};
const BEAT = ': beat\n\n';
const generate = async (handle: Handler, subject: Parameters<typeof run>[0]) => {
	front.on(/^POST/, handle);
	return await hasten(subject, { credential: { baseUrl: front.url } });
};
const sent = () => front.requests.filter((line) => line.startsWith('POST')).length;

test('a stream that only beats is silent: the result is found after Idle Timeout', async () => {
	const { result, seconds } = await generate(saying(BEAT), video('A', { idleTimeout: 20 }));
	expect(good(result)[0]!.binary!.data!.mimeType).toBe('video/mp4');
	expect(hints(result).join()).toContain('looked up in the history');
	expect(seconds).toBeLessThan(35);
	expect(sent()).toBe(1);
});

describe.each([
	['only beats', BEAT],
	['is in progress', status('processing')],
	['does not begin', undefined],
])('a stream that %s when the time is up', (_, piece) => {
	test.each([
		['video', video],
		['image', image],
	])('%s: one last look into the history finds it', async (_kind, make) => {
		const { result, seconds } = await generate(saying(piece), make('A', { timeout: 60 }));
		expect(good(result)[0]!.binary!.data!.fileSize).toBeDefined();
		expect(seconds).toBeGreaterThan(50);
		expect(seconds).toBeLessThan(65);
		expect(sent()).toBe(1);
	});

	test('if it is not there: that no result came in time, and a retry does not pay again', async () => {
		const { result, seconds } = await generate(
			saying(piece, false),
			node(video('A', { timeout: 60 }), RETRY),
		);
		const { message, all } = bad(result);
		expect(message + all).toMatch(/No result after|reporting/);
		expect(seconds).toBeGreaterThan(110);
		expect(sent()).toBe(1);
	});
});

test('an error for one of several, and then nothing: half a minute later that is the end of it', async () => {
	const error = 'event: error\ndata: {"error":"UNSAFE"}\n\n';
	const handle: Handler = (_, response) => {
		response.writeHead(200, { 'content-type': 'text/event-stream' }).write(error);
		drip(response, BEAT, 10_000);
	};
	const { result, seconds } = await generate(handle, video('A', {}, { numberOfVideos: 2 }));
	expect(bad(result).message).toContain('could not generate this: UNSAFE');
	expect(seconds).toBeGreaterThan(25);
	expect(seconds).toBeLessThan(60);
});
