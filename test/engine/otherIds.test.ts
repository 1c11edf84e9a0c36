import type { IDataObject } from 'n8n-workflow';
import { event, status } from '../faults/row.mts';
import { bad, good, out, stored } from './seen';
import { answer, made, onCreate, onFile, posts } from './service';
import { EACH, fakeTime, node, RETRY, sim, start, texts, video } from './setup';
import { hasten, pass } from './time';
import { activate, beginCalled, callOf, CALLER } from './triggerSetup';

/* Streams whose ids are not those of the history (a media id there, a row id here), with addresses signed anew. */

const complete = (data: unknown) => event('video_generation_complete', data);
const url = (file: string, sig: number | undefined) =>
	`${sim.fileOrigin}/media/${file}.mp4${sig === undefined ? '' : `?sig=${sig}`}`;
const entry = (id: string, file: string, sig: number | undefined, more: IDataObject = {}) =>
	made(id, {
		prompt: 'P',
		file_url: url(file, sig),
		created_at: new Date(Date.now() + 500).toISOString(),
		...more,
	} as never);

/** A trigger whose workflow calls that of `beginCalled`. */
const setting = { behind: [callOf()], workflowId: CALLER, parameters: { events: ['generated'] } };

beforeEach(async () => {
	await start({ pace: 1 });
	fakeTime();
});

describe('two executions of one prompt, the stream of the first is lost', () => {
	test.each<[string, number | undefined, number | undefined, IDataObject]>([
		['ids differ, signed anew', 1, 2, {}],
		['ids differ, not signed', undefined, undefined, {}],
		['the history has both ids, signed anew', 1, 2, { task_id: 'stream-b' }],
	])('the first does not get the video of the second: %s', async (_, sigA, sigB, more) => {
		// Row 1: lost. Row 2: completes, with an id that the history does not use.
		onCreate({ sse: [status('processing'), { delayMs: 3000 }, 'RESET'] } as never, { times: 1 });
		onCreate({ sse: [complete([{ id: 'stream-b', file_url: url('b', sigA) }]), 'END'] } as never, {
			times: 1,
		});
		setTimeout(() => sim.history.unshift(entry('row-b', 'b', sigB, more)), 5000);
		// The first video takes minutes.
		setTimeout(() => sim.history.unshift(entry('row-a', 'a', sigB)), 300_000);
		const rows = video(EACH, { concurrency: 2, timeout: 900 }, { download: false });
		const { result } = await hasten(
			node(rows, { onError: 'continueRegularOutput' }),
			texts('P', 'P'),
		);
		const files = out(result).map(({ json }) =>
			String(json.file_url ?? json.description).replace(/.*\/|\?.*/g, ''),
		);
		// Never the same video twice.
		expect(files.filter((f) => f === 'b.mp4')).toHaveLength(1);
	});
});

test('a lost row does not get a video that an open stream has already delivered', async () => {
	const announced = (n: number) => ({ id: `v${n}`, status: 'processing' });
	const done = (n: number) => complete([{ id: `v${n}`, file_url: url(String(n), 1) }]);
	const later = [{ delayMs: 5000 }, done(1), { delayMs: 200_000 }, done(2), 'END'];
	onCreate({ sse: [status(announced(1)), status(announced(2)), ...later] } as never, { times: 1 });
	onCreate({ sse: [status('processing'), { delayMs: 3000 }, 'RESET'] } as never, { times: 1 });
	for (const [n, seconds] of [
		[1, 5],
		[3, 30],
		[4, 100],
		[2, 205],
	] as const)
		setTimeout(() => sim.history.unshift(entry(`row-${n}`, String(n), 2)), seconds * 1000);
	const rows = video(EACH, { timeout: 900 }, { download: false, numberOfVideos: 2 });
	const { result } = await hasten(node(rows), texts('P', 'P'));
	const files = good(result).map(({ json }) => String(json.file_url).replace(/.*\/|\?.*/g, ''));
	expect(files).toEqual(['1.mp4', '2.mp4', '3.mp4', '4.mp4']);
});

describe('a sub-workflow after the trigger', () => {
	test.each<[string, number | undefined, number | undefined, IDataObject]>([
		['ids differ, signed anew', 1, 2, {}],
		['ids differ, not signed', undefined, undefined, {}],
		['the history has both ids', 1, 2, { task_id: 'stream-b' }],
	])('its own video starts nothing: %s', async (_, sigA, sigB, more) => {
		const [trigger] = await Promise.all([activate(setting), pass(3)]);
		onCreate({ sse: [complete([{ id: 'stream-b', file_url: url('b', sigA) }]), 'END'] } as never, {
			times: 1,
		});
		const running = await beginCalled(video('P', {}, { download: false }));
		await pass(3);
		good(await running.finished);
		sim.history.unshift(entry('row-b', 'b', sigB, more));
		await pass(90);
		expect(trigger.started.map(({ item }) => item.json.id)).toEqual([]);
	});

	test.each<[string, string | undefined, string | undefined, IDataObject]>([
		['the history has no ids', 'stream-b', undefined, {}],
		[
			'the stream has no ids, and the service rewrites the prompt',
			undefined,
			'row-b',
			{ prompt: 'A better P' },
		],
	])(
		'its own video starts nothing, whose URL has no file extension and is signed anew: %s',
		async (_, streamId, rowId, more) => {
			const file = (sig: number) => `${sim.fileOrigin}/media/b?sig=${sig}`;
			const [trigger] = await Promise.all([activate(setting), pass(3)]);
			onCreate({ sse: [complete([{ id: streamId, file_url: file(1) }]), 'END'] } as never, {
				times: 1,
			});
			const running = await beginCalled(video('P', {}, { download: false }));
			await pass(3);
			good(await running.finished);
			const row = entry(rowId as string, 'b', 2, { file_url: file(2), ...more });
			sim.history.unshift(row);
			await pass(90);
			expect(trigger.started.map(({ item }) => item.json.file_url)).toEqual([]);
		},
	);
});

test('nor does one of several that is listed before the stream tells its address, though all ids were told', async () => {
	const [trigger] = await Promise.all([activate(setting), pass(3)]);
	const announced = ['a', 'b'].map((file) => ({ id: `stream-${file}`, file_url: url(file, 1) }));
	const ids = announced.map(({ id }) => status({ status: 'processing', id }));
	onCreate({ sse: [...ids, { delayMs: 100_000 }, complete(announced), 'END'] } as never, {
		times: 1,
	});
	const running = await beginCalled(video('P', {}, { download: false, numberOfVideos: 2 }));
	await pass(3);
	sim.history.unshift(entry('row-a', 'a', 2));
	await pass(100, 5);
	sim.history.unshift(entry('row-b', 'b', 2));
	good(await running.finished);
	sim.history.unshift(entry('foreign', 'c', 2));
	await pass(90);
	expect(trigger.started.map(({ item }) => item.json.id)).toEqual(['foreign']);
});

test.each<[string, Array<{ id?: string }>]>([
	['no ids', [{}, {}, {}]],
	['the id of one', [{ id: 'stream-a' }, {}, {}]],
	['one video only', [{}]],
])(
	'none of several videos of a called sub-workflow starts anything, whose stream tells other addresses than the history, and %s',
	async (prompt, announced) => {
		const [trigger] = await Promise.all([activate(setting), pass(3)]);
		const list = (file: string) => sim.history.unshift(entry(`row-${file}`, file, 2, { prompt }));
		const names = ['a', 'b', 'c'];
		const files = announced.map(({ id }, index) => ({
			...(id && { id }),
			file_url: url(`${id ? '' : 'temporary/'}${names[index]}`, 1),
		}));
		onCreate({ sse: [complete(files), 'END'] } as never, { times: 1 });
		const fields = video(prompt, {}, { download: false, numberOfVideos: 3 });
		const running = await beginCalled(fields);
		await pass(3);
		good(await running.finished);
		names.forEach(list);
		await pass(90);
		list('foreign');
		await pass(90);
		expect(trigger.started.map(({ item }) => item.json.id)).toEqual(['row-foreign']);
	},
);

test('one of two that comes out after an error is not paid again, though its id is another than those that were told', async () => {
	const ids = ['a', 'b'].map((file) => status({ status: 'processing', id: `stream-${file}` }));
	onCreate({ sse: [...ids, event('error', { error: 'UNSAFE_GENERATION' }), 'END'] } as never);
	setTimeout(() => sim.history.unshift(entry('row-b', 'b', 2)), 60_000);
	const fields = video('P', {}, { download: false, numberOfVideos: 2 });
	const { result } = await hasten(node(fields, RETRY));
	expect(posts()).toBe(1);
	expect(bad(result).all).toContain('row-b');
});

test.each([
	['times out', { timeout: 20 }, false],
	['is stopped', {}, true],
])(
	'the late video of a called sub-workflow that %s starts nothing, though its id is another',
	async (_, options, isStopped) => {
		const [trigger] = await Promise.all([activate(setting), pass(3)]);
		onCreate({ sse: [status({ status: 'processing', id: 'job-7' })] } as never, { times: 1 });
		const running = await beginCalled(video('P', options, { download: false }));
		await pass(10);
		if (isStopped) running.cancel();
		await pass(30);
		await running.finished;
		sim.history.unshift(entry('row-7', 'x', 2));
		await pass(120, 5);
		expect(trigger.started.map(({ item }) => item.json.id)).toEqual([]);
	},
);

test('a lost video of images is found by the ID that was told, which the history has as task_id', async () => {
	onCreate({ sse: [status({ status: 'processing', task_id: 'job-7' }), 'RESET'] } as never);
	const data = Buffer.from('89504e470d0a1a0a', 'hex').toString('base64');
	const input = [{ json: {}, binary: { image: { data, mimeType: 'image/png' } } }];
	const more = { operation: 'ingredientsToVideo', binaryPropertyName: 'image', download: false };
	setTimeout(() => sim.history.unshift(entry('row-7', 'a', 2, { task_id: 'job-7' })), 30_000);
	const { result } = await hasten(video('P', {}, more), { input });
	expect(good(result).map(({ json }) => json.id)).toEqual(['row-7']);
});

test('Retry execution the next morning: addresses are found though ids differ', async () => {
	onCreate({ sse: [complete([{ id: 'stream-b', file_url: url('b', 1) }]), 'END'] } as never, {
		times: 1,
	});
	onFile(answer(410), { times: 1 });
	const { result: first } = await hasten(video('P', { timeout: 900 }));
	bad(first);
	sim.clearFaults();
	await pass(120, 10);
	sim.history.unshift(
		entry('row-b', 'b', 2, { created_at: new Date(Date.now() - 100_000).toISOString() }),
	);
	onFile(answer(403, { error: 'expired' }), { path: /sig=1/, times: Infinity });
	onFile({ redirect: '/files/ok.mp4' }, { path: /sig=2/, times: Infinity });
	const FILE = Buffer.concat([Buffer.from('0000001c66747970', 'hex'), Buffer.alloc(100, 'isom')]);
	onFile(answer(200, FILE.toString('latin1'), { 'Content-Type': 'video/mp4' }), {
		path: '/files/ok.mp4',
		times: Infinity,
	});
	const { result } = await hasten(video('P', { timeout: 900 }), { retryOf: stored(first) });
	good(result);
	expect(posts()).toBe(1);
});
