import type { IDataObject, INode } from 'n8n-workflow';
import { bad, good, node, requests, run, sim, start } from './setup';
import { HISTORY } from './videos';

const video = (prompt: string, options: IDataObject = {}, extra: Partial<INode> = {}) => {
	const download = options.download ?? true;
	const parameters = { resource: 'video', operation: 'textToVideo', prompt, options, download };
	return node(parameters, extra);
};
const again: Partial<INode> = { retryOnFail: true, maxTries: 3, waitBetweenTries: 100 };
const lose = (finishesInHistoryAfterMs?: number) =>
	sim.fault({
		method: 'POST',
		path: '/v1/video/',
		action: { sse: ['data: processing\n\n', { delayMs: 50 }, 'END'], finishesInHistoryAfterMs },
	});

test('the message of a run that ends early names the videos of its other items', async () => {
	const items = [{ p: 'Slow [sim:slow=600]' }, { p: 'No [sim:unsafe]' }];
	const error = bad(await run(video('={{ $json.p }}'), { items }));
	expect(error.message).toContain('[item 1]');
	expect(error.description).toContain('item 0: video requested');
});

describe('Retry On Fail never pays again', () => {
	test('a file that could not be downloaded is fetched by the next try', async () => {
		await start({ pace: 0.01 });
		sim.fault({ on: 'file', action: { respond: { status: 410 } } });
		const result = await run(video('A', {}, again));
		expect(good(result)[0]!.json.id).toBe(sim.history[0]!.id);
		expect(sim.count('POST', '/')).toBe(1);
	});

	test('a generation not found in time is found by the next try', async () => {
		lose(1600);
		const result = await run(video('A', { timeout: 1 }, { ...again, waitBetweenTries: 1000 }));
		expect(good(result)[0]!.json.id).toBe(sim.history[0]!.id);
		expect(sim.count('POST', '/')).toBe(1);
	});

	test('a timeout in mid-stream is looked up by the next try', async () => {
		await start({ pace: 0.15 });
		const result = await run(video('A', { timeout: 1 }, { ...again, waitBetweenTries: 1000 }));
		expect(good(result)[0]!.json.id).toBe(sim.history[0]!.id);
		expect(sim.count('POST', '/')).toBe(1);
	});

	test.each([500, 502, 503])(
		'HTTP %d, accepted all the same: looked up, not sent again',
		async (status) => {
			await start({ pace: 0.001 });
			sim.fault({ method: 'POST', action: { accepted: true, respond: { status, body: '' } } });
			const result = await run(video('A', { timeout: 5 }, again));
			expect(good(result)[0]!.json.id).toBe(sim.history[0]!.id);
			expect(sim.count('POST', '/')).toBe(1);
		},
	);

	test('one bad item among good ones: the good ones are paid once', async () => {
		await start({ pace: 0.02 });
		sim.fault({ method: 'POST', after: 2, action: { respond: { status: 400, body: '' } } });
		const items = [{ p: 'a' }, { p: 'b' }, { p: 'c' }];
		const subject = video('={{ $json.p }}', { timeout: 14 }, { ...again, waitBetweenTries: 1000 });
		const output = good(await run(subject, { items }));
		expect(output.map(({ json }) => json.prompt)).toEqual(['a', 'b', 'c']);
		expect(sim.creates).toBe(3);
	});

	test('what failed for good is asked for anew', async () => {
		await start({ pace: 0.01 });
		sim.fault({ method: 'POST', action: { sse: ['event: error\ndata: "overloaded"\n\n', 'END'] } });
		good(await run(video('A', {}, again)));
		expect(sim.count('POST', '/')).toBe(2);
		expect(sim.count('GET', HISTORY)).toBe(0);
	});

	test('what was never sent, because the account had to rest, is sent by the next try', async () => {
		await start({ pace: 0.01 });
		const respond = { status: 429, headers: { 'Retry-After': '4' } };
		sim.fault({ method: 'POST', action: { respond } });
		const tries = { retryOnFail: true, maxTries: 5, waitBetweenTries: 1000 };
		const result = await run(video('A', { timeout: 1 }, tries));
		expect(good(result)[0]!.json.prompt).toBe('A');
		expect(requests('POST', '/').map(({ status }) => status)).toEqual([429, 200]);
	});
});

describe('"Retry execution" never pays again', () => {
	test('a lost generation is found, however many others were made since', async () => {
		lose();
		const subject = video('Mine', { timeout: 1, download: false });
		const failed = await run(subject);
		bad(failed);
		const created_at = new Date().toISOString();
		const entry = (id: string, prompt: string) => ({
			id,
			prompt,
			type: 'video' as const,
			status: 'completed',
			created_at,
			file_url: `${sim.fileOrigin}/files/${id}.mp4`,
		});
		const others = Array.from({ length: 150 }, (_, n) => entry(`other-${n}`, `Other ${n}`));
		sim.history.push(...others, entry('mine', 'Mine'));
		const result = await run(subject, { retryOf: failed.run });
		expect(sim.count('POST', '/')).toBe(1);
		expect(good(result)[0]!.json.id).toBe('mine');
	}, 60_000);

	test('a lost generation that finished meanwhile is taken, without another POST', async () => {
		lose(1500);
		const subject = video('Mine', { timeout: 1 });
		const failed = await run(subject);
		expect(bad(failed).description).toMatch(/charged/);
		await sim.waitFor(() => sim.history.length === 1);
		const result = await run(subject, { retryOf: failed.run });
		const [item] = good(result);
		expect(item!.json.id).toBe(sim.history[0]!.id);
		expect(await result.bytes(item!.binary!.data!)).toEqual(
			sim.fileBytes(sim.history[0]!.file_url),
		);
		expect(sim.count('POST', '/')).toBe(1);
	});
});
