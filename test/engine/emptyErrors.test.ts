import type { IDataObject } from 'n8n-workflow';
import { good } from './seen';
import { ALWAYS, answer, onCreate, onRead, posts } from './service';
import { image, node, RETRY, run, speech, video } from './setup';

/*
 * Answers whose `error` says nothing: n8n retries a node whose first item has any error. Which values say
 * nothing: test/unit/readers.test.ts.
 */

const error = { code: 0, message: '' };
const file_url = 'https://files.example/a.bin';
const events = (...all: object[]) =>
	all.map((event) => `data: ${JSON.stringify({ ...event, error })}\n\n`);

test.each<[string, () => IDataObject, () => unknown]>([
	[
		'speech',
		() => speech('Hi.', {}, { download: false }),
		() => {
			onCreate(answer(200, { task_id: '1', error }));
			onRead(answer(200, { id: 1, status: 'completed', result: file_url, error }), ALWAYS);
		},
	],
	[
		'a stream, with progress that says as much',
		() => image('A', {}, { download: false }),
		() => onCreate({ sse: [...events({ status: 'generating' }, { file_url }), 'END'] }),
	],
])('%s: a success, paid once', async (_, parameters, arrange) => {
	arrange();
	const [item] = good(await run(node(parameters(), RETRY)));
	expect(item!.json).not.toHaveProperty('error');
	expect(posts()).toBe(1);
});

test('a warning beside a result is passed on, and the next attempt pays for nothing', async () => {
	const entry = { id: 'v', file_url, error: 'Shorter than asked for' };
	onCreate(answer(200, entry), { times: 9 });
	const result = await run(node(video('A', {}, { download: false }), RETRY));
	expect(good(result)[0]!.json).toMatchObject(entry);
	expect(posts()).toBe(1);
});
