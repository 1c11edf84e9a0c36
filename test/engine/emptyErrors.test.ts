import type { IDataObject } from 'n8n-workflow';
import { bad, good } from './seen';
import { ALWAYS, answer, message, onCreate, onRead, posts } from './service';
import { image, node, RETRY, run, sim, speech, start, video } from './setup';

/* Answers whose `error` says nothing: n8n retries a node whose first item has any error. */

const NOTHING: unknown[] = [
	'',
	'none',
	'No error',
	'OK',
	'null',
	'0',
	0,
	false,
	null,
	[],
	{},
	[null, {}],
	{ code: 0, message: '' },
	{ code: 0, message: 'ok' },
	{ code: null, details: [] },
];
const file = () => `${sim.fileOrigin}/files/a.bin`;

/** Runs the node once for each of these values, all at once; `answers` arranges what the service says. */
async function onceEach(
	parameters: () => IDataObject,
	answers: (error: unknown, index: number) => void,
) {
	await start({ pace: 0.001 });
	NOTHING.forEach(answers);
	const running = NOTHING.map(() => run(node(parameters(), RETRY)));
	await sim.waitFor(() => posts() === NOTHING.length);
	// The tasks of speech have ended: read now, and not when their turns come.
	for (const taskId of NOTHING.keys()) sim.push(message(taskId, 100));
	const results = await Promise.all(running);
	const items = results.map((result) => good(result)[0]!.json);
	expect(items.filter((json) => 'error' in json)).toEqual([]);
	expect(posts()).toBe(NOTHING.length);
}

test('speech: a success, paid once', async () => {
	await onceEach(
		() => speech('Hi.', {}, { download: false }),
		(error, index) => {
			onCreate(answer(200, { task_id: String(index), error }));
			const task = { id: index, status: 'completed', result: file(), error };
			// One that is due when the end is announced is given up for another.
			const path = new RegExp(`/task/${index}$`);
			onRead(answer(200, task), { path, ...ALWAYS });
		},
	);
});

test.each([
	[
		'a stream',
		(entry: object) => ({ sse: [`data: ${JSON.stringify([entry])}\n\n`, 'END' as const] }),
	],
	['plain JSON', (entry: object) => answer(200, entry)],
])('video by %s: a success, paid once', async (_, action) => {
	await onceEach(
		() => video('A', {}, { download: false }),
		(error, index) => onCreate(action({ id: `v${index}`, file_url: file(), error })),
	);
});

test('image, with progress that says as much: a success, paid once', async () => {
	await onceEach(
		() => image('A', {}, { download: false }),
		(error) => {
			const events = [
				{ status: 'generating', error },
				{ file_url: file(), error },
			];
			const sse = events.map((event) => `data: ${JSON.stringify(event)}\n\n`);
			onCreate({ sse: [...sse, 'END'] });
		},
	);
});

test.each([
	['account', 'get', '/v1/video/me', (error: unknown) => ({ balance: 3, error })],
	['voice', 'getAll', '/v1/labs/voices', (error: unknown) => ({ voices: [{ id: 1 }], error })],
	['history', 'getAll', '/v1/video/histories', (error: unknown) => ({ data: [{ id: 1 }], error })],
])('%s: a success', async (resource, operation, path, body) => {
	for (const error of [{ code: 0, message: '' }, 'none', '0']) {
		sim.fault({ method: 'GET', path, action: answer(200, body(error)) });
		good(await run(node({ resource, operation }, RETRY)));
	}
	expect(sim.count('GET', path)).toBe(3);
});

test('a warning beside a result is passed on, and the next attempt pays for nothing', async () => {
	await start({ pace: 0.001 });
	const entry = { id: 'v', file_url: file(), error: 'Shorter than asked for' };
	onCreate(answer(200, entry), { times: 9 });
	const result = await run(node(video('A', {}, { download: false }), RETRY));
	expect(good(result)[0]!.json).toMatchObject(entry);
	expect(posts()).toBe(1);
});

describe('a create answer of 200 that says a failure', () => {
	test('with only an id is that failure', async () => {
		const body = { id: 'req-1', error: 'Text too long' };
		onCreate(answer(200, body), { times: 9 });
		const { all } = bad(await run(speech('Hi.')));
		expect(all).toContain('Text too long');
		expect(all).not.toMatch(/req-1|charged/);
		expect(sim.count('GET', '/v1/labs/task/')).toBe(0);
	});

	test('with a task_id is a created task', async () => {
		const body = { task_id: '7', error: 'Voice replaced' };
		onCreate(answer(200, body));
		const fields = speech('Hi.', {}, { waitForCompletion: false });
		expect(good(await run(fields))[0]!.json).toEqual({ task_id: '7', status: 'pending' });
	});
});
