import { binaryData } from '../../demo/n8n.mts';
import { bad, out } from './seen';
import { answer, onRead, posts, taskOf, tasks } from './service';
import { CONTINUE, node, run, sim, speech, start, video } from './setup';
import { split } from './longText';

/* Lines that decide about money or data and that an ordinary day does not reach. */

beforeEach(async () => await start({ pace: 0.01 }));
afterEach(() => jest.restoreAllMocks());

test('a failed task that cannot be looked at once more is not paid for again', async () => {
	const subject = speech('Hi [sim:task-fails]');
	const failed = await run(subject);
	bad(failed);
	onRead(answer(400, { error: 'Not now' }));
	const { message, description } = bad(await run(subject, { retryOf: failed.run }));
	expect(message).toContain('Not now');
	expect(`${message} ${description}`).toContain(taskOf('Hi').id);
	expect(posts()).toBe(1);
});

test('a disk that is full when the parts are joined: the tasks are named', async () => {
	const service = binaryData();
	const plain = service.store.bind(service);
	const parts = 2;
	let stored = 0;
	jest.spyOn(service, 'store').mockImplementation(async (...file) => {
		if (stored++ === parts) throw new Error('ENOSPC: no space left on device');
		return await plain(...file);
	});
	const text = 'The first part of it.\n\nThe second part of it.';
	const result = await run(split(text, { splitLongerThan: 25 }), { binaryMode: 'filesystem' });
	const { all } = bad(result);
	expect(all).toContain('no space left on device');
	for (const { id } of tasks()) expect(all).toContain(id);
	expect(tasks()).toHaveLength(parts);
});

test('images of more than 512 MB together are refused before they are read', async () => {
	const bytes = 300 * 1024 * 1024;
	const image = { id: 'filesystem-v2:none', data: 'filesystem-v2', mimeType: 'image/png', bytes };
	const fields = { operation: 'ingredientsToVideo', binaryPropertyName: 'a, b' };
	const input = [{ json: {}, binary: { a: image, b: image } }];
	const { message } = bad(await run(video('They dance', {}, fields), { input }));
	expect(message).toMatch(/add up to 800 MB when encoded.*use fewer or smaller images/);
	expect(sim.requests).toEqual([]);
});

test('with a credential that cannot be used, each item says so under "continue on fail"', async () => {
	const setting = { items: [{}, {}], credential: { apiToken: ' ' } };
	const output = out(await run(node(speech('Hi.'), CONTINUE), setting));
	expect(output.map(({ json }) => json.error)).toEqual([
		"'API Token' is empty [item 0]",
		"'API Token' is empty [item 1]",
	]);
	expect(sim.requests).toEqual([]);
});
