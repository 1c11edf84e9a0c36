import type { IDataObject } from 'n8n-workflow';
import { bad, good, node, run, sim, speech, start } from './setup';

/* Answers with an `error` that says nothing: n8n runs a node again whose first item has any. */

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
const again = { retryOnFail: true, maxTries: 2, waitBetweenTries: 0 };
const onCreate = { method: 'POST', path: '/v1/' };
const file = () => `${sim.fileOrigin}/files/a.bin`;
const respond = (body: object) => ({ respond: { status: 200, body } });

/** Runs the node once for each of these values, all at the same time; `answers` orders what is said. */
async function onceEach(
	parameters: () => IDataObject,
	answers: (error: unknown, index: number) => void,
) {
	await start({ pace: 0.001 });
	NOTHING.forEach(answers);
	const running = NOTHING.map(() => run(node(parameters(), again)));
	await sim.waitFor(() => sim.count('POST', '/') === NOTHING.length);
	// The tasks of speech have ended: read now, and not when their turns come.
	for (const task_id of NOTHING.keys()) {
		sim.push({ type: 'labs_status_updated', payload: { task_id, process_percentage: 100 } });
	}
	const results = await Promise.all(running);
	const items = results.map((result) => good(result)[0]!.json);
	expect(items.filter((json) => 'error' in json)).toEqual([]);
	expect(sim.count('POST', '/')).toBe(NOTHING.length);
}

test('speech: a success, paid once', async () => {
	await onceEach(
		() => speech('Hi.', {}, { download: false }),
		(error, index) => {
			sim.fault({ ...onCreate, action: respond({ task_id: String(index), error }) });
			const task = { id: index, status: 'completed', result: file(), error };
			// One that is due when the end is announced is given up for another.
			const path = new RegExp(`/task/${index}$`);
			sim.fault({ method: 'GET', path, times: Infinity, action: respond(task) });
		},
	);
});

test.each([
	[
		'a stream',
		(entry: object) => ({ sse: [`data: ${JSON.stringify([entry])}\n\n`, 'END' as const] }),
	],
	['plain JSON', (entry: object) => respond(entry)],
])('video by %s: a success, paid once', async (_, action) => {
	await onceEach(
		() => ({ resource: 'video', operation: 'textToVideo', prompt: 'A', download: false }),
		(error, index) =>
			sim.fault({ ...onCreate, action: action({ id: `v${index}`, file_url: file(), error }) }),
	);
});

test('image, with progress that says as much: a success, paid once', async () => {
	await onceEach(
		() => ({ resource: 'image', operation: 'create', prompt: 'A', download: false }),
		(error) => {
			const events = [
				{ status: 'generating', error },
				{ file_url: file(), error },
			];
			const sse = events.map((event) => `data: ${JSON.stringify(event)}\n\n`);
			sim.fault({ ...onCreate, action: { sse: [...sse, 'END'] } });
		},
	);
});

test.each([
	['account', 'get', '/v1/video/me', (error: unknown) => ({ balance: 3, error })],
	['voice', 'getAll', '/v1/labs/voices', (error: unknown) => ({ voices: [{ id: 1 }], error })],
	['history', 'getAll', '/v1/video/histories', (error: unknown) => ({ data: [{ id: 1 }], error })],
])('%s: a success', async (resource, operation, path, body) => {
	for (const error of [{ code: 0, message: '' }, 'none', '0']) {
		sim.fault({ method: 'GET', path, action: respond(body(error)) });
		good(await run(node({ resource, operation }, again)));
	}
	expect(sim.count('GET', path)).toBe(3);
});

test('a warning beside a result is passed on, and the next try pays for nothing', async () => {
	await start({ pace: 0.001 });
	const entry = { id: 'v', file_url: file(), error: 'Shorter than asked for' };
	sim.fault({ ...onCreate, times: 9, action: respond(entry) });
	const parameters = { resource: 'video', operation: 'textToVideo', prompt: 'A', download: false };
	const result = await run(node(parameters, again));
	expect(good(result)[0]!.json).toMatchObject(entry);
	expect(sim.count('POST', '/')).toBe(1);
});

describe('a create answer of 200 that says a failure', () => {
	test('with only an id is that failure', async () => {
		const body = { id: 'req-1', error: 'Text too long' };
		sim.fault({ ...onCreate, times: 9, action: respond(body) });
		const { all } = bad(await run(speech('Hi.')));
		expect(all).toContain('Text too long');
		expect(all).not.toMatch(/req-1|charged/);
		expect(sim.count('GET', '/v1/labs/task/')).toBe(0);
	});

	test('with a task_id is a created task', async () => {
		const body = { task_id: '7', error: 'Voice replaced' };
		sim.fault({ ...onCreate, action: respond(body) });
		const fields = speech('Hi.', {}, { waitForCompletion: false });
		expect(good(await run(fields))[0]!.json).toEqual({ task_id: '7', status: 'pending' });
	});
});
