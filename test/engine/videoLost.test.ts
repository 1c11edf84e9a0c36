import type { FaultAction, HistoryItem } from '../../simulator/simulator.mts';
import { allClosed, bad, begin, good, out, run, sim, start } from './setup';
import { HISTORY, video } from './videos';

const status = (data: string) => `event: video_generation_status\ndata: ${data}\n\n`;

/** The next stream breaks off after it began; the generation is in the history by then. */
const lose = (changes: FaultAction = {}, times = 1) =>
	sim.fault({
		method: 'POST',
		path: '/v1/video/',
		times,
		action: {
			sse: [status('"starting"'), status('"processing"'), { delayMs: 100 }, 'END'],
			finishesInHistoryAfterMs: 0,
			...changes,
		},
	});

/** An entry of the account that this run has not made. */
const foreign = (changes: Partial<HistoryItem>): HistoryItem => ({
	id: `foreign-${sim.history.length}`,
	prompt: 'P',
	type: 'video',
	file_url: `${sim.fileOrigin}/files/video/foreign.mp4`,
	status: 'completed',
	created_at: new Date(Date.now() + 500).toISOString(),
	...changes,
});

async function foundOnce(subject = video('A boat 🚣', { timeout: 8 })) {
	const result = await run(subject);
	const [item, ...rest] = good(result);
	expect(rest).toEqual([]);
	const [entry] = sim.history;
	expect(item!.json).toMatchObject({ id: entry!.id, file_url: entry!.file_url });
	const bytes = await result.bytes(item!.binary!.data!);
	expect(bytes).toEqual(sim.fileBytes(entry!.file_url));
	expect(sim.count('POST', '/')).toBe(1);
	expect(sim.count('GET', HISTORY)).toBe(1);
	return result;
}

describe('a stream that ends without a result is looked up in the history', () => {
	test.each<[string, FaultAction]>([
		['ends after status events', {}],
		['is reset', { sse: [status('starting'), { delayMs: 100 }, 'RESET'] }],
		['ends without any event', { sse: [{ delayMs: 100 }, 'END'] }],
		['is a comment only', { sse: [': hello\n\n', { delayMs: 100 }, 'END'] }],
		[
			'is cut inside the completion',
			{
				sse: [
					'event: video_generation_complete\ndata: [{"id":"x","file_u',
					{ delayMs: 100 },
					'RESET',
				],
			},
		],
		[
			'ends inside the completion',
			{
				sse: [
					'event: video_generation_complete\ndata: [{"id":"x","file_u',
					{ delayMs: 100 },
					'END',
				],
			},
		],
		[
			'completes with nothing',
			{ sse: ['event: video_generation_complete\ndata: []\n\n', { delayMs: 100 }] },
		],
		['holds an endless line', { sse: [`data: ${'x'.repeat(9 << 20)}`] }],
		['holds an endless event', { sse: [`data: ${'x'.repeat(1023)}\n`.repeat(9 << 10)] }],
		['is a plain answer that breaks off', { sse: ['[{"id": "x", ', { delayMs: 100 }, 'END'] }],
	])('%s', async (_, action) => {
		lose(action);
		const result = await foundOnce();
		const hints = result.hints('Media Generation').map(({ message }) => message);
		expect(hints).toEqual([expect.stringMatching(/history.*not requested a second time.*item 0/)]);
		await allClosed();
	});

	test('is silent for the idle timeout; its connection is closed', async () => {
		lose({ sse: [status('starting')] });
		await foundOnce(video('Silent', { idleTimeout: 1, timeout: 8 }));
		await allClosed();
	});

	test('never answers at all', async () => {
		await start({ pace: 0.01 });
		sim.fault({ method: 'POST', action: { hang: true, accepted: true } });
		await foundOnce(video('Mute', { idleTimeout: 1, timeout: 8 }));
		await allClosed();
	});

	test.each(['reset', 504])('%s instead of an answer', async (kind) => {
		const respond = { status: 504, body: '<html>Gateway Timeout</html>' };
		sim.fault({ method: 'POST', action: kind === 'reset' ? { reset: true } : { respond } });
		sim.history.push(foreign({}));
		const [item] = good(await run(video('P', { timeout: 8 }, { download: false })));
		expect(item!.json.id).toBe(sim.history[0]!.id);
		expect(sim.count('POST', '/')).toBe(1);
	});

	test.each([3600, -3600, 86_400])(
		'the clock of the service is %d s ahead',
		async (clockSkewSeconds) => {
			await start({ dialect: { clockSkewSeconds } });
			const server = () => Date.now() + clockSkewSeconds * 1000;
			const old = new Date(server() - 20_000).toISOString();
			sim.history.push(foreign({ prompt: 'A boat 🚣', created_at: old }));
			lose();
			await foundOnce();
		},
	);

	test.each(['paged', 'array'] as const)(
		'whatever the dialect of the history (%s)',
		async (history) => {
			await start({
				dialect: {
					history,
					historyFiles: 'file_urls',
					historyFiguresAsStrings: true,
					pageEcho: 'wrong',
					itemStatus: 'MEDIA_GENERATION_STATUS_SUCCESSFUL',
				},
			});
			lose();
			await foundOnce();
		},
	);

	test('several videos of one lost request all come out', async () => {
		lose();
		const output = good(await run(video('Three', { timeout: 8 }, { numberOfVideos: 3 })));
		expect(output).toHaveLength(3);
		expect(new Set(output.map(({ json }) => json.id)).size).toBe(3);
	});

	test('an id told by the stream is proof, whatever else has the same prompt', async () => {
		sim.history.push(foreign({ id: 'mine' }), foreign({ id: 'other' }));
		lose({
			sse: [status('{"status":"processing","id":"mine"}'), 'END'],
			finishesInHistoryAfterMs: undefined,
		});
		const [item] = good(await run(video('P', { timeout: 4 }, { download: false })));
		expect(item!.json.id).toBe('mine');
	});

	test('an entry that failed is a failure at once, in the words of the history', async () => {
		const failed = { ...foreign({ status: 'failed', file_url: '' }), error: 'UNSAFE_GENERATION' };
		sim.history.push(failed);
		lose({ finishesInHistoryAfterMs: undefined });
		const error = bad(await run(video('P', { timeout: 8 })));
		expect(error.message).toMatch(/could not generate this/);
	});
});

describe('what cannot be proved is not taken and not paid for again', () => {
	test('not found in time: says that it is paid; other items go on', async () => {
		lose({ finishesInHistoryAfterMs: undefined });
		const items = [{ prompt: 'Lost' }, { prompt: 'Fine' }];
		const subject = video('={{ $json.prompt }}', { timeout: 3 });
		const result = await run({ ...subject, onError: 'continueRegularOutput' }, { items });
		expect(good(result)[0]!.json.error).toMatch(/stopped reporting.*\[item 0\]/);
		expect(out(result)[0]!.json.description).toMatch(/charged.*History/);
		expect(out(result)[1]!.json.prompt).toBe('Fine');
		expect(sim.count('POST', '/')).toBe(2);
	});

	test('two entries for one request: fails at once, lists them, asks nothing again', async () => {
		lose();
		sim.history.push(foreign({ prompt: 'Twin' }));
		const error = bad(await run(video('Twin', { timeout: 20 })));
		expect(error.message).toMatch(/stopped reporting.*\[item 0\]/);
		for (const { id } of sim.history) expect(error.description).toContain(id);
		expect(sim.count('POST', '/')).toBe(1);
	});

	test('another prompt, an older entry, an entry without a date', async () => {
		lose({ finishesInHistoryAfterMs: undefined });
		const old = new Date(Date.now() - 10_000).toISOString();
		sim.history.push(
			foreign({ prompt: 'P!' }),
			foreign({ created_at: old }),
			foreign({ created_at: '' }),
		);
		const error = bad(await run(video('P', { timeout: 2 })));
		expect(error.message).toMatch(/stopped reporting/);
	});

	test('an image of the same prompt is not the lost video', async () => {
		lose({ finishesInHistoryAfterMs: undefined });
		sim.history.push(foreign({ type: 'image', file_url: `${sim.fileOrigin}/files/image/a.png` }));
		const error = bad(await run(video('P', { timeout: 2 }, { download: false })));
		expect(error.message).toMatch(/stopped reporting/);
	});

	test('a video in the other aspect ratio is not the lost one', async () => {
		lose({ finishesInHistoryAfterMs: undefined });
		sim.history.push(foreign({ aspect_ratio: 'VIDEO_ASPECT_RATIO_PORTRAIT' }));
		const error = bad(await run(video('P', { timeout: 2 }, { download: false })));
		expect(error.message).toMatch(/stopped reporting/);
	});

	test('one of two is there when the time is up: it is not kept from the user', async () => {
		lose();
		const subject = video('Two [sim:fewer]', { timeout: 3 }, { numberOfVideos: 2 });
		const result = await run({ ...subject, onError: 'continueRegularOutput' });
		expect(JSON.stringify(good(result))).toContain(sim.history[0]!.id);
	});

	test.each<[string, FaultAction]>([
		['hangs', { hang: true }],
		['asks for a minute of rest', { respond: { status: 429, headers: { 'Retry-After': '60' } } }],
	])(
		'the timeout holds although the history %s',
		async (_, action) => {
			lose();
			sim.fault({ path: HISTORY, times: Infinity, action });
			const running = await begin(video('P', { timeout: 2 }));
			await sim.waitFor(() => sim.count('GET', HISTORY) === 1);
			const began = Date.now();
			const error = bad(await running.finished);
			expect(Date.now() - began).toBeLessThan(30_000);
			expect(error.all).toMatch(/paid|charged/);
		},
		60_000,
	);
});
