import type { IDataObject, INodeExecutionData } from 'n8n-workflow';
import { binaryData } from '../../demo/n8n.mts';
import { event, status } from '../faults/row.mts';
import { workflowInLoop } from '../faults/workflow.mts';
import { bad, good, hints, only, out } from './seen';
import { ALWAYS, answer, made, onCreate, onFile, onRead, posts, taskOf } from './service';
import {
	begin,
	EACH,
	ERROR_OUTPUT,
	fakeTime,
	node,
	RETRY,
	run,
	said,
	sim,
	speech,
	start,
	texts,
	video,
	workflow,
} from './setup';
import { hasten, pass, passUntil } from './time';
import { activate, beginCalled, callOf, CALLER, createTask } from './triggerSetup';

/* What was paid is collected, delivered or named, and starts no workflow by itself. */

const tellsId = (id: string) => status({ status: 'processing', id });
const done = (data: unknown) => event('video_generation_complete', data);
const refuses = (id?: string) => event('error', { error: 'UNSAFE_GENERATION', ...(id && { id }) });

describe('a credential by expression, one token of which is corrected before the retry', () => {
	const ada = `ada-${Math.random().toString(36).slice(2, 10)}-token`;
	const bob = `bob-${Math.random().toString(36).slice(2, 10)}-token`;
	beforeEach(async () => await start({ token: ada, otherTokens: [bob], pace: 0.02 }));
	const tokens = (...of: string[]) => ({
		apiToken: `={{ ${JSON.stringify(of)}[$itemIndex] }}`,
	});
	const count = (t: string) => [...sim.tasks.values()].filter(({ input }) => input === t).length;

	test('what row 1 has paid for is collected, though both rows now have one account', async () => {
		const fields = speech(EACH, { concurrency: 1 });
		const failed = await run(fields, {
			credential: tokens(ada, 'wrong-token-1'),
			...texts('One', 'Two'),
		});
		expect(bad(failed).message).toContain('Row 2: Authorization failed');
		good(await run(fields, { retryOf: failed.run, credential: tokens(ada, ada) }));
		expect(count('Two')).toBe(1);
		expect(count('One')).toBe(1);
	});

	test('what row 1 has paid for is collected, though the other row’s account only now is another', async () => {
		const fields = speech(EACH, { concurrency: 1 });
		onCreate(answer(402, { error: 'insufficient_credits' }), { after: 1 });
		const failed = await run(fields, { credential: tokens(ada, ada), ...texts('One', 'Two') });
		expect(bad(failed).message).toContain('Row 2: ');
		good(await run(fields, { retryOf: failed.run, credential: tokens(ada, bob) }));
		expect(count('One')).toBe(1);
	});

	test('what is paid is collected after the WebSocket URL was corrected, as a hint advises', async () => {
		const fields = speech(EACH, { concurrency: 1 });
		onCreate(answer(402, { error: 'insufficient_credits' }), { after: 2 });
		const items = texts('One', 'Two', 'Three');
		const credential = tokens(ada, bob, ada);
		const failed = await run(fields, { credential, ...items });
		expect(bad(failed).message).toContain('Row 3: ');
		const webSocketUrl = sim.baseUrl.replace('http://127.0.0.1', 'ws://localhost');
		good(await run(fields, { retryOf: failed.run, credential: { ...credential, webSocketUrl } }));
		expect(['One', 'Two', 'Three'].map(count)).toEqual([1, 1, 1]);
	});

	test('the same in manual runs, when a later node is executed', async () => {
		const type = 'n8n-nodes-base.manualTrigger';
		const later = node({}, { name: 'Later', id: 'later', type, credentials: {} });
		const subject = workflow(node(speech(EACH), { ...ERROR_OUTPUT, id: 'of-its-own' }), later);
		const setting = { destinationName: 'Later', ...texts('One', 'Two') };
		await run(subject, { ...setting, credential: tokens(ada, '') });
		expect(count('One')).toBe(1);
		await run(subject, { ...setting, credential: tokens(ada, bob) });
		expect(count('Two')).toBe(1);
		expect(count('One')).toBe(1);
	});
});

describe('one of several refused, the others in the making', () => {
	beforeEach(async () => {
		await start({ pace: 0.01 });
		fakeTime();
	});
	const several = { numberOfVideos: 4 };
	const ids = ['v1', 'v2', 'v3', 'v4'];

	test.each([
		['ends', 'END' as const],
		['breaks', 'RESET' as const],
	])('the stream %s: those that take longer than the search are not paid again', async (_, end) => {
		onCreate({ sse: [...ids.map(tellsId), refuses('v1'), end] });
		const { result } = await hasten(node(video('P', {}, several), RETRY));
		expect(posts()).toBe(1);
		expect(bad(result).all).toContain('v2');
	});

	test.each(['END', 'RESET'] as const)(
		'only the id of the refused one was told, then %s: the others are not paid again',
		async (end) => {
			onCreate({ sse: [refuses('v1'), end] });
			const { result } = await hasten(node(video('P', {}, several), RETRY));
			expect(posts()).toBe(1);
			expect(bad(result).all).toContain('has been charged');
		},
	);

	test('a lack of credit that has an id is about all of them', async () => {
		const refusal = event('error', { id: 'request-1', error: 'insufficient_credits' });
		onCreate({ sse: [refusal, 'END'] });
		const onError = 'continueRegularOutput' as const;
		const { result } = await hasten(node(video('P', {}, several), { onError }));
		expect(out(result)[0]!.json.error_kind).toBe('credit');
	});

	test('the stream breaks: nobody waits for the one that was refused', async () => {
		const came = done([made('v2')]);
		onCreate({ sse: [...ids.map(tellsId), refuses('v1'), came, 'RESET'] });
		setTimeout(() => sim.history.unshift(...ids.slice(1).map((id) => made(id))), 15_000);
		const { result, seconds } = await hasten(video('P', {}, { ...several, download: false }));
		expect(
			good(result)
				.map(({ json }) => json.id)
				.sort(),
		).toEqual(['v2', 'v3', 'v4']);
		expect(seconds).toBeLessThan(60);
		expect(hints(result).join()).not.toContain('may still appear');
	});

	test.each([
		['with its id', 'v1', 'v2, v3, v4'],
		['without an id', undefined, 'v1, v2, v3, v4'],
	])('the run is stopped: so nobody waits for that one in a retry, %s', async (_, id, paid) => {
		onCreate({ sse: [...ids.map(tellsId), refuses(id)] });
		const fields = video('P', {}, { ...several, download: false });
		const running = await begin(fields);
		await pass(3);
		running.cancel();
		const stopped = await running.finished;
		expect(bad(stopped).all).toContain(`Already paid for: videos ${paid}.`);
		sim.history.unshift(...['v2', 'v3', 'v4'].map((name) => made(name)));
		const { result, seconds } = await hasten(fields, { retryOf: stopped.run });
		expect(good(result)).toHaveLength(3);
		expect(seconds).toBeLessThan(60);
		expect(hints(result).join()).not.toContain('may still appear');
	});

	test.each([
		['comes out', []],
		['is named, beside another’s', ['of-another']],
	])(
		'an error without an id, and only the id of that one was told: the other %s',
		async (_, others) => {
			onCreate({ sse: [tellsId('v1'), refuses()] });
			const list = (id: string, changes = {}) => sim.history.unshift(made(id, changes));
			list('v1', { status: 'failed', file_url: '' });
			setTimeout(() => ['v2', ...others].map((id) => list(id)), 60_000);
			const fields = video('P', {}, { numberOfVideos: 2, download: false });
			const { result } = await hasten(node(fields, RETRY));
			expect(posts()).toBe(1);
			if (others.length === 0) expect(only(result).json.id).toBe('v2');
			else expect(bad(result).all).toContain('v2');
		},
	);

	test('an error without an id, and the one that was told is in the making: it comes out, not another’s', async () => {
		onCreate({ sse: [tellsId('v1'), refuses(), 'RESET'] });
		const listAfter = (ms: number, id: string) =>
			setTimeout(() => sim.history.unshift(made(id)), ms);
		listAfter(15_000, 'of-another');
		listAfter(60_000, 'v1');
		const { result } = await hasten(video('P', {}, { numberOfVideos: 2, download: false }));
		expect(only(result).json.id).toBe('v1');
	});

	test('attempts that time out meanwhile do not end in a second payment', async () => {
		onCreate({ sse: [...ids.map(tellsId), refuses('v1'), 'END'] });
		const retry = { ...RETRY, maxTries: 5, waitBetweenTries: 5000 };
		const { result } = await hasten(node(video('P', { timeout: 180 }, several), retry));
		expect(posts()).toBe(1);
		expect(bad(result).all).toContain('v2');
	});
});

describe('a Stop while n8n stores the last file', () => {
	const until = async (holds: () => boolean) => {
		for (let n = 0; n < 500 && !holds(); n++) await new Promise((next) => setTimeout(next, 20));
		expect(holds()).toBe(true);
	};

	test.each([1, 3])('names what is paid: of %d rows', async (rows) => {
		await start({ pace: 0.01 });
		const storage = binaryData();
		let storing = 0;
		let go = () => {};
		const gate = new Promise<void>((resolve) => (go = resolve));
		const original = storage.store.bind(storage);
		const spy = jest.spyOn(storage, 'store').mockImplementation(async (...args) => {
			const stored = await original(...args);
			// An upload that is slow to be confirmed.
			if (++storing === rows) await gate;
			return stored;
		});
		try {
			const items = texts(...['One', 'Two', 'Three'].slice(0, rows));
			const execution = await begin(speech(EACH), items);
			await until(() => storing === rows);
			await new Promise((next) => setTimeout(next, 300));
			execution.cancel();
			await new Promise((next) => setTimeout(next, 100));
			go();
			const result = await execution.finished;
			await new Promise((next) => setTimeout(next, 300));
			expect(result.run.status).toBe('canceled');
			expect(said.at(-1)).toContain(taskOf('One').id);
			expect(said.at(-1)).toContain('Already paid for');
			expect(JSON.stringify(result.run)).toContain('"state":"task"');
		} finally {
			go();
			spy.mockRestore();
		}
	});
});

describe('some of several have come, the others were told by id', () => {
	const several = { numberOfVideos: 4 };
	const file = (id: string) => made(id, { file_url: `${sim.fileOrigin}/files/video/${id}.mp4` });
	const lost = () => ({
		sse: [...['v1', 'v2', 'v3', 'v4'].map(tellsId), done([file('v1')]), 'RESET' as const],
	});

	test('a Stop during the search names all', async () => {
		onCreate(lost());
		const execution = await begin(video('P', {}, several));
		await sim.waitFor(() => sim.countRequests('GET', '/v1/video/histories') > 0);
		await new Promise((next) => setTimeout(next, 200));
		execution.cancel();
		const { all } = bad(await execution.finished);
		for (const id of ['v1', 'v2', 'v3', 'v4']) expect(all).toContain(id);
	});

	test('the failure of another row names all', async () => {
		onCreate(lost(), { body: '"prompt":"P' });
		onCreate({ delayMs: 1500, ...answer(400, { error: 'no' }) }, { body: '"prompt":"Q' });
		onFile({ respond: { status: 200, headers: { 'Content-Type': 'video/mp4' }, body: 'ftyp' } });
		const { description } = bad(
			await run(video(EACH, {}, { ...several, download: false }), texts('P', 'Q')),
		);
		for (const id of ['v1', 'v2', 'v3', 'v4']) expect(description).toContain(id);
	});

	test('a Timeout during the search: what comes out says which are missing', async () => {
		onCreate(lost());
		const fields = video('P', { timeout: 2 }, { ...several, download: false });
		const result = await run(fields);
		expect(only(result).json.id).toBe('v1');
		const shown = hints(result).join() + JSON.stringify(out(result));
		for (const id of ['v2', 'v3', 'v4']) expect(shown).toContain(id);
	});
});

describe('a lost stream beside others', () => {
	const at = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();
	const entry = (id: string, changes: object = {}) =>
		made(id, { created_at: at(0), ...changes } as never);
	beforeEach(async () => {
		await start({ pace: 0.01 });
		fakeTime();
	});
	const finish = async (running: Awaited<ReturnType<typeof begin>>) => {
		let isOver = false;
		void running.finished.finally(() => (isOver = true));
		await passUntil(() => isOver, 2400);
		return await running.finished;
	};

	test('a video that another credential of the same token and service has made is not given away', async () => {
		const webSocketUrl = 'wss://sockets.example.com';
		const file = made('of-b', { created_at: at(1), owner: sim.token });
		onCreate({ sse: [status('processing'), 'RESET'] });
		const a = await begin(video('P', {}, { download: false }));
		await passUntil(() => posts() === 1);
		await pass(2);
		onCreate({ sse: [status({ status: 'processing', id: 'of-b' }), done([file]), 'END'] });
		const b = await begin(video('P', {}, { download: false }), { credential: { webSocketUrl } });
		await passUntil(() => posts() === 2);
		sim.history.unshift(file);
		expect(good(await finish(b)).map(({ json }) => json.id)).toEqual(['of-b']);
		await pass(60);
		sim.history.unshift(entry('of-a'));
		expect(good(await finish(a)).map(({ json }) => json.id)).toEqual(['of-a']);
	});

	test('a failure of another worker with the same prompt does not end its search', async () => {
		onCreate({ sse: [status('processing'), 'RESET'] });
		const running = await begin(node(video('P', {}, { download: false }), RETRY));
		await passUntil(() => posts() === 1);
		await pass(2);
		sim.history.unshift(entry('of-another', { status: 'failed', file_url: '' }));
		await pass(60);
		sim.history.unshift(entry('own'));
		expect(good(await finish(running)).map(({ json }) => json.id)).toEqual(['own']);
		expect(posts()).toBe(1);
	});

	test('nor does another worker’s video come in place of one that was refused', async () => {
		const [first, second] = [entry('first'), entry('second')];
		onCreate({ sse: [done([first]), refuses(), 'RESET'] });
		const running = await begin(video('P', {}, { download: false, numberOfVideos: 3 }));
		await passUntil(() => posts() === 1);
		await pass(2);
		sim.history.unshift(first);
		sim.history.unshift(second);
		sim.history.unshift(entry('of-another'));
		const result = await finish(running);
		const ids = good(result).map(({ json }) => json.id);
		expect(ids).toEqual(['first']);
		expect(hints(result).join()).toContain('UNSAFE_GENERATION');
	});

	test('the second file of an entry whose first had come is found', async () => {
		const urls = ['a', 'b'].map((name) => `${sim.fileOrigin}/files/video/${name}.mp4`);
		onCreate({ sse: [done([{ id: 'both', file_url: urls[0] }]), 'RESET'] });
		const running = await begin(video('P', {}, { download: false, numberOfVideos: 2 }));
		await passUntil(() => posts() === 1);
		await pass(2);
		sim.history.unshift(entry('both', { file_url: '', file_urls: urls } as object));
		const found = good(await finish(running)).map(({ json }) => json.file_url);
		expect(found).toEqual(urls);
	});

	test('a file without an id that has come is named when the execution is stopped', async () => {
		const file_url = `${sim.fileOrigin}/files/video/one.mp4`;
		onCreate({ sse: [done({ file_url })] });
		const running = await begin(video('P', {}, { numberOfVideos: 2 }));
		await passUntil(() => posts() === 1);
		await pass(3);
		running.cancel();
		expect(bad(await finish(running)).all).toContain(file_url);
	});
});

describe('what the journal keeps, in a loop', () => {
	const CONTINUE = { onError: 'continueRegularOutput' } as const;
	const rowsOf = (...all: string[]) => ({ items: all.map((t) => ({ t })) });

	test.each([
		['speech', speech],
		['video', video],
	])('a %s that is kept beside a failed row is not the next round’s', async (_, of) => {
		await start({ pace: 0.01 });
		onCreate(answer(400, { error: 'no' }), { body: '":"Bad', ...ALWAYS });
		const subject = workflowInLoop(node(of(EACH), CONTINUE), 2);
		const result = await run(subject, rowsOf('Same', 'Bad', 'Same', 'Bad', 'Same', 'Bad'));
		expect(posts()).toBe(6);
		const runs = result.run.data.resultData.runData['Media Generation']!;
		const ids = runs.map(({ data }) => data!.main![0]![0]!.json).map((j) => j.task_id ?? j.id);
		expect(new Set(ids).size).toBe(3);
	});

	test('a retry of the second round collects what that round has paid for', async () => {
		await start({ pace: 0.01 });
		const subject = workflowInLoop(node(video(EACH)), 2);
		onFile(answer(410), { after: 3 });
		const items = rowsOf('Same', 'Same', 'Same', 'Same', 'Same', 'Same');
		const failed = await run(subject, items);
		bad(failed);
		expect(posts()).toBe(4);
		const result = await run(subject, { retryOf: failed.run });
		expect(result.error).toBeUndefined();
		expect(posts()).toBe(6);
		const runs = result.run.data.resultData.runData['Media Generation']!;
		const ids = runs.flatMap(({ data }) => data!.main![0]!.map(({ json }) => json.id));
		expect(new Set(ids).size).toBe(6);
	});
});

describe('files of one entry', () => {
	const address = (name: string) => `${sim.fileOrigin}/get?file=${name}`;

	test('two addresses that differ only in the query are two videos', async () => {
		const both = { id: 'X', file_urls: ['a', 'b'].map(address) };
		onCreate({ sse: [done(both), 'END'] });
		const result = await run(video('P', {}, { numberOfVideos: 2, download: false }));
		expect(good(result).map(({ json }) => json.file_url)).toEqual(['a', 'b'].map(address));
	});
});

describe('a sub-workflow behind a trigger', () => {
	const called = { workflowId: CALLER, behind: [callOf()] };

	test('speech made with another credential of the same token and service starts nothing', async () => {
		await start({ pace: 0.02 });
		// Only this credential names the WebSocket's host, which the sub-workflow does not need.
		const webSocketUrl = sim.baseUrl.replace('http://127.0.0.1', 'ws://localhost');
		const speak = async () => (await (await beginCalled(speech('Once'))).finished).run;
		let rounds = 0;
		const execute = async () => (++rounds > 5 ? undefined : await speak());
		const trigger = await activate({ ...called, credential: { webSocketUrl }, execute });
		await speak();
		await new Promise((next) => setTimeout(next, 2000));
		expect([sim.tasks.size, trigger.started.length]).toEqual([1, 0]);
	});

	test.each([
		['whose text the service repeats', {}],
		['whose text it does not repeat', { input: undefined }],
	])('speech %s starts nothing, though its create call got no answer', async (_, shown) => {
		await start({ pace: 0.02 });
		const trigger = await activate({ ...called });
		if ('input' in shown)
			onRead(answer(200, { id: '1', status: 'completed', result: '/a.mp3' }), ALWAYS);
		onCreate({ reset: true, accepted: true });
		await (
			await beginCalled(speech('Its own'))
		).finished;
		expect(sim.tasks.size).toBe(1);
		await new Promise((next) => setTimeout(next, 1500));
		expect(trigger.started).toEqual([]);
		if ('input' in shown) return;
		const foreign = await createTask('Somebody else’s');
		await trigger.has(1);
		expect(trigger.events()).toEqual([`completed ${foreign} 100`]);
	});

	test.each([
		['holds the file itself', 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUg=='],
		['has another address than the history', 'https://127.0.0.1/temporary.png'],
	])('an image whose stream %s, and no id, starts nothing', async (_, file_url) => {
		await start({ pace: 1 });
		fakeTime();
		const activating = activate({ ...called, parameters: { events: ['generated'] } });
		await pass(3);
		const trigger = await activating;
		onCreate({ sse: [event('image_generation_complete', [{ file_url }]), 'END'] });
		const fields = { resource: 'image', operation: 'create', prompt: 'P', options: {} };
		await beginCalled({ ...fields, download: false });
		await passUntil(() => posts() === 1);
		await pass(2);
		const created_at = new Date().toISOString();
		sim.history.unshift(made('own', { type: 'image', created_at }));
		await pass(200, 5);
		expect(trigger.started.map(({ item }) => item.json.id)).toEqual([]);
	});

	describe('of frames without a prompt', () => {
		test('whose stream is lost starts nothing', async () => {
			await start({ pace: 1 });
			const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
			const input: INodeExecutionData[] = [
				{
					json: {},
					binary: {
						data: { data: png.toString('base64'), mimeType: 'image/png', fileExtension: 'png' },
					},
				},
			];
			fakeTime();
			const activating = activate({ ...called, parameters: { events: ['generated'] } });
			await pass(3);
			const trigger = await activating;
			onCreate({ sse: [status('processing'), 'RESET'] });
			const fields: IDataObject = {
				resource: 'video',
				operation: 'framesToVideo',
				binaryPropertyName: 'data',
				options: { timeout: 60 },
				download: false,
			};
			await beginCalled(fields, { input });
			await passUntil(() => posts() === 1);
			await pass(20);
			sim.history.unshift(made('own', { prompt: '', created_at: new Date().toISOString() }));
			await pass(200, 5);
			expect(trigger.started.map(({ item }) => item.json.id)).toEqual([]);
		});
	});
});

test('a create call answered with 303, which says that it was done, is not sent again by a retry', async () => {
	onCreate(answer(303, '', { Location: '/v1/elsewhere' }));
	const first = await run(speech('One'));
	expect(bad(first).description).toContain('may have been charged');
	expect(bad(await run(speech('One'), { retryOf: first.run })).message).toContain('unclear');
	expect(posts()).toBe(1);
});
